"""Parsing that several readers share: XML, TOML tables, vocabularies, units, macros."""
