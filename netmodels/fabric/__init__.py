"""Fabrics, machine types, topology files and the shape of a placement."""
