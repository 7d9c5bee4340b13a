"""From an architecture to a profile: the time of an iteration divided over layers and phases.

Times are those of the reference GPU, speed 1, assumed to be an H100. They come from published measurements
where there are any, else they are estimated from multiply-accumulates, as recorded in the profile's source.

Other GPUs. A time that was measured on a V100 counts at relative speed 0.25: training ResNet-50 in fp32, a
V100 does about 375 images/s, and the reference GPU 1,490 (512 images in 343.055 ms). Synergy trains
all but LSTM in mixed precision (its ResNet-50 does about 750 images/s), so its times at 0.25 are those
of a reference GPU in mixed precision.

Estimates. 6 floating-point operations per multiply-accumulate (forward 2, backward 4), at a sustained rate:
in fp32, the rate that the measured ResNet50 reaches; in bf16, 40 % of the 989.4 TFLOP/s of an H100 without
sparsity. They leave out latency: recurrent layers (BAT) take their steps one by one and will be slower than
that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from netmodels.profiles.architectures import ARCHITECTURES, LayerShape
from netmodels.profiles.architectures.decoders import CONTEXT_TOKENS
from netmodels.profiles.layers import Layer, Profile

OPERATIONS_PER_MAC = 6
FP32_BYTES = 4
BF16_BYTES = 2
V100_SPEED = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured iteration on one GPU.

    Parameters
    ----------
    iteration_us
        Forward and backward, without communication, in microseconds of that GPU.
    source
        Source of the measurement, continuing "compute per iteration".
    speed
        Of that GPU, relative to the reference GPU.
    """

    iteration_us: int
    source: str
    speed: Fraction = Fraction(1)

    def iteration_ns(self, macs: int) -> int:
        """Return the time on the reference GPU, in nanoseconds; `macs` do not matter."""
        return round(self.iteration_us * 1000 * self.speed)


@dataclass(frozen=True, slots=True)
class Estimated:
    """An iteration that was not measured.

    Parameters
    ----------
    operations_per_s
        Floating-point operations that the reference GPU sustains.
    source
        Method of the estimate, continuing "compute per iteration".
    """

    operations_per_s: Fraction
    source: str

    def iteration_ns(self, macs: int) -> int:
        """Return the time on the reference GPU, in nanoseconds.

        Parameters
        ----------
        macs
            Multiply-accumulates of the forward pass of all samples of the iteration.
        """
        return round(OPERATIONS_PER_MAC * macs * 10**9 / self.operations_per_s)


@dataclass(frozen=True, slots=True)
class Training:
    """Training of a model on one GPU.

    Parameters
    ----------
    batch
        Samples of the iteration.
    compute
        Origin of the iteration time.
    bytes_per_parameter
        Of the gradients that are sent.
    """

    batch: int
    compute: Measured | Estimated
    bytes_per_parameter: int = FP32_BYTES


def _dally(iteration_us: int) -> Measured:
    """Return a sum of the layer times that the Dally authors measured (one GPU, fp32; to the microsecond)."""
    return Measured(iteration_us, "as measured by the authors of the Dally paper")


def _muri(iteration_us: int) -> Measured:
    """Return the GPU stage of the Muri authors' profile of one GPU."""
    return _on_v100(iteration_us, "Muri", "GPU stage")


def _synergy(iteration_us: int) -> Measured:
    """Return a whole iteration of the Synergy authors' profile, with all CPUs that it can use."""
    return _on_v100(iteration_us, "Synergy", "whole iteration with CPUs enough")


def _on_v100(iteration_us: int, paper: str, quantity: str) -> Measured:
    source = (
        f"as measured by the authors of the {paper} paper ({quantity}, V100 at speed {float(V100_SPEED)})"
    )
    return Measured(iteration_us, source, V100_SPEED)


def _macs(shapes: Sequence[LayerShape], batch: int) -> int:
    """Return the multiply-accumulates of the forward pass of a batch."""
    return batch * sum(shape.macs for shape in shapes)


_RESNET50, _RESNET50_BATCH = _dally(343_055), 512
_FP32_OPERATIONS_PER_S = Fraction(
    OPERATIONS_PER_MAC * _macs(ARCHITECTURES["ResNet50"](), _RESNET50_BATCH) * 10**9,
    _RESNET50.iteration_ns(0),
)
_BF16_OPERATIONS_PER_S = Fraction(40, 100) * 9894 * 10**11

