"""Parallelism of a language model's training, and the ranks of each role's groups.

Written as in `tp8 pp4 vp5 cp2 ep8 mb1`, any other setting at its default:

    tp, pp, cp, ep  GPUs that divide a layer's tensors, the layers, a sequence, the experts
    etp             GPUs that divide each expert's tensors
    vp              stages per GPU of an interleaved pipeline
    mb, gb, seq     micro batch of a GPU and global batch in sequences; tokens of a sequence
    zero1, fsdp     sharding of the optimizer's state, or of all state, over data parallelism
    selective, recompute
                    recomputation of attention alone, or of whole layers
    bf16, fp16, fp8, mxfp8, nvfp4
                    precision of matrix products
    tp-cp-ep-dp-pp  order of ranks, the quickest to change first

Data parallelism has the rest of the GPUs. The ranks of attention and of experts are ordered apart, each by
the same order (Megatron-LM, megatron/core/parallel_state.py, RankGenerator): one has tp, cp, dp and pp, the
other etp in place of tp, ep, and its own dp. So ep need not divide dp, and may span the GPUs of tp and cp.
"""

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from math import lcm, prod
from types import MappingProxyType
from typing import Literal, Self, cast, get_args

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.llm.architecture import Architecture

Role = Literal["tp", "cp", "dp", "pp", "etp", "ep", "edp"]
"""Of a group; `dp` shares all but experts and includes `cp`, `edp` shares experts."""
Sharding = Literal["none", "optimizer", "full"]
Recompute = Literal["none", "selective", "full"]
Precision = Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4"]

