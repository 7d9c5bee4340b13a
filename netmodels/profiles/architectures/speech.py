"""Networks for sound: Deep Speech 2, M5, WaveNet."""

from netmodels.profiles.architectures.layer_shapes import LayerShape, convolution, linear, lstm


def deepspeech() -> list[LayerShape]:
    """Return Deep Speech 2 as in deepspeech.pytorch: 86.6 million parameters.

    Amodei et al., arXiv:1512.02595; sizes with which Synergy starts deepspeech.pytorch on LibriSpeech: two
    convolutions of 32 channels over 161 frequencies, five bidirectional LSTM layers of 1024 units whose
    directions are added, batch normalisation after each, 29 characters. A sample is 12.3 s, LibriSpeech's
    mean (960 hours in 281,241 utterances): 1230 frames, of which every other remains.
    """
    width, steps = 1024, 615
    layers = [
        convolution("conv.0", (1, 32), 41 * 11, 81 * steps, extras=3),
        convolution("conv.1", (32, 32), 21 * 11, 41 * steps, extras=3),
    ]
    inputs = 32 * 41
    for place in range(5):
        layers.append(lstm(f"rnn.{place}", inputs, width, steps, directions=2, extras=2))
        inputs = width
    return [*layers, linear("fc", width, 29, times=steps, extras=0)]


def m5() -> list[LayerShape]:
    """Return M5, which classifies raw waveforms: 0.56 million parameters.

    Dai et al., arXiv:1610.00087, Table 1: a filter of 80 samples with stride 4, three of 3 samples, each
    followed by batch normalisation and a pooling by 4; ten classes (Synergy's 157 would add 75,411
    parameters). A sample is 160,000 values, 20 s at 8 kHz, as in Synergy's program for the Free Music
    Archive.
    """
    length = 160_000 // 4
    layers = [convolution("conv1", (1, 128), 80, length, extras=3)]
    inputs = 128
    for place, outputs in enumerate((128, 256, 512), 2):
        length //= 4
        layers.append(convolution(f"conv{place}", (inputs, outputs), 3, length, extras=3))
        inputs = outputs
    return [*layers, linear("fc", inputs, 10)]


def wavenet() -> list[LayerShape]:
    """Return WaveNet without conditioning: 1.52 million parameters.

    Van den Oord et al., arXiv:1609.03499, which gives no sizes; here those of the open program that trains
    it on VCTK (ibab/tensorflow-wavenet): five times dilations 1 to 512, filters of 2 samples, 32 channels,
    512 channels to the output, 256 levels. A sample is a piece of 100,000 values at 16 kHz, the program's
    default.
    """
    channels, collected, levels, length = 32, 512, 256, 100_000
    layers = [convolution("causal", (levels, channels), 2, length, extras=0)]
    for place in range(50):
        name = f"dilated.{place}"
        layers += [
            convolution(f"{name}.filter", (channels, channels), 2, length, extras=1),
            convolution(f"{name}.gate", (channels, channels), 2, length, extras=1),
            convolution(f"{name}.dense", (channels, channels), 1, length, extras=1),
            convolution(f"{name}.skip", (channels, collected), 1, length, extras=1),
        ]
    return [
        *layers,
        convolution("post.0", (collected, collected), 1, length, extras=1),
        convolution("post.1", (collected, levels), 1, length, extras=1),
    ]
