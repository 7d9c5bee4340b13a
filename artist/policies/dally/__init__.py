"""Dally: the policy, its leases, offers and delay timers."""
