"""Base schedulers that need nothing beyond the shared parts: ordered queues, and DRF."""
