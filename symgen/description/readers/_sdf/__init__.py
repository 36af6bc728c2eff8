"""Modules of the SDF reader."""
