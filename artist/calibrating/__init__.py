"""The command artist-calibrate."""
