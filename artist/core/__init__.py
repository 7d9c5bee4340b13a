"""The vocabulary: job, cluster, plan, view, events. Imports nothing above it."""
