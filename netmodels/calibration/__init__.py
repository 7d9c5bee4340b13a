"""Profiles fitted to measured overheads."""
