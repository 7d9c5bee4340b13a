"""Slurm's scheduler: main loop, backfill loop, priorities, partitions, QOS, preemption and node choice."""
