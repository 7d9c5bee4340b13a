"""Errors in our form: the fault, its place, the value found, the allowed values."""
