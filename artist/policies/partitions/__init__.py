"""Any policy in each partition of a cluster."""
