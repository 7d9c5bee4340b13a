"""Profiles: a model's layers, compute times and gradient bytes."""
