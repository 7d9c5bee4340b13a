"""Network models in process, and the cache of answers."""
