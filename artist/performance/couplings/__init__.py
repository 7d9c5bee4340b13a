"""What jobs do to each other: which jobs a change touches, and what it adds to their iterations."""
