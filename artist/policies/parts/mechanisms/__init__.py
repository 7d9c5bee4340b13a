"""Mechanisms: how the jobs of a round share machines, CPUs and memory (Synergy)."""
