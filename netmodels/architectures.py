"""The six models of Table 1 of the Dally paper, generated from their published architectures.

Each model is a list of layers in the order of the forward pass: weights, what rides with them, and the
multiply-accumulates of one sample. A bias and a batch or layer normalisation ride with the layer that they
follow: their gradients are ready at the same time, and a real framework sends them in one bucket. So the
totals are the published parameter counts, all of them.

Sources: AlexNet (Krizhevsky, arXiv:1404.5997, one tower); VGG11 (Simonyan and Zisserman, arXiv:1409.1556,
column A); ResNet (He et al., arXiv:1512.03385, Table 1, stride in the 3 x 3 convolution); MobileNetV3
(Howard et al., arXiv:1905.02244, Table 2); BERT (Devlin et al., arXiv:1810.04805, L=24, H=1024, A=16).
Input sizes and channel counts as the torchvision documentation has them: 224 x 224, 1000 classes.

MobileNetV3 is the small one. The Dally paper does not say which, but its skew of 0.41 and the authors'
measured layer times (52 weights, last layer 1024 x 1000) are the small model's; the large one's skew would
be 0.23, which Tiresias would call low.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

CLASSES = 1000
BERT_TOKENS = 384  # sequence length; only its effect on the share of attention matters here


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What a layer weighs and works.

    Parameters
    ----------
    name
        Its name in the model.
    weights
        Parameters of its weight tensor, or tensors of one lookup layer.
    riders
        Parameters of its bias and of the normalisation that follows it.
    macs
        Multiply-accumulates of the forward pass of one sample.
    """

    name: str
    weights: int
    riders: int
    macs: int


def _conv(
    name: str, channels: tuple[int, int], kernel: int, pixels: int, *, groups: int = 1, riders: int = 2
) -> LayerShape:
    """Return a convolution; `pixels` is the side of its output, `riders` are per output channel."""
    weights = channels[0] // groups * channels[1] * kernel * kernel
    return LayerShape(name, weights, riders * channels[1], weights * pixels * pixels)


def _linear(name: str, inputs: int, outputs: int) -> LayerShape:
    return LayerShape(name, inputs * outputs, outputs, inputs * outputs)


def alexnet() -> list[LayerShape]:
    """Return AlexNet: 61.1 million parameters."""
    return [
        _conv("features.0", (3, 64), 11, 55, riders=1),
        _conv("features.3", (64, 192), 5, 27, riders=1),
        _conv("features.6", (192, 384), 3, 13, riders=1),
        _conv("features.8", (384, 256), 3, 13, riders=1),
        _conv("features.10", (256, 256), 3, 13, riders=1),
        _linear("classifier.1", 256 * 6 * 6, 4096),
        _linear("classifier.4", 4096, 4096),
        _linear("classifier.6", 4096, CLASSES),
    ]


def vgg11() -> list[LayerShape]:
    """Return VGG11 without batch normalisation: 132.9 million parameters."""
    table = [(64, 224), (128, 112), (256, 56), (256, 56), (512, 28), (512, 28), (512, 14), (512, 14)]
    layers: list[LayerShape] = []
    channels = 3
    for place, (outputs, pixels) in enumerate(table):
        layers.append(_conv(f"conv{place + 1}", (channels, outputs), 3, pixels, riders=1))
        channels = outputs
    return [
        *layers,
        _linear("classifier.0", 512 * 7 * 7, 4096),
        _linear("classifier.3", 4096, 4096),
        _linear("classifier.6", 4096, CLASSES),
    ]


def resnet18() -> list[LayerShape]:
    """Return ResNet18: 11.69 million parameters."""
    layers = [_conv("conv1", (3, 64), 7, 112)]
    inputs, pixels = 64, 56
    for stage, width in enumerate((64, 128, 256, 512)):
        pixels = 56 >> stage
        for block in range(2):
            name = f"layer{stage + 1}.{block}"
            layers += [
                _conv(f"{name}.conv1", (inputs, width), 3, pixels),
                _conv(f"{name}.conv2", (width, width), 3, pixels),
            ]
            if inputs != width:
                layers.append(_conv(f"{name}.downsample", (inputs, width), 1, pixels))
            inputs = width
    return [*layers, _linear("fc", 512, CLASSES)]


