"""Muri: the policy, the grouping of jobs and the placement of groups."""
