"""Compute times of a GPU: FLOPs over a fraction of its peak, bytes over a fraction of its memory bandwidth.

    layer forward   products / (peak e) + experts / (peak e grouped) + attention / (peak of bf16 a)
                    + (passes x passed + routed_passes x routed) / (bandwidth memory) + layer_us
                    + of full sharding weight_passes x weights / (bandwidth memory)
    backward        twice that, and once more where activations are computed again
    output          3 x its FLOPs at the speed of products, at most twice attention's: it stays in bf16

e by generation and precision, a by generation, and the others for all GPUs are fitted to measured training
(`gpus.yaml`, scripts/validation/llm_training.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.inputs.schema import read_yaml
from netmodels.llm.plan import Plan
from netmodels.llm.work import Held, Work

_FILE = Path(__file__).with_name("gpus.yaml")
_UPDATE_BYTES = 30  # read and written per parameter by Adam: 16 of state, its update, and the new weights


class Fitted(NamedTuple):
    """Fitted constants of all GPUs.

    Attributes
    ----------
    grouped
        Speed of experts' products relative to others.
    memory
        Fraction of the memory bandwidth.
    passes, routed_passes
        Times that a layer reads or writes its input forward; that experts do with theirs and with the width
        inside them.
    weight_passes
        Times that full sharding reads or writes a layer's weights forward: gathered by pieces, and copied.
    layer_us
        Time of a layer that depends on no size, forward.
    hidden_tp, hidden_ep
        Fraction of a role's collectives that compute hides, where it lasts as long.
    hidden_dp
        Fraction of the compute beside gradients and weights that hides them.
    straggling
        Part by which a step is longer with each doubling of the GPUs beyond 8: all wait for the slowest.
    """

    grouped: float
    memory: float
    passes: float
    routed_passes: float
    weight_passes: float
    layer_us: float
    hidden_tp: float
    hidden_ep: float
    hidden_dp: float
    straggling: float


@dataclass(frozen=True, slots=True)
class Gpu:
    """Speeds of a GPU in one precision, as training reaches them.

    Parameters
    ----------
    products, attention
        FLOP/ns of matrix products, and of attention.
    bytes_per_ns
        Memory bandwidth.
    fitted
        Constants of all GPUs.
    """

    products: float
    attention: float
    bytes_per_ns: float
    fitted: Fitted

    def scaled(self, factor: float) -> "Gpu":
        """Return a GPU on which everything takes `factor` times as long."""
        fitted = self.fitted._replace(layer_us=self.fitted.layer_us * factor)
        speeds = (self.products / factor, self.attention / factor, self.bytes_per_ns / factor)
        return Gpu(*speeds, fitted)


class Times(NamedTuple):
    """Compute times in ns: a layer forward and backward, its attention forward, the output, the update."""

    forward: float
    backward: float
    attention: float
    output: float
    update: float


@cache
def _file() -> dict[str, Any]:
    content: Any = read_yaml(_FILE, "GPUs")
    return dict(content)


@cache
def gpu_of(gpu_type: str, precision: str) -> Gpu:
    """Return the speeds of a GPU type in a precision, as Megatron's software reaches them.

    Raises
    ------
    InputError
        If no measured training was fitted for it.
    """
    return gpu_in(_file(), gpu_type, precision)


def gpu_in(content: Mapping[str, Any], gpu_type: str, precision: str, software: str = "") -> Gpu:
    """Return the speeds from the content of a file as `gpus.yaml`; `software`: one that has factors there."""
    if gpu_type not in content["gpus"]:
        allowed = allowed_names(gpu_type, content["gpus"])
        what = "no training was measured on this GPU"
        raise InputError(what, where="GPU type of a language model", found=gpu_type, allowed=allowed)
    entry, fitted = content["gpus"][gpu_type], dict(content["fitted"])
    generation = content["generations"][gpu_type]
    products, attention = fitted.pop("products")[generation], fitted.pop("attention")[generation]
    base = products.get(precision, products.get("bf16" if precision == "fp16" else ""))
    if base is None or precision not in entry["peak"]:
        what = f"no training was measured on {gpu_type} in this precision"
        raise InputError(what, where="precision", found=precision, allowed=", ".join(products))
    factors = fitted.pop("software").get(software, {})
    half = entry["peak"].get("bf16", entry["peak"].get("fp16"))
    return Gpu(
        1e3 * entry["peak"][precision] * base * factors.get("products", 1.0),
        1e3 * half * attention * factors.get("attention", 1.0),
        entry["memory_gb_s"] * fitted["memory"],
        Fitted(**{name: value * factors.get(name, 1.0) for name, value in fitted.items()}),
    )


def times_of(work: Work, held: Held, plan: Plan, gpu: Gpu, shards: tuple[int, int]) -> Times:
    """Return the compute times of a GPU.

    Parameters
    ----------
    work, held, plan
        FLOPs and bytes; parameters; the plan.
    gpu
        Its speeds.
    shards
        GPUs that divide the update of dense parameters, and of experts.
    """
    fitted = gpu.fitted
    attention = work.attention / gpu.attention
    passed = fitted.passes * work.passed_bytes + fitted.routed_passes * work.expert_bytes
    forward = work.products / gpu.products + work.experts / (gpu.products * fitted.grouped) + attention
    if plan.sharding == "full":
        passed += fitted.weight_passes * 2 * (held.dense + held.experts) / work.layers
    forward += passed / gpu.bytes_per_ns + 1e3 * fitted.layer_us
    again = {"none": 0.0, "selective": attention, "full": forward}[plan.recompute]
    updated = (held.dense + held.embeddings) / shards[0] + held.experts / shards[1]
    return Times(
        forward=forward,
        backward=2 * forward + again,
        attention=attention,
        output=3 * work.output / min(gpu.products, gpu.attention * 2),
        update=_UPDATE_BYTES * updated / gpu.bytes_per_ns,
    )
