"""Networks that classify images of ImageNet, 224 x 224 (InceptionV3: 299 x 299), 1000 classes.

Sources: AlexNet (Krizhevsky, arXiv:1404.5997, one tower); VGG (Simonyan and Zisserman, arXiv:1409.1556,
columns A, D and E); ResNet (He et al., arXiv:1512.03385, Table 1, stride in the 3 x 3 convolution);
InceptionV3 (Szegedy et al., arXiv:1512.00567). Input sizes and channel counts are those of the torchvision
documentation.
"""

from collections.abc import Sequence

from netmodels.profiles.architectures.layer_shapes import LayerShape, convolution, linear, square

CLASSES = 1000


def alexnet() -> list[LayerShape]:
    """Return AlexNet: 61.1 million parameters."""
    return [
        square("features.0", (3, 64), 11, 55, extras=1),
        square("features.3", (64, 192), 5, 27, extras=1),
        square("features.6", (192, 384), 3, 13, extras=1),
        square("features.8", (384, 256), 3, 13, extras=1),
        square("features.10", (256, 256), 3, 13, extras=1),
        linear("classifier.1", 256 * 6 * 6, 4096),
        linear("classifier.4", 4096, 4096),
        linear("classifier.6", 4096, CLASSES),
    ]


def vgg11() -> list[LayerShape]:
    """Return VGG11 without batch normalisation: 132.9 million parameters."""
    return _vgg((1, 1, 2, 2, 2))


def vgg16() -> list[LayerShape]:
    """Return VGG16 without batch normalisation: 138.4 million parameters."""
    return _vgg((2, 2, 3, 3, 3))


def vgg19() -> list[LayerShape]:
    """Return VGG19 without batch normalisation: 143.7 million parameters."""
    return _vgg((2, 2, 4, 4, 4))


def _vgg(counts: Sequence[int]) -> list[LayerShape]:
    """Return a VGG with the numbers of convolutions before each halving of the image."""
    layers: list[LayerShape] = []
    channels = 3
    for stage, count in enumerate(counts):
        outputs = min(64 << stage, 512)
        for _ in range(count):
            name = f"conv{len(layers) + 1}"
            layers.append(square(name, (channels, outputs), 3, 224 >> stage, extras=1))
            channels = outputs
    return [
        *layers,
        linear("classifier.0", 512 * 7 * 7, 4096),
        linear("classifier.3", 4096, 4096),
        linear("classifier.6", 4096, CLASSES),
    ]


def resnet18() -> list[LayerShape]:
    """Return ResNet18: 11.69 million parameters."""
    layers = [square("conv1", (3, 64), 7, 112)]
    inputs = 64
    for stage, width in enumerate((64, 128, 256, 512)):
        pixels = 56 >> stage
        for block in range(2):
            name = f"layer{stage + 1}.{block}"
            layers += [
                square(f"{name}.conv1", (inputs, width), 3, pixels),
                square(f"{name}.conv2", (width, width), 3, pixels),
            ]
            if inputs != width:
                layers.append(square(f"{name}.downsample", (inputs, width), 1, pixels))
            inputs = width
    return [*layers, linear("fc", 512, CLASSES)]


def resnet50() -> list[LayerShape]:
    """Return ResNet50: 25.56 million parameters."""
    layers = [square("conv1", (3, 64), 7, 112)]
    inputs, side = 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        pixels = 56 >> stage
        for block in range(blocks):
            name = f"layer{stage + 1}.{block}"
            layers += [
                square(f"{name}.conv1", (inputs, width), 1, side),
                square(f"{name}.conv2", (width, width), 3, pixels),
                square(f"{name}.conv3", (width, 4 * width), 1, pixels),
            ]
            if block == 0:
                layers.append(square(f"{name}.downsample", (inputs, 4 * width), 1, pixels))
            inputs, side = 4 * width, pixels
    return [*layers, linear("fc", 2048, CLASSES)]


# One convolution of a branch: output channels, taps of the kernel, side of the output in pixels.
_Branch = Sequence[tuple[int, int, int]]


def inception_v3() -> list[LayerShape]:
    """Return InceptionV3 without the auxiliary head: 23.83 million parameters (with it 27.16).

    The head serves training only and is often left out; a framework that trains it sends 3.33 million more.
    """
    stem = [(32, 9, 149), (32, 9, 147), (64, 9, 147), (80, 1, 73), (192, 9, 71)]
    layers = _inception("stem", 3, [stem])
    for place, (inputs, pooled) in enumerate(((192, 32), (256, 64), (288, 64))):
        branches = [[(64, 1, 35)], [(48, 1, 35), (64, 25, 35)], [(64, 1, 35), (96, 9, 35), (96, 9, 35)]]
        layers += _inception(f"mixed5.{place}", inputs, [*branches, [(pooled, 1, 35)]])
    layers += _inception("mixed6.0", 288, [[(384, 9, 17)], [(64, 1, 35), (96, 9, 35), (96, 9, 17)]])
    for place, width in enumerate((128, 160, 160, 192), 1):
        seven = [(width, 1, 17), (width, 7, 17), (192, 7, 17)]
        twice = [(width, 1, 17), *[(width, 7, 17)] * 3, (192, 7, 17)]
        layers += _inception(f"mixed6.{place}", 768, [[(192, 1, 17)], seven, twice, [(192, 1, 17)]])
    seven = [(192, 1, 17), (192, 7, 17), (192, 7, 17), (192, 9, 8)]
    layers += _inception("mixed7.0", 768, [[(192, 1, 17), (320, 9, 8)], seven])
    for place, inputs in enumerate((1280, 2048), 1):
        # 1 x 3 and 3 x 1 lie side by side, on the same 384 channels: two in a row weigh the same.
        split = [(384, 3, 8), (384, 3, 8)]
        branches = [[(320, 1, 8)], [(384, 1, 8), *split], [(448, 1, 8), (384, 9, 8), *split]]
        layers += _inception(f"mixed7.{place}", inputs, [*branches, [(192, 1, 8)]])
    return [*layers, linear("fc", 2048, CLASSES)]


def _inception(name: str, inputs: int, branches: Sequence[_Branch]) -> list[LayerShape]:
    """Return the convolutions of branches that start from the same input, one branch after the other."""
    layers = []
    for branch, steps in enumerate(branches):
        channels = inputs
        for step, (outputs, taps, pixels) in enumerate(steps):
            layers.append(convolution(f"{name}.{branch}.{step}", (channels, outputs), taps, pixels * pixels))
            channels = outputs
    return layers
