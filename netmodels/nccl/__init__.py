"""What NCCL does, from its public cost model: parameters of a fabric, closed forms, and their fit to runs."""
