"""The page that `artist-report` makes of run folders: tables, figures, findings, claims."""
