"""Delivery of a folder of C: its files, self-test, evidence and manifest, written completely or not
at all.
"""