_RULE = f"estimated, {OPERATIONS_PER_MAC} operations per multiply-accumulate"
_FP32 = Estimated(
    _FP32_OPERATIONS_PER_S,
    f"{_RULE} at the {float(_FP32_OPERATIONS_PER_S / 10**12):.1f} TFLOP/s that the measured ResNet50 implies",
)
_BF16 = Estimated(
    _BF16_OPERATIONS_PER_S,
    f"{_RULE} at {float(_BF16_OPERATIONS_PER_S / 10**12):.1f} TFLOP/s, 40 % of an H100's bf16 peak, "
    f"for sequences of {CONTEXT_TOKENS} tokens",
)

TRAINING: Mapping[str, Training] = MappingProxyType(
    {
        "AlexNet": Training(512, _dally(51_877)),
        "VGG11": Training(256, _dally(234_458)),
        "VGG16": Training(16, _muri(68_000)),
        "VGG19": Training(16, _muri(80_000)),
        "ResNet18": Training(512, _dally(122_247)),
        "ResNet50": Training(_RESNET50_BATCH, _RESNET50),
        # CODA's batch is not published; 64 is usual for it on GPUs of that time.
        "InceptionV3": Training(64, _FP32),
        # 0.71 s with 3 CPUs, 1.55 times as fast with all that it can use.
        "MobileNetV2": Training(512, _synergy(458_000)),
        "MobileNetV3": Training(512, _dally(8_288)),
        "ShuffleNet": Training(128, _muri(59_000)),
        # The Dally authors' table of BERT lists 66 of 145 layers, and the total is that of the listed
        # ones: an understatement of a whole BERT.
        "BERT-large": Training(256, _dally(15_196_139)),
        "GPT-2": Training(4, _muri(410_000)),
        # The paper's 25,000 word pieces of each language over 8 GPUs, in sentences of 25.
        "Transformer": Training(125, _FP32),
        "Transformer-XL": Training(128, _synergy(670_000)),
        "GNMT": Training(128, _synergy(120_000)),
        "LSTM": Training(20, _synergy(11_000)),
        "BAT": Training(60, _FP32),  # the paper's batch
        "DeepSpeech": Training(20, _synergy(757_000)),
        # 0.6 s with 3 CPUs, 2.5 times as fast with all that it can use.
        "M5": Training(512, _synergy(240_000)),
        "WaveNet": Training(1, _FP32),  # the default of the program whose sizes it has
        # 64 games; an iteration follows each of them for 5 steps.
        "A2C": Training(64, _muri(14_000)),
        "DQN": Training(128, _muri(8_000)),
        "Llama-2-7B": Training(1, _BF16, BF16_BYTES),
        "Llama-2-70B": Training(1, _BF16, BF16_BYTES),
    }
)


def timed_profile(name: str, shapes: Sequence[LayerShape]) -> Profile:
    """Return the profile of a model.

    Rule: the time of an iteration is divided over forward, input gradient and weight gradient of each layer
    by multiply-accumulates, 1 : 1 : 1. The first layer has no input gradient. Rounded to whole ns by largest
    remainder, so that the parts add up to that time exactly.

    Parameters
    ----------
    name
        A model of `TRAINING`.
    shapes
        Its layers.
    """
    training = TRAINING[name]
    weights = [
        macs
        for place, shape in enumerate(shapes)
        for macs in (shape.macs, shape.macs if place else 0, shape.macs)
    ]
    parts = divide(training.compute.iteration_ns(_macs(shapes, training.batch)), weights)
    layers = tuple(
        Layer(
            shape.name,
            forward_ns=parts[3 * place],
            input_gradient_ns=parts[3 * place + 1],
            weight_gradient_ns=parts[3 * place + 2],
            gradient_bytes=training.bytes_per_parameter * (shape.weights + shape.extras),
        )
        for place, shape in enumerate(shapes)
    )
    source = (
        f"architecture as published; compute per iteration {training.compute.source}, batch {training.batch}"
    )
    return Profile(name, layers, source)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number by weights, by largest remainder; earlier parts win ties.

    Parameters
    ----------
    total
        The number to divide.
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
