"""One file for each source of real traces; each class docstring states its rules."""
