"""Couplings between jobs: the jobs that a change touches, and the time that it adds to their iterations."""
