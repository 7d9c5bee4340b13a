"""What a trace is like, before anything is simulated: statistics, tables, plots."""
