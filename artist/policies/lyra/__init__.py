"""Lyra: the policy, loans of inference machines and elastic workers."""
