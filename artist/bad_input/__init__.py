"""Errors in our form: what, where, value found, what is allowed."""
