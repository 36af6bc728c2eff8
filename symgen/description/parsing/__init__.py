"""Parsing that several readers share: XML, TOML tables, words, units, macros."""
