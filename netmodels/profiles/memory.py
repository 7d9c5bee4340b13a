"""Memory of data-parallel training: each GPU holds the whole model.

With Adam these are 16 bytes per parameter. In mixed precision: weights 2, gradients 2, and the optimizer's
copy of the weights, momentum and variance, 4 each; in fp32: weights, gradients, momentum and variance, 4 each
(Rajbhandari et al., ZeRO, SC'20, section 3.1). Activations come on top: a model whose state exceeds a GPU's
memory does not fit, whatever its batch.
"""

from collections.abc import Iterable

from netmodels.fabric.fabric import MachineType
from netmodels.profiles.compute_times import FP32_BYTES, TRAINING
from netmodels.profiles.layers import Profile

STATE_BYTES = 16
"""Weights, gradients and optimizer state of a parameter."""


def state_bytes(profile: Profile) -> int:
    """Return the bytes of weights, gradients and optimizer state on each GPU.

    Gradients of a model that does not ship are taken as fp32, which makes the fewest parameters.
    """
    shipped = TRAINING.get(profile.name)
    return STATE_BYTES * (profile.parameter_bytes // (shipped.bytes_per_parameter if shipped else FP32_BYTES))


def too_large(profile: Profile, machines: Iterable[MachineType]) -> str:
    """Return the bytes that a model lacks on the smallest of some GPUs, in words; "" if it fits.

    Parameters
    ----------
    machines
        Machine types; those whose GPU memory is not known are left out.
    """
    known = [machine for machine in machines if machine.gpus and machine.gpu_memory_bytes]
    if not known:
        return ""
    smallest = min(known, key=lambda machine: machine.gpu_memory_bytes)
    state, memory = state_bytes(profile), smallest.gpu_memory_bytes
    if state <= memory:
        return ""
    parameters = state / STATE_BYTES / 1e9
    size = f"{parameters:,.2f}e9 parameters x {STATE_BYTES} bytes of weights, gradients and Adam's state"
    lacking = f"{(state - memory) / 1e9:,.1f} GB more than {smallest.gpu_type} GPUs have"
    return f"{profile.name} takes {state / 1e9:,.1f} GB per GPU ({size}), {lacking}"
