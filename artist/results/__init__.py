"""Run folders read back: measures, comparisons, tables."""
