"""Jobs that share links, and how they slow each other."""
