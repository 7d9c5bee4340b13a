"""One run: its configuration, its parts, its folder and key."""
