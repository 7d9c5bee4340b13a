"""Architectures of language models: decoder-only transformers, dense or with experts."""

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.inputs.schema import read_yaml

_FILE = Path(__file__).with_name("architectures.yaml")


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder-only transformer.

    Parameters
    ----------
    name, source
        Name of the model; origin of the figures.
    layers, hidden, heads, ffn, vocabulary
        Layers; width; heads of attention; width of a dense layer's feed-forward network; tokens.
    kv_heads, head_size
        Heads of keys and values, 0: `heads`; width of a head, 0: hidden / heads.
    gated, tied
        Feed-forward networks of three matrices, not two; one matrix for both embeddings.
    experts, active, expert_ffn, shared, dense
        Routed experts of a layer, 0: none; those of a token; width of one; experts of all tokens; first
        layers without experts.
    latent
        Multi-head latent attention: ranks of queries and of keys and values, and the rotary size.
    window, windowed
        Tokens that attention reaches back in a fraction `windowed` of the layers; 0: all.
    places
        Layers that pipelines have places for, 0: `layers`, or 2 more (embedding and output as a layer each).
    """

    name: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    source: str = ""
    kv_heads: int = 0
    head_size: int = 0
    gated: bool = False
    tied: bool = False
    experts: int = 0
    active: int = 0
    expert_ffn: int = 0
    shared: int = 0
    dense: int = 0
    latent: tuple[int, ...] = ()
    window: int = 0
    windowed: float = 0.0
    places: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kv_heads", self.kv_heads or self.heads)
        object.__setattr__(self, "head_size", self.head_size or self.hidden // self.heads)
        object.__setattr__(self, "latent", tuple(self.latent))

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def expert_layers(self) -> int:
        """Layers with experts."""
        return self.layers - self.dense if self.experts else 0

    @property
    def attention_parameters(self) -> int:
        """Parameters of a layer's projections of queries, keys, values and output.

        Latent attention has each projection in two steps through a low rank; the rotary part of the keys is
        one for all heads (arXiv 2412.19437, section 2.1.1).
        """
        inner = self.heads * self.head_size
        if self.latent:
            queries, keys, rotary = self.latent
            down = self.hidden * (queries + keys + rotary)
            up = queries * self.heads * (self.head_size + rotary) + keys * 2 * inner
            return down + up + inner * self.hidden
        return self.hidden * (2 * inner + 2 * self.kv_heads * self.head_size)

    def mlp_parameters(self, width: int) -> int:
        """Return the parameters of a feed-forward network of some width."""
        return (3 if self.gated else 2) * self.hidden * width

    @property
    def dense_parameters(self) -> int:
        """Parameters of all layers without routed experts, which no expert parallelism divides."""
        experts = self.expert_layers
        router = self.hidden * self.experts
        shared = self.mlp_parameters(self.shared * self.expert_ffn) + router
        dense = self.mlp_parameters(self.ffn)
        return self.layers * self.attention_parameters + experts * shared + (self.layers - experts) * dense

    @property
    def expert_parameters(self) -> int:
        """Parameters of all routed experts."""
        return self.expert_layers * self.experts * self.mlp_parameters(self.expert_ffn)

    @property
    def embedding_parameters(self) -> int:
        """Parameters of one embedding matrix."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """All parameters, without norms and biases."""
        embeddings = (1 if self.tied else 2) * self.embedding_parameters
        return self.dense_parameters + self.expert_parameters + embeddings

    @property
    def active_parameters(self) -> int:
        """Parameters that a token passes, without the input embedding."""
        routed = self.expert_layers * self.active * self.mlp_parameters(self.expert_ffn)
        return self.dense_parameters + routed + self.embedding_parameters


@cache
def architectures() -> dict[str, Architecture]:
    """Return the architectures that ship, by name."""
    content: Any = read_yaml(_FILE, "architectures")
    return {name: Architecture(name, **entry) for name, entry in content.items()}


def get_architecture(name: str) -> Architecture:
    """Return the architecture of a model; capitals and signs of the name do not matter.

    Raises
    ------
    InputError
        If there is no such model.
    """
    known = {_plain(known_as): known_as for known_as in architectures()}
    if _plain(name) not in known:
        allowed = allowed_names(name, architectures())
        raise InputError("unknown language model", where="model", found=name, allowed=allowed)
    return architectures()[known[_plain(name)]]


def is_architecture(name: str) -> bool:
    """Return whether a language model of that name ships."""
    return any(_plain(name) == _plain(known) for known in architectures())


def architecture_record(architecture: Architecture) -> list[object]:
    """Return the figures as plain values, for digests."""
    return [getattr(architecture, field.name) for field in fields(architecture) if field.name != "source"]


def _plain(name: str) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())
