"""Models that GPUs cannot hold."""

import pytest

from netmodels.api import Layer, MachineType, Profile, get_profile, too_large
from netmodels.profiles.memory import state_bytes


def machine(gpu_type: str, gib: int) -> MachineType:
    """Return a machine type of 8 GPUs with some memory; 0 for not known."""
    return MachineType("box", 8, gpu_type, 1.0, 64, 2**38, 1e11, gpu_memory_bytes=gib * 2**30)


@pytest.mark.parametrize(
    ("model", "gib", "words"),
    [
        ("Llama-2-70B", 80, "takes 1,103.6 GB per GPU (68.98e9 parameters x 16 bytes"),
        ("Llama-2-70B", 80, "1,017.7 GB more than X GPUs have"),
        ("Llama-2-7B", 80, "takes 107.8 GB per GPU"),
        ("Llama-2-7B", 80, "21.9 GB more than X GPUs have"),
        ("Llama-2-7B", 141, ""),
        ("BERT-large", 5, ""),
        ("BERT-large", 4, "BERT-large takes 5."),
        ("VGG19", 0, ""),
    ],
)
def test_a_model_needs_16_bytes_per_parameter(model: str, gib: int, words: str) -> None:
    """80 GiB are 85.9e9 bytes.

    68,976,648,192 x 16 = 1,103.6e9, so 1,017.7e9 lack; 6,738,415,616 x 16 = 107.8e9, so 21.9e9.
    """
    fault = too_large(get_profile(model), [machine("X", gib)])
    assert words in fault
    assert bool(fault) == bool(words)


def test_the_smallest_gpus_decide() -> None:
    """16 GiB, 17.2e9, of T4 beside 32 of V100; machines of unknown memory, or without GPUs, are left out."""
    large = Profile("mine", (Layer("l", 1, 1, 1, 5 * 10**9),))  # 1.25e9 fp32 parameters: 20e9 bytes
    assert state_bytes(large) == 20 * 10**9
    types = [machine("V100", 32), machine("T4", 16), machine("other", 0), MachineType("c", 0, "", 1, 1, 1, 1)]
    assert "2.8 GB more than T4 GPUs have" in too_large(large, types)
    assert too_large(large, [types[0], *types[2:]]) == ""
    assert state_bytes(large.scaled(4.0)) == 20 * 10**9
