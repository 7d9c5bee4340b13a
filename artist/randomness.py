"""One seed for a run; every user of chance gets its own named child generator."""

from zlib import crc32

import numpy as np


def child_generator(seed: int, name: str) -> np.random.Generator:
    """Return the child generator for `name` under `seed`.

    Two names never share a stream, so a new user of chance leaves all other numbers as they are.
    """
    return np.random.default_rng([seed, crc32(name.encode())])
