"""Modules of the URDF reader."""