ORDER = "tp-cp-ep-dp-pp"
_NUMBERS = {
    "tp": "tp",
    "cp": "cp",
    "ep": "ep",
    "etp": "etp",
    "pp": "pp",
    "vp": "vp",
    "mb": "micro_batch",
    "gb": "batch",
    "seq": "sequence",
}
_WORDS = {
    "zero1": ("sharding", "optimizer"),
    "fsdp": ("sharding", "full"),
    "selective": ("recompute", "selective"),
    "recompute": ("recompute", "full"),
    **{name: ("precision", name) for name in get_args(Precision)},
}
_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Plan:
    """Division of a language model's training over GPUs.

    Parameters
    ----------
    tp, pp, cp, ep, etp
        Tensor, pipeline, context, expert and experts' tensor parallelism. Tensor parallelism divides the
        sequence between its collectives, too (sequence parallelism), if it divides it.
    vp
        Stages per GPU; more than 1 is Megatron's interleaved schedule.
    micro_batch, batch
        Sequences of a GPU's forward pass; of an iteration, 0: one micro batch, or with pp 4 pp, per replica.
    sequence
        Tokens of a sequence.
    sharding
        State divided over data parallelism: none, that of the optimizer (ZeRO-1), or all (ZeRO-3, FSDP).
    recompute
        Activations computed again in the backward pass: none, those of attention, or of whole layers.
    precision
        Of matrix products.
    order
        Order of ranks.

    Raises
    ------
    InputError
        If a value is not allowed.
    """

    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    vp: int = 1
    micro_batch: int = 1
    batch: int = 0
    sequence: int = 4096
    sharding: Sharding = "none"
    recompute: Recompute = "none"
    precision: Precision = "bf16"
    order: str = ORDER

    def __post_init__(self) -> None:
        for token, name in _NUMBERS.items():
            value = getattr(self, name)
            least = 0 if name == "batch" else 1
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < _MAX:
                raise _wrong(self, f"wrong {token}", value, f"a whole number from {least}")
        for name, kind in (("sharding", Sharding), ("recompute", Recompute), ("precision", Precision)):
            if getattr(self, name) not in get_args(kind):
                value = getattr(self, name)
                raise _wrong(self, f"unknown {name}", value, allowed_names(value, get_args(kind)))
        if sorted(self.order.split("-")) != sorted(ORDER.split("-")):
            raise _wrong(
                self, "wrong order of ranks", self.order, f"tp, cp, ep, dp and pp once, as in {ORDER}"
            )
        if self.vp > 1 and self.pp == 1:
            raise _wrong(self, "virtual stages without a pipeline", f"vp{self.vp}", "vp with pp2 or more")

    def __hash__(self) -> int:
        return hash((self.tp, self.pp, self.cp, self.ep, self.vp, self.micro_batch, self.batch))

    @classmethod
    def parse(cls, text: str, **settings: object) -> Self:
        """Return the plan that a text such as `tp8 pp4 vp5 mb1` describes.

        Parameters
        ----------
        text
            As in the module's docstring, in any order; "" is data parallelism alone.
        settings
            Fields that the text does not have: `batch`, `sequence`, `precision`; None: not set.

        Raises
        ------
        InputError
            If a word is unknown or set twice, or a value is not allowed.
        """
        where = f"plan {text!r}"
        values: dict[str, object] = {}
        for word in re.split(r"[\s,]+", str(text).strip().lower()):
            if not word:
                continue
            number = re.fullmatch(r"([a-z]+)=?(\d{1,12})", word)
            if word in _WORDS:
                name, value = _WORDS[word]
            elif number and number[1] in _NUMBERS:
                name, value = _NUMBERS[number[1]], cast(str, int(number[2]))
            elif word.count("-") == ORDER.count("-"):
                name, value = "order", word
            elif number and number[1] == "dp":
                what = "data parallelism is what the other sizes leave of the GPUs"
                raise InputError(what, where=where, found=word, allowed="a plan without dp")
            else:
                words = [*(f"{token}N" for token in _NUMBERS), *_WORDS, ORDER]
                raise InputError("unknown word", where=where, found=word, allowed=allowed_names(word, words))
            if name in values:
                raise InputError(f"{name} is set twice", where=where, found=word, allowed="one value")
            values[name] = value
        for name, setting in settings.items():
            if setting is not None and values.setdefault(name, setting) != setting:
                what = f"{name} is set twice"
                raise InputError(what, where=where, found=setting, allowed=f"{values[name]}, as in the plan")
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        default = type(self).__dataclass_fields__
        words = {value: word for word, value in _WORDS.items()}
        tokens = []
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value != default[name].default:
                token = next((token for token, field in _NUMBERS.items() if field == name), "")
                tokens.append(f"{token}{value}" if token else words.get((name, value), str(value)))
        return " ".join(tokens)

    @property
    def is_data_parallel(self) -> bool:
        """True if every GPU holds the whole model and its state, as for a model without a plan."""
        return self.model_gpus == 1 and self.ep == self.etp == 1 and self.sharding == "none"

    @property
    def model_gpus(self) -> int:
        """GPUs of one replica of all but the experts."""
        return self.tp * self.cp * self.pp

    @property
    def replica(self) -> int:
        """Least number of GPUs, of which any other is a multiple."""
        return lcm(self.model_gpus, self.etp * self.ep * self.pp)

    @property
    def unit(self) -> int:
        """GPUs that send most, after every part of a layer: those that divide its tensors."""
        return lcm(self.tp, self.etp)

    def segment(self, gpus: int) -> int:
        """Return the GPUs of a pipeline stage, or all where there is none."""
        return gpus // self.pp

    def dp(self, gpus: int) -> int:
        """Return the replicas of all but the experts."""
        return gpus // self.model_gpus

    def members(self, gpus: int) -> dict[Role, int]:
        """Return the members of a group of each role."""
        dp, edp = gpus // (self.tp * self.pp), gpus // (self.etp * self.ep * self.pp)
        return {
            **{"tp": self.tp, "cp": self.cp, "dp": dp, "pp": self.pp},
            **{"etp": self.etp, "ep": self.ep, "edp": edp},
        }

    def micro_batches(self, gpus: int) -> int:
        """Return the micro batches of a replica per iteration."""
        if not self.batch:
            return 4 * self.pp if self.pp > 1 else 1
        return self.batch // (self.dp(gpus) * self.micro_batch)

    def layers_per_stage(self, architecture: Architecture) -> int:
        """Return the places for layers of a stage, of which a GPU has `vp`."""
        return _places(architecture, self.pp * self.vp) // (self.pp * self.vp)

    def groups(self, gpus: int) -> MappingProxyType[Role, Ints]:
        """Return the ranks of the groups of each role, each of shape (groups, members).

        Raises
        ------
        InputError
            If the product of the sizes is not the GPUs, or pipelines of attention and experts would differ.
        """
        return _groups(self, gpus)

    def check(self, architecture: Architecture, gpus: int) -> None:
        """Raise for a plan that the model's sizes or the GPUs do not allow.

        Raises
        ------
        InputError
            If something does not divide.
        """
        name = architecture.name
        self.groups(gpus)
        stages, layers = self.pp * self.vp, architecture.layers
        if not _places(architecture, stages):
            value = f"{layers} layers on pp{self.pp} x vp{self.vp} = {stages} stages"
            counts = (
                f"divisors of {layers}, or of {_padded(architecture)} with embedding and output as layers"
            )
            raise _wrong(self, f"the layers of {name} do not divide", value, counts)
        divided = [("heads", architecture.heads, "tp", self.tp), ("width", architecture.ffn, "tp", self.tp)]
        if self.ep * self.etp > 1:
            if not architecture.experts:
                raise _wrong(self, f"{name} has no experts", f"ep{self.ep} etp{self.etp}", "ep1 etp1")
            divided += [("experts", architecture.experts, "ep", self.ep)]
            divided += [("width of an expert", architecture.expert_ffn, "etp", self.etp)]
        keys = sorted((architecture.kv_heads, self.tp))
        divided += [("heads of keys and values", keys[1], "tp", keys[0])] if not architecture.latent else []
        parts = 2 * self.cp if self.cp > 1 else 1
        divided += [("tokens of a sequence", self.sequence, "cp, in two parts each,", parts)]
        for what, count, token, size in divided:
            if count % size:
                allowed = f"divisors of {count}"
                raise _wrong(
                    self, f"the {what} of {name} do not divide by {token}", f"{count} / {size}", allowed
                )
        self._check_batch(gpus)

    def _check_batch(self, gpus: int) -> None:
        share = self.dp(gpus) * self.micro_batch
        if self.batch % share:
            value = f"batch {self.batch} on dp{self.dp(gpus)} x mb{self.micro_batch}"
            raise _wrong(self, "the batch does not divide", value, f"multiples of {share}")
        if self.vp > 1 and self.micro_batches(gpus) % self.pp:
            value = f"{self.micro_batches(gpus)} on pp{self.pp}"
            allowed = "a multiple of pp with virtual stages"
            raise _wrong(self, "the micro batches of a replica do not divide", value, allowed)


