"""One file for each source of real traces; each says its rules in its docstring."""
