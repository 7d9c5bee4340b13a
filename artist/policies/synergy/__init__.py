"""Synergy: the policy and its mechanisms."""
