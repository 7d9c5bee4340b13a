"""Schedulers: one file each, with its paper; shared parts: orders, placement."""
