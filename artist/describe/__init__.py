"""Description of a trace before anything is simulated: statistics, tables, plots."""
