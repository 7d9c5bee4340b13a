"""Formulas of jobs that share resources. Pure: policies may import them."""
