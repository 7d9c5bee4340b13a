"""Jobs that share links: what each sends on which link, and how they slow each other."""
