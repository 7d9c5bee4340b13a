"""The command `artist`: command line, sweeps on Hydra's launchers, lines of progress."""
