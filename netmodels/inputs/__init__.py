"""User files: reading, validation, and errors that name the fault."""
