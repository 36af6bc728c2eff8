"""Stages of a loop over links as statements."""
