"""Gandiva: the policy, packed pairs and growing jobs."""
