"""Iteration time of a placement on a fabric. Imports nothing of `artist`."""

__version__ = "0.1.0"
