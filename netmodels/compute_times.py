"""From an architecture to a profile: a measured iteration time divided over layers and phases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from netmodels.architectures import LayerShape
from netmodels.layers import Layer, Profile

BYTES_PER_PARAMETER = 4  # fp32 gradients


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """Compute time of one iteration on one GPU.

    Parameters
    ----------
    iteration_us
        Forward and backward, without communication, in microseconds.
    batch
        Samples of the iteration.
    """

    iteration_us: int
    batch: int


SOURCE = "architecture as published; compute per iteration as measured by the authors of the Dally paper"

# Sums of the layer times that the Dally authors measured (one GPU, fp32; to the microsecond). Their BERT
# table lists 66 of 145 layers, so BERT's total is theirs for what they listed: an understatement of a whole
# BERT.
MEASURED: Mapping[str, MeasuredTime] = MappingProxyType(
    {
        "AlexNet": MeasuredTime(51_877, 512),
        "VGG11": MeasuredTime(234_458, 256),
        "MobileNetV3": MeasuredTime(8_288, 512),
        "ResNet18": MeasuredTime(122_247, 512),
        "ResNet50": MeasuredTime(343_055, 512),
        "BERT-large": MeasuredTime(15_196_139, 256),
    }
)


def timed_profile(name: str, shapes: Sequence[LayerShape]) -> Profile:
    """Return the profile of a model.

    Rule: the measured time of an iteration is divided over forward, input gradient and weight gradient of
    each layer by multiply-accumulates, 1 : 1 : 1. The first layer has no input gradient. Rounded to whole
    ns by largest remainder, so that the parts add up to the measured time exactly.

    Parameters
    ----------
    name
        A model with a measured time.
    shapes
        Its layers.
    """
    measured = MEASURED[name]
    weights = [
        macs
        for place, each in enumerate(shapes)
        for macs in (each.macs, each.macs if place else 0, each.macs)
    ]
    parts = divide(measured.iteration_us * 1000, weights)
    layers = tuple(
        Layer(
            each.name,
            forward_ns=parts[3 * place],
            input_gradient_ns=parts[3 * place + 1],
            weight_gradient_ns=parts[3 * place + 2],
            gradient_bytes=BYTES_PER_PARAMETER * (each.weights + each.riders),
        )
        for place, each in enumerate(shapes)
    )
    return Profile(name, layers, f"{SOURCE}, batch {measured.batch}")


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number by weights, by largest remainder; earlier parts win ties.

    Parameters
    ----------
    total
        What to divide.
    weights
        Whole numbers >= 0, at least one more than 0. A weight of 0 gets nothing.
    """
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    left = total - sum(parts)
    by_remainder = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_remainder[:left]:
        parts[place] += 1
    return parts
