"""The time of a collective, and of an iteration that issues collectives."""
