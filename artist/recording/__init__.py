"""What a run writes: recorded events, columns, summary."""
