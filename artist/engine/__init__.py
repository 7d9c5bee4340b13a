"""The only code that changes state."""
