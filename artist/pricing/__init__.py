"""Prices of placements: the command `artist-network` and what it prints and draws."""
