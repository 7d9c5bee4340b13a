"""Transformers that fit on one GPU: BERT-large, Transformer (base), Transformer-XL (base), GPT-2 (small)."""

from netmodels.profiles.architectures.layer_shapes import (
    LayerShape,
    attention,
    feed_forward,
    linear,
    lookup,
    shared_head,
)

BERT_TOKENS = 384  # sequence length; only its effect on the share of attention matters here
SENTENCE_TOKENS = 25  # of a sentence of WMT16, in either language; a round figure near the mean


def bert_large() -> list[LayerShape]:
    """Return BERT-large, uncased, with pooler and without a task's head: 335.1 million parameters.

    Devlin et al., arXiv:1810.04805: L=24, H=1024, A=16.

    The embeddings are the first layer: a lookup, no multiplications, but a gradient as large as its tables.
    """
    width, tokens = 1024, BERT_TOKENS
    layers = [lookup("embeddings", 30522 + 512 + 2, width, extras=2)]
    for place in range(24):
        name = f"encoder.{place}"
        layers += attention(name, width, tokens, bias=1, norm=2)
        layers += feed_forward(name, width, 4 * width, tokens)
    return [*layers, linear("pooler", width, width)]


def transformer_base() -> list[LayerShape]:
    """Return the base Transformer for translation: 63.0 million parameters, 65 in the paper.

    Vaswani et al., arXiv:1706.03762: N=6, d_model=512, d_ff=2048, one table of 37,000 word pieces for both
    languages and the output. The paper rounds, and does not name the layers with biases; here the
    feed-forward layers have them and those of attention do not, as in the authors' tensor2tensor. Positions
    are computed, not learnt. A sample is a pair of sentences of `SENTENCE_TOKENS` word pieces each.
    """
    width, words, tokens = 512, 37000, SENTENCE_TOKENS
    layers = [lookup("embeddings", words, width)]
    for place in range(6):
        name = f"encoder.{place}"
        layers += attention(name, width, tokens, bias=0, norm=2)
        layers += feed_forward(name, width, 4 * width, tokens)
    for place in range(6):
        name = f"decoder.{place}"
        layers += attention(f"{name}.self", width, tokens, bias=0, norm=2)
        layers += attention(f"{name}.cross", width, tokens, bias=0, norm=2, context=tokens)
        layers += feed_forward(name, width, 4 * width, tokens)
    return [*layers, shared_head("head", width, words, times=tokens)]


def transformer_xl() -> list[LayerShape]:
    """Return the base Transformer-XL for WikiText-103 as NVIDIA trains it: 192.0 million parameters.

    Dai et al., arXiv:1901.02860; sizes of NVIDIA's DeepLearningExamples (wt103_base), which Synergy runs: 16
    layers, width 512, feed-forward 2048, segments of 192 tokens with a memory of 192, an adaptive softmax
    over 267,735 words cut at 19,997, 39,997 and 199,997, one width for all words, tied to the embeddings.

    Not counted as work: the rarer words' parts of the softmax, which only targets in them need, and the
    projection of positions, which is done once for a whole batch.
    """
    width, words, tokens, memory = 512, 267_735, 192, 192
    # Two vectors that stand in for a query's position are shared by all layers: ready with the first.
    layers = [lookup("embeddings", words, width, extras=2)]
    for place in range(16):
        name = f"layer.{place}"
        layers.append(lookup(f"{name}.positions", width, width))
        layers += attention(name, width, tokens, bias=0, norm=2, context=tokens + memory, products=3)
        layers += feed_forward(name, width, 4 * width, tokens)
    return [
        *layers,
        linear("clusters", width, 3, times=tokens),
        shared_head("head", width, 19_997, times=tokens, biases=words),
    ]


def gpt2() -> list[LayerShape]:
    """Return GPT-2, the small one: 124.4 million parameters.

    Radford et al., "Language models are unsupervised multitask learners", 2019; figures of OpenAI's release:
    12 layers, width 768, 50,257 word pieces, tied to the output. Sequences of 1024 tokens, as Muri trains
    it.

    A block begins with its normalisations, so each is counted with the layer before it.
    """
    width, words, tokens = 768, 50257, 1024
    layers = [lookup("embeddings", words + tokens, width, extras=2)]
    for place in range(12):
        name = f"h.{place}"
        layers += attention(name, width, tokens, bias=1, norm=2)
        layers += feed_forward(name, width, 4 * width, tokens)
    return [*layers, shared_head("head", width, words, times=tokens)]
