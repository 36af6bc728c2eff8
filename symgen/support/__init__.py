"""Errors, files, the cache on disk, tables of text and the version: code that knows nothing of robots."""
