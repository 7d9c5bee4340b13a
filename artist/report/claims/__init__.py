"""Claims of papers, a data file per paper, and the verdicts of our runs."""
