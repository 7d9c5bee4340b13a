"""The figures of a report, a file each, and what they share."""
