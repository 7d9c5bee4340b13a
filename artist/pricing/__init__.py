"""Prices of placements: the command `artist-network`, its tables and figures."""
