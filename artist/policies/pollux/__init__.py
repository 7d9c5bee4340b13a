"""Pollux: the policy, its speed-ups and its genetic algorithm."""
