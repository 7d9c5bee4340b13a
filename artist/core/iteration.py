"""Parts of the time of one iteration."""

from typing import NamedTuple


class IterationParts(NamedTuple):
    """The parts of one iteration, in ns; the sum is the iteration time.

    `compute_ns` is scaled to the speed and the number of the GPUs; the others come on top: CPUs and
    memory given against needed, memory bandwidth and packing, communication that does not overlap
    with compute, other jobs on the same links, waiting for the members of an interleaved group, a slow
    machine, and its part of writing a checkpoint. The engine sets the last two.
    """

    compute_ns: int
    input_stall_ns: int = 0
    interference_ns: int = 0
    exposed_ns: int = 0
    contention_ns: int = 0
    sharing_ns: int = 0
    slowed_ns: int = 0
    checkpoint_ns: int = 0
