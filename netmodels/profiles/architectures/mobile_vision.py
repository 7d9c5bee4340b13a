"""Small networks for images of ImageNet, 224 x 224, 1000 classes: MobileNet and ShuffleNet.

Sources: MobileNetV2 (Sandler et al., arXiv:1801.04381, Table 2); MobileNetV3 (Howard et al.,
arXiv:1905.02244, Table 2); ShuffleNetV2 (Ma et al., arXiv:1807.11164, Table 5), all as in torchvision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netmodels.profiles.architectures.layer_shapes import LayerShape, linear, square
from netmodels.profiles.architectures.vision import CLASSES


@dataclass(frozen=True, slots=True)
class _Bottleneck:
    """One inverted residual block: widen, filter each channel, narrow."""

    kernel: int
    expanded: int
    outputs: int
    squeeze: bool
    stride: int


_MOBILENET_V3_SMALL = (
    _Bottleneck(3, 16, 16, True, 2),
    _Bottleneck(3, 72, 24, False, 2),
    _Bottleneck(3, 88, 24, False, 1),
    _Bottleneck(5, 96, 40, True, 2),
    _Bottleneck(5, 240, 40, True, 1),
    _Bottleneck(5, 240, 40, True, 1),
    _Bottleneck(5, 120, 48, True, 1),
    _Bottleneck(5, 144, 48, True, 1),
    _Bottleneck(5, 288, 96, True, 2),
    _Bottleneck(5, 576, 96, True, 1),
    _Bottleneck(5, 576, 96, True, 1),
)

# Widening, output channels, blocks, stride of the first: Table 2 of the MobileNetV2 paper.
_MOBILENET_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2() -> list[LayerShape]:
    """Return MobileNetV2, width 1.0: 3.50 million parameters."""
    inputs, rows = 32, []
    for widening, outputs, blocks, stride in _MOBILENET_V2:
        for block in range(blocks):
            rows.append(_Bottleneck(3, widening * inputs, outputs, False, 1 if block else stride))
            inputs = outputs
    return [
        square("features.0", (3, 32), 3, 112),
        *_bottlenecks(rows, 32, 112),
        square("features.18", (inputs, 1280), 1, 7),
        linear("classifier.1", 1280, CLASSES),
    ]


def mobilenet_v3_small() -> list[LayerShape]:
    """Return MobileNetV3-small: 2.54 million parameters.

    The Dally paper does not name its variant of MobileNetV3, but its skew of 0.41 and the authors' measured
    layer times (52 weights, last layer 1024 x 1000) are the small model's; the large one's skew would be
    0.23, which Tiresias would call low.
    """
    inputs = _MOBILENET_V3_SMALL[-1].outputs
    return [
        square("features.0", (3, 16), 3, 112),
        *_bottlenecks(_MOBILENET_V3_SMALL, 16, 112),
        square("features.12", (inputs, 6 * inputs), 1, 7),
        linear("classifier.0", 6 * inputs, 1024),
        linear("classifier.3", 1024, CLASSES),
    ]


def _bottlenecks(rows: Sequence[_Bottleneck], inputs: int, side: int) -> list[LayerShape]:
    """Return the layers of the blocks; `inputs` channels of `side` x `side` pixels go into the first."""
    layers = []
    for place, row in enumerate(rows):
        name = f"features.{place + 1}"
        pixels = side // row.stride
        if row.expanded != inputs:
            layers.append(square(f"{name}.expand", (inputs, row.expanded), 1, side))
        layers.append(
            square(f"{name}.depthwise", (row.expanded, row.expanded), row.kernel, pixels, groups=row.expanded)
        )
        if row.squeeze:
            squeezed = _divisible_by_8(row.expanded / 4)
            layers += [
                linear(f"{name}.squeeze", row.expanded, squeezed),
                linear(f"{name}.excite", squeezed, row.expanded),
            ]
        layers.append(square(f"{name}.project", (row.expanded, row.outputs), 1, pixels))
        inputs, side = row.outputs, pixels
    return layers


def _divisible_by_8(channels: float) -> int:
    """Round to a multiple of 8, at least 8 and never below 90 %: the paper's rule for channel counts."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * channels else rounded + 8


def shufflenet_v2() -> list[LayerShape]:
    """Return ShuffleNetV2, width 1.0: 2.28 million parameters.

    The first unit of a stage halves the image and sends all channels down both of its branches; the others
    send half of the channels down one branch and leave the rest alone.
    """
    layers = [square("conv1", (3, 24), 3, 112)]
    inputs = 24
    for stage, (outputs, units) in enumerate(((116, 4), (232, 8), (464, 4))):
        pixels, half = 28 >> stage, outputs // 2
        for unit in range(units):
            name = f"stage{stage + 2}.{unit}"
            if unit == 0:
                layers += _filtered(f"{name}.branch1", inputs, half, pixels)
            channels, side = (half, pixels) if unit else (inputs, 2 * pixels)
            layers.append(square(f"{name}.branch2.expand", (channels, half), 1, side))
            layers += _filtered(f"{name}.branch2", half, half, pixels)
        inputs = outputs
    return [*layers, square("conv5", (464, 1024), 1, 7), linear("fc", 1024, CLASSES)]


def _filtered(name: str, inputs: int, outputs: int, pixels: int) -> list[LayerShape]:
    """Return a depthwise 3 x 3 convolution, and the 1 x 1 convolution that mixes its channels."""
    return [
        square(f"{name}.depthwise", (inputs, inputs), 3, pixels, groups=inputs),
        square(f"{name}.project", (inputs, outputs), 1, pixels),
    ]
