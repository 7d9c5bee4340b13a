"""What jobs that share links leave each other."""
