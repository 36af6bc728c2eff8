"""Modules of the MJCF reader, one subject each; `readers/mjcf.py` builds links and joints from
them.
"""
