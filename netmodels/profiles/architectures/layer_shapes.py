"""Building blocks of the architectures: the weights and the work of a layer.

Each model is a list of layers in the order of the forward pass: weights, extra parameters, and the
multiply-accumulates of one sample. A bias and a normalisation are counted with the layer that they follow:
their gradients are ready at the same time, and a real framework sends them in one bucket. So the totals are
the published parameter counts, all of them.

A lookup table is a layer without multiplications. Weights that two layers share are listed once, with the
layer that comes first: their gradient is complete only when the backward pass reaches that one. A recurrent
layer has its weights once and multiplies with them at every step. Padding does not reduce multiplications,
and attention also computes the masked half of its products.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerShape:
    """The weights and the work of a layer.

    Parameters
    ----------
    name
        Its name in the model.
    weights
        Parameters of its weight tensor, or tensors of one lookup layer.
    extras
        Parameters of its bias and of the normalisation that follows it.
    macs
        Multiply-accumulates of the forward pass of one sample.
    """

    name: str
    weights: int
    extras: int
    macs: int


def convolution(
    name: str, channels: tuple[int, int], taps: int, positions: int, *, groups: int = 1, extras: int = 2
) -> LayerShape:
    """Return a convolution of any number of dimensions.

    Parameters
    ----------
    name
        Name of the layer.
    channels
        Of the input and of the output.
    taps
        Weights per pair of channels: the product of the kernel's sides.
    positions
        Points of the output: the product of its sides.
    groups
        Number of groups of channels; equal to that of channels: a depthwise convolution.
    extras
        Per output channel: 1 for a bias, 2 for a batch normalisation, 3 for both.
    """
    weights = channels[0] // groups * channels[1] * taps
    return LayerShape(name, weights, extras * channels[1], weights * positions)


def square(
    name: str, channels: tuple[int, int], kernel: int, pixels: int, *, groups: int = 1, extras: int = 2
) -> LayerShape:
    """Return a convolution of images; `kernel` and `pixels` are the sides of its kernel and its output."""
    return convolution(name, channels, kernel * kernel, pixels * pixels, groups=groups, extras=extras)


def linear(
    name: str, inputs: int, outputs: int, *, times: int = 1, extras: int = 1, macs: int = 0
) -> LayerShape:
    """Return a fully connected layer.

    Parameters
    ----------
    name
        Name of the layer.
    inputs, outputs
        Features.
    times
        Passes of a sample through it, one per token.
    extras
        Per output: 1 for a bias; 2 more for a layer normalisation, 1 more for a root-mean-square one.
    macs
        Multiply-accumulates beside those with the weights, for products of activations.
    """
    weights = inputs * outputs
    return LayerShape(name, weights, extras * outputs, weights * times + macs)


def lookup(name: str, rows: int, width: int, *, extras: int = 0) -> LayerShape:
    """Return an embedding table; `extras` are per column."""
    return LayerShape(name, rows * width, extras * width, 0)


def shared_head(name: str, width: int, classes: int, *, times: int, biases: int = 0) -> LayerShape:
    """Return an output layer whose weights are those of the embeddings, where they are counted."""
    return LayerShape(name, 0, biases, width * classes * times)


def lstm(
    name: str, inputs: int, width: int, steps: int, *, directions: int = 1, biases: int = 2, extras: int = 0
) -> LayerShape:
    """Return a layer of long short-term memory: four gates, each of inputs and state.

    Parameters
    ----------
    name
        Name of the layer.
    inputs, width
        Features that go in, and features of the state.
    steps
        Of the sequence.
    directions
        2: one more layer of the same size, which reads from the end.
    biases
        Bias vectors: cuDNN (and so PyTorch) keeps two, TensorFlow one.
    extras
        Parameters of the normalisation that follows, per feature of the state.
    """
    weights = directions * 4 * width * (inputs + width)
    return LayerShape(name, weights, directions * 4 * width * biases + extras * width, weights * steps)


def attention(
    name: str,
    width: int,
    tokens: int,
    *,
    bias: int,
    norm: int,
    context: int | None = None,
    pair_width: int | None = None,
    products: int = 2,
) -> list[LayerShape]:
    """Return the four layers of multi-head attention; the number of heads changes no figure.

    The products of queries, keys and values have no weights; they count with the output layer.

    Parameters
    ----------
    name
        Beginning of the names of the layers.
    width
        Features of a token.
    tokens
        Tokens that attend.
    bias
        1 if the layers have biases, else 0.
    norm
        Parameters of the normalisation after the output layer, per feature.
    context
        Tokens attended to; `tokens` if not given.
    pair_width
        Features of a key and of a value; less than `width` if heads share them (grouped-query attention).
    products
        Matrix products of activations: 2 (scores, and the weighting of values).
    """
    asked = tokens if context is None else context
    pairs = width if pair_width is None else pair_width
    return [
        linear(f"{name}.query", width, width, times=tokens, extras=bias),
        linear(f"{name}.key", width, pairs, times=asked, extras=bias),
        linear(f"{name}.value", width, pairs, times=asked, extras=bias),
        linear(
            f"{name}.attention",
            width,
            width,
            times=tokens,
            extras=bias + norm,
            macs=products * tokens * asked * width,
        ),
    ]


def feed_forward(name: str, width: int, inner: int, tokens: int) -> list[LayerShape]:
    """Return the two layers of a Transformer's feed-forward part, with biases and a layer normalisation."""
    return [
        linear(f"{name}.intermediate", width, inner, times=tokens),
        linear(f"{name}.output", inner, width, times=tokens, extras=3),
    ]
