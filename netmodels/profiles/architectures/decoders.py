"""Large language models of the Llama 2 family: decoders that predict the next token.

Touvron et al., arXiv:2307.09288, and arXiv:2302.13971 for the parts: root-mean-square normalisation before
each part, SwiGLU feed-forward layers, rotary positions, no biases, input and output tables of their own. A
sample is a sequence of `CONTEXT_TOKENS`, the context with which Llama 2 was trained.
"""

from netmodels.profiles.architectures.layer_shapes import LayerShape, attention, linear, lookup

CONTEXT_TOKENS = 4096
_WORDS = 32_000


def llama2_7b() -> list[LayerShape]:
    """Return Llama-2-7B: 6,738,415,616 parameters."""
    return _llama(32, 4096, 11_008, pair_width=4096)


def llama2_70b() -> list[LayerShape]:
    """Return Llama-2-70B: 68,976,648,192 parameters; its 64 heads share 8 pairs of keys and values."""
    return _llama(80, 8192, 28_672, pair_width=8 * 128)


def _llama(blocks: int, width: int, inner: int, *, pair_width: int) -> list[LayerShape]:
    tokens = CONTEXT_TOKENS
    layers = [lookup("embeddings", _WORDS, width, extras=1)]
    for place in range(blocks):
        name = f"layers.{place}"
        layers += attention(name, width, tokens, bias=0, norm=1, pair_width=pair_width)
        layers += [
            linear(f"{name}.gate", width, inner, times=tokens, extras=0),
            linear(f"{name}.up", width, inner, times=tokens, extras=0),
            linear(f"{name}.down", inner, width, times=tokens, extras=1),
        ]
    return [*layers, linear("head", width, _WORDS, times=tokens, extras=0)]
