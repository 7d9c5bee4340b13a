"""A simulator of GPU clusters that train deep-learning jobs: scheduler and network together."""
