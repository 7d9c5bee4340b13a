"""Effects that make up an iteration of one job: spec and allocation in, one of its parts out."""
