"""Recurrent networks for text: GNMT, a word language model of LSTMs, and BiDAF."""

from netmodels.profiles.architectures.language import SENTENCE_TOKENS
from netmodels.profiles.architectures.layer_shapes import LayerShape, convolution, linear, lookup, lstm


def gnmt() -> list[LayerShape]:
    """Return GNMT v2 for translation as MLPerf and NVIDIA train it: 160.7 million parameters.

    Wu et al., arXiv:1609.08144, in the smaller form of MLPerf training (rnn_translator), which Synergy runs:
    four layers each in encoder and decoder (the paper: eight), 1024 wide, one table of 32,320 word pieces
    for both languages; the output layer has weights of its own. The first decoder layer's output queries
    the encoder (normalised additive attention), and the result enters all later decoder layers. A sample
    is a pair of sentences of `SENTENCE_TOKENS` word pieces each.
    """
    width, words, tokens = 1024, 32_320, SENTENCE_TOKENS
    scores = 2 * tokens * tokens * width
    return [
        lookup("embeddings", words, width),
        lstm("encoder.0", width, width, tokens, directions=2),
        lstm("encoder.1", 2 * width, width, tokens),
        *(lstm(f"encoder.{place}", width, width, tokens) for place in (2, 3)),
        lstm("decoder.0", width, width, tokens),
        linear("attention.query", width, width, times=tokens, extras=0),
        # Riding along: the vector that turns sums into scores, its length and its bias.
        LayerShape("attention.key", width * width, 2 * width + 1, tokens * width * width + scores),
        *(lstm(f"decoder.{place}", 2 * width, width, tokens) for place in (1, 2, 3)),
        linear("classifier", width, words, times=tokens),
    ]


def lstm_words() -> list[LayerShape]:
    """Return the word language model of PyTorch's examples on WikiText-2: 13.99 million parameters.

    The example (word_language_model) at its defaults, as Synergy runs it: 33,278 words, two LSTM layers of
    200 units, 35 steps; input and output tables are not tied. A sample is one of the parallel texts.
    """
    width, words, steps = 200, 33_278, 35
    return [
        lookup("encoder", words, width),
        *(lstm(f"rnn.{place}", width, width, steps) for place in range(2)),
        linear("decoder", width, words, times=steps),
    ]


def bat() -> list[LayerShape]:
    """Return BiDAF (CODA calls it BAT) for SQuAD: 2.57 million parameters, "about 2.6" in the paper.

    Seo et al., arXiv:1611.01603: 100 one-dimensional filters of width 5 over characters, GloVe vectors of
    100 that stay fixed and so send nothing, two highway layers, d = 100. From the authors' program: 8
    features a character, one bias a gate, and an end layer that reads 14 d features; only with these 14 d do
    the parameters come to the paper's 2.6 million. Chosen here: 262 characters (bytes and marks). A sample
    is as large as the program allows: 400 words of text, 30 of question, 16 characters a word.
    """
    width, text, question, letters = 100, 400, 30, 16
    both, words = 2 * width, text + question
    parts = ("transform", "gate")
    return [
        lookup("characters", 262, 8),
        convolution("character_filters", (8, width), 5, words * (letters - 5 + 1), extras=1),
        *(linear(f"highway.{place}.{part}", both, both, times=words) for place in (0, 1) for part in parts),
        lstm("contextual", both, width, words, directions=2, biases=1),
        linear("attention", 3 * both, 1, times=text * question, macs=text * (question + 1) * both),
        lstm("modeling.0", 4 * both, width, text, directions=2, biases=1),
        lstm("modeling.1", both, width, text, directions=2, biases=1),
        linear("start", 5 * both, 1, times=text),
        lstm("end.lstm", 7 * both, width, text, directions=2, biases=1),
        linear("end", 5 * both, 1, times=text),
    ]
