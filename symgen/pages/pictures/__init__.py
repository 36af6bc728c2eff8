"""Plots, drawn by matplotlib where it is installed."""
