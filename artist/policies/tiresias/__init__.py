"""Tiresias: the policy, its queue ranks and the Gittins index."""
