"""The content of a run folder: recorded events, columns, summary."""
