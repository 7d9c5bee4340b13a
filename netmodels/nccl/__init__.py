"""Model of NCCL by its public cost model: parameters of a fabric, closed forms, and their fit to runs."""
