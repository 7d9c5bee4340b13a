"""Division of CPUs and memory among jobs whose GPUs are placed."""
