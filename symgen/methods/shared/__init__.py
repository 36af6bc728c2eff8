"""Quantities and completions that several methods share."""
