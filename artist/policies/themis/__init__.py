"""Themis: the auction, and the policy in rounds as in Gavel."""
