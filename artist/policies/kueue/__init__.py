"""Kueue's scheduler: cluster queues with quotas, cohorts, preemption and topology-aware placement."""