def resnet50() -> list[LayerShape]:
    """Return ResNet50: 25.56 million parameters."""
    layers = [_conv("conv1", (3, 64), 7, 112)]
    inputs, side = 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        pixels = 56 >> stage
        for block in range(blocks):
            name = f"layer{stage + 1}.{block}"
            layers += [
                _conv(f"{name}.conv1", (inputs, width), 1, side),
                _conv(f"{name}.conv2", (width, width), 3, pixels),
                _conv(f"{name}.conv3", (width, 4 * width), 1, pixels),
            ]
            if block == 0:
                layers.append(_conv(f"{name}.downsample", (inputs, 4 * width), 1, pixels))
            inputs, side = 4 * width, pixels
    return [*layers, _linear("fc", 2048, CLASSES)]


@dataclass(frozen=True, slots=True)
class _Bottleneck:
    """One row of Table 2 of the MobileNetV3 paper."""

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


def mobilenet_v3_small() -> list[LayerShape]:
    """Return MobileNetV3-small: 2.54 million parameters."""
    inputs, side = 16, 112
    layers = [_conv("features.0", (3, inputs), 3, side)]
    for place, row in enumerate(_MOBILENET_V3_SMALL):
        name = f"features.{place + 1}"
        pixels = side // row.stride
        if row.expanded != inputs:
            layers.append(_conv(f"{name}.expand", (inputs, row.expanded), 1, side))
        layers.append(
            _conv(f"{name}.depthwise", (row.expanded, row.expanded), row.kernel, pixels, groups=row.expanded)
        )
        if row.squeeze:
            squeezed = _divisible_by_8(row.expanded / 4)
            layers += [
                _linear(f"{name}.squeeze", row.expanded, squeezed),
                _linear(f"{name}.excite", squeezed, row.expanded),
            ]
        layers.append(_conv(f"{name}.project", (row.expanded, row.outputs), 1, pixels))
        inputs, side = row.outputs, pixels
    return [
        *layers,
        _conv("features.12", (inputs, 6 * inputs), 1, side),
        _linear("classifier.0", 6 * inputs, 1024),
        _linear("classifier.3", 1024, CLASSES),
    ]


def _divisible_by_8(channels: float) -> int:
    """Round to a multiple of 8, at least 8 and never below 90 %: the paper's rule for channel counts."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * channels else rounded + 8


def bert_large() -> list[LayerShape]:
    """Return BERT-large, uncased, with pooler and without a task's head: 335.1 million parameters.

    The embeddings are the first layer: a lookup, no multiplications, but a gradient as large as its tables.
    The products of queries, keys and values have no weights; they count with the attention's output layer.
    """
    width, tokens = 1024, BERT_TOKENS
    tables = (30522 + 512 + 2) * width
    layers = [LayerShape("embeddings", tables, 2 * width, 0)]
    for place in range(24):
        name = f"encoder.{place}"
        layers += [_token_linear(f"{name}.{part}", width, width) for part in ("query", "key", "value")]
        layers += [
            _token_linear(f"{name}.attention", width, width, norm=True, macs=2 * tokens * tokens * width),
            _token_linear(f"{name}.intermediate", width, 4 * width),
            _token_linear(f"{name}.output", 4 * width, width, norm=True),
        ]
    return [*layers, _linear("pooler", width, width)]


def _token_linear(name: str, inputs: int, outputs: int, *, norm: bool = False, macs: int = 0) -> LayerShape:
    riders = outputs * (3 if norm else 1)
    return LayerShape(name, inputs * outputs, riders, inputs * outputs * BERT_TOKENS + macs)


ARCHITECTURES: Mapping[str, Callable[[], list[LayerShape]]] = MappingProxyType(
    {
        "AlexNet": alexnet,
        "VGG11": vgg11,
        "MobileNetV3": mobilenet_v3_small,
        "ResNet18": resnet18,
        "ResNet50": resnet50,
        "BERT-large": bert_large,
    }
)
