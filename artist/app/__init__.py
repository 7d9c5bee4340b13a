"""The command `artist`: command line, sweeps and where their points run."""
