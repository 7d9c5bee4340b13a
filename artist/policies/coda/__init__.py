"""CODA: the policy, its arrays, its search for CPUs per GPU and its bandwidth eliminator."""
