"""Iteration time of running jobs and the coupling between them: docs/performance.md."""