def plan_record(plan: Plan) -> list[object]:
    """Return the plan as plain values, for digests."""
    return [getattr(plan, field.name) for field in fields(plan)]


def _wrong(plan: Plan, what: str, value: object, allowed: str) -> InputError:
    try:
        where = f"plan {str(plan)!r}"
    except TypeError:
        where = "plan"
    return InputError(what, where=where, found=value, allowed=allowed)


def _padded(architecture: Architecture) -> int:
    return architecture.places or architecture.layers + 2


def _places(architecture: Architecture, stages: int) -> int:
    """Return the places for layers of all stages, 0 if they do not divide.

    Megatron counts embedding and output as a layer each if told to (account_for_embedding_in_pipeline_split,
    account_for_loss_in_pipeline_split): the 126 layers of Llama 3 405B on 16 x 8 stages.
    """
    for places in (architecture.layers, _padded(architecture)):
        if places % stages == 0 and stages <= architecture.layers + 2:
            return places
    return 0


@lru_cache(maxsize=1024)
def _groups(plan: Plan, gpus: int) -> MappingProxyType[Role, Ints]:
    for names, sizes in (
        ("tp x cp x pp", (plan.tp, plan.cp, plan.pp)),
        ("etp x ep x pp", (plan.etp, plan.ep, plan.pp)),
    ):
        product = prod(sizes)
        if gpus < 1 or gpus % product:
            value = f"{' x '.join(map(str, sizes))} = {product} on {gpus} GPUs"
            allowed = f"multiples of {plan.replica} GPUs"
            raise _wrong(plan, f"{names} does not divide the GPUs", value, allowed)
    layers = {"tp": plan.tp, "cp": plan.cp, "ep": 1, "dp": plan.dp(gpus), "pp": plan.pp}
    experts = {**layers, "tp": plan.etp, "cp": 1, "ep": plan.ep}
    experts["dp"] = gpus // (plan.etp * plan.ep * plan.pp)
    groups: dict[Role, Ints] = {
        "tp": _along(plan, layers, ("tp",)),
        "cp": _along(plan, layers, ("cp",)),
        "dp": _along(plan, layers, ("dp", "cp")),
        "pp": _along(plan, layers, ("pp",)),
        "etp": _along(plan, experts, ("tp",)),
        "ep": _along(plan, experts, ("ep",)),
        "edp": _along(plan, experts, ("dp",)),
    }
    stages = {tuple(group) for group in _along(plan, experts, ("pp",)).tolist()}
    if plan.ep * plan.etp > 1 and stages != {tuple(group) for group in groups["pp"].tolist()}:
        allowed = f"pp last, as in {ORDER}, or tp x cp = etp x ep"
        raise _wrong(plan, "experts would be on other pipelines than attention", plan.order, allowed)
    return MappingProxyType(groups)


def _along(plan: Plan, sizes: dict[str, int], varied: tuple[str, ...]) -> Ints:
    """Return the ranks of groups in which only some of the sizes vary, shape (groups, members)."""
    names = plan.order.split("-")[::-1]
    ranks = np.arange(prod(sizes.values())).reshape([sizes[name] for name in names])
    inside = [axis for axis, name in enumerate(names) if name in varied]
    outside = [axis for axis, name in enumerate(names) if name not in varied]
    members = prod(sizes[names[axis]] for axis in inside)
    ranks = ranks.transpose(*outside, *inside).reshape(-1, members)
    ranks.flags.writeable = False
    return ranks
