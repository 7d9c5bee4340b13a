"""The figures of a report, and their shared parts."""
