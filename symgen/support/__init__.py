"""Errors, files, the cache on disk, tables of text and the version: code that does not depend on
robots.
"""
