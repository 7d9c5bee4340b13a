"""AntMan: the policy, and the GPUs that guaranteed and opportunistic jobs share."""
