"""Published training runs of ../shared: pairs, models, frameworks, machines."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from artist.data import data_path
from netmodels.api import Dimension, Fabric, load_topology
from netmodels.profiles.architectures import ARCHITECTURES, LayerShape
from netmodels.profiles.architectures.layer_shapes import attention, feed_forward, linear, lookup, shared_head
from netmodels.profiles.compute_times import divide
from netmodels.profiles.layers import Layer, Profile

TOPOLOGIES = data_path("topologies")
SECOND_NS = 10**9
ONE_BUCKET_MB = 1e6
"""All gradients in one all-reduce when the backward pass is over: nothing is hidden."""
MASKED_WORDS = 20  # of a sequence, that BERT predicts; decides only how much of its compute is the head


@dataclass(frozen=True, slots=True)
class Framework:
    """Gradients as a framework sends them: cap of a bucket, bytes per parameter in mixed precision."""

    bucket_cap_mb: float
    mixed_bytes: int


FRAMEWORKS: Mapping[str, Framework] = {
    "PyTorch DDP": Framework(25, 4),  # DistributedDataParallel, under autocast where mixed
    # NVIDIA's BERT: --allreduce_post_accumulation(_fp16), one flat buffer after the last backward pass.
    "PyTorch": Framework(ONE_BUCKET_MB, 2),
    # Its local DistributedDataParallel of that time all-reduces after the backward pass.
    "Megatron": Framework(ONE_BUCKET_MB, 2),
    # Horovod's fusion buffer, 64 MiB (HOROVOD_FUSION_THRESHOLD); NVIDIA's scripts send fp16 where mixed.
    "TensorFlow": Framework(64, 2),
    "MXNet": Framework(0, 2),  # one all-reduce per parameter, in the network's precision
    "OneFlow": Framework(64, 4),  # gradients cast back to fp32 before the all-reduce
    "Paddle": Framework(32, 4),  # fuse_grad_size_in_MB
    "": Framework(25, 4),
}
"""By a part of the name: its defaults, or the settings of the scripts that were run."""

DLPERF_OVERHEADS: Mapping[str, tuple[float, float, float]] = {
    "PyTorch": (4.3, 6.8, 6.7),
    "TensorFlow 2.x": (4.7, 6.2, 9.3),
    "OneFlow": (3.7, 4.3, 5.2),
    "NGC MXNet": (5.8, 9.7, 19.7),
    "PaddlePaddle": (7.5, 15.3, 20.7),
    "NGC TensorFlow 1.x": (6.5, 13.7, 21.9),
}
"""ResNet-50, fp32: overhead of 8, 16 and 32 GPUs over one, in percent; docs/networks.md has the source."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of machine: its nominal fabric, and the memory bandwidth of a GPU in byte/s."""

    fabric: Fabric
    memory_bytes_per_s: float


def _nominal(name: str, inside_gb_s: float, gpu_gb_s: float, machine_gb_s: float) -> Fabric:
    """Return an NVSwitch machine on one rack's InfiniBand; latencies as of dgx_h100_3tier."""
    inside = (Dimension("switch", 300, inside_gb_s),)
    outside = (Dimension("switch", 1350, gpu_gb_s, machine_bytes_per_ns=machine_gb_s),)
    return Fabric(name, inside, outside, outside)


MACHINES: Mapping[str, Machine] = {
    "A100-40GB (4": Machine(load_topology(TOPOLOGIES / "polaris_a100.yaml").fabric, 1.555e12),
    "A100": Machine(_nominal("dgx_a100", 300, 25, 200), 1.555e12),  # 8 x 200 Gb/s HDR
    "V100 32GB (DGX-2": Machine(_nominal("dgx_2", 150, 12.5, 100), 0.9e12),  # 8 x 100 Gb/s EDR, 16 GPUs
    "V100": Machine(load_topology(TOPOLOGIES / "v100_100g.yaml").fabric, 0.9e12),  # one 100 Gb/s card
}


@dataclass(frozen=True, slots=True)
class Training:
    """A row: a model in training on a number of machines."""

    model: str
    tokens: int
    batch: float
    precision: str
    gpu: str
    framework: str
    source: str
    machines: int
    gpus: int
    micro_batches: float
    rate: float
    notes: str

    @property
    def kind(self) -> tuple[str, int, float, str, str, str, str, int]:
        """All that must be equal in a pair, but for machines and accumulation."""
        of_machine = self.gpus // self.machines
        return (
            *(self.model, self.tokens, self.batch, self.precision, self.gpu, self.framework, self.source),
            of_machine,
        )

    @property
    def step_s(self) -> float:
        """Measured time of a step."""
        return self.batch * self.gpus * self.micro_batches / self.rate


@dataclass(frozen=True, slots=True)
class Pair:
    """The same training on few machines (one, mostly) and on many."""

    few: Training
    many: Training

    @property
    def efficiency(self) -> float:
        """Measured rate on many machines over that on few, per machine."""
        return self.many.rate / self.many.machines / (self.few.rate / self.few.machines)


def read_trainings(path: Path) -> list[Training]:
    """Return the rows that are data-parallel only and state machines and a batch."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [_training(row) for row in rows if _usable(row)]


def _usable(row: Mapping[str, str]) -> bool:
    divided = "TP" in row["notes"] and "TP1 PP1" not in row["notes"]
    other = "Model Parallelism" in row["model"] or "Partial FC" in row["model"]
    numbers = row["machines"].isdigit() and row["gpus"].isdigit() and row["batch_per_gpu"].isdigit()
    return numbers and row["unit"].endswith("/s") and not divided and not other


def _training(row: Mapping[str, str]) -> Training:
    names = ("model", "precision", "gpu", "framework", "source", "notes")
    return Training(
        tokens=int(row["seq_len"] or 128),
        batch=float(row["batch_per_gpu"]),
        machines=int(row["machines"]),
        gpus=int(row["gpus"]),
        micro_batches=float(row["grad_accum"] or 1),
        rate=float(row["throughput"]),
        **{name: row[name] for name in names},
    )


def pairs_of(trainings: Sequence[Training]) -> list[Pair]:
    """Return the pairs of one machine and several, of models that the project knows."""
    return [pair for pair in _pairs(trainings) if pair.few.machines == 1]


def unseen_pairs(trainings: Sequence[Training]) -> dict[str, list[Pair]]:
    """Return pairs that are never fitted: from several machines to more, and ResNet-50 of DLPerf."""
    several = [pair for pair in _pairs(trainings) if pair.few.machines > 1]
    groups: dict[str, list[Pair]] = {}
    for pair in several:
        groups.setdefault(f"{pair.few.framework}, {pair.few.machines} machines to more", []).append(pair)
    return {**groups, "ResNet-50 of DLPerf": _resnet50(trainings)}


def _pairs(trainings: Sequence[Training]) -> list[Pair]:
    groups: dict[object, list[Training]] = {}
    for training in trainings:
        if _shapes(training.model, training.tokens) and training.gpu.startswith(tuple(MACHINES)):
            groups.setdefault(training.kind, []).append(training)
    pairs = []
    for group in groups.values():
        fewest = min(training.machines for training in group)
        pairs += [_pair(group, fewest, training) for training in group if training.machines > fewest]
    return pairs


def _resnet50(trainings: Sequence[Training]) -> list[Pair]:
    """Join the rows of one machine to the overheads that DLPerf published."""
    pairs = []
    for row in trainings:
        alone = row.model.startswith("ResNet50") and row.gpus == 8 and row.precision == "FP32"
        if alone and "DLPerf" in row.source and row.framework in DLPERF_OVERHEADS:
            one, *more = DLPERF_OVERHEADS[row.framework]
            for machines, overhead in zip((2, 4), more, strict=True):
                rate = row.rate * machines * (100 + one) / (100 + overhead)
                pairs.append(Pair(row, replace(row, machines=machines, gpus=8 * machines, rate=rate)))
    return pairs


def _pair(group: Sequence[Training], fewest: int, many: Training) -> Pair:
    """Join a row with that of few machines: of its own table (equal notes) if there is one."""
    rows = [row for row in group if row.machines == fewest]
    rows = [row for row in rows if row.notes == many.notes] or rows
    few = replace(rows[0], rate=float(np.mean([row.rate for row in rows])))
    if (
        "same global batch" in many.notes
    ):  # two rows of the sources list other steps, against their global batch
        many = replace(many, micro_batches=few.micro_batches * few.gpus / many.gpus)
    return Pair(few, many)


@cache
def _shapes(model: str, tokens: int) -> tuple[LayerShape, ...] | None:
    for name, width, blocks in (("BERT-base", 768, 12), ("BERT-large", 1024, 24)):
        if model.startswith(name):
            return tuple(_bert(width, blocks, tokens))
    if model.startswith("GPT hidden"):
        _, _, wide, _, deep = model.split()
        return tuple(_transformer(int(wide), int(deep), tokens, words=51_200, places=tokens))
    plain = model.replace("-", "").split(" ")[0]
    return tuple(ARCHITECTURES[plain]()) if plain in ARCHITECTURES else None


def _bert(width: int, blocks: int, tokens: int) -> list[LayerShape]:
    words = 30_522
    return [
        *_transformer(width, blocks, tokens, words=words, places=514)[:-1],
        linear("pooler", width, width),
        linear("transform", width, width, times=MASKED_WORDS, extras=3),
        shared_head("head", width, words, times=MASKED_WORDS, biases=words),
    ]


def _transformer(width: int, blocks: int, tokens: int, *, words: int, places: int) -> list[LayerShape]:
    layers = [lookup("embeddings", words + places, width, extras=2)]
    for place in range(blocks):
        layers += attention(f"{place}", width, tokens, bias=1, norm=2)
        layers += feed_forward(f"{place}", width, 4 * width, tokens)
    return [*layers, shared_head("head", width, words, times=tokens)]


@cache
def second_profile(model: str, tokens: int, parameter_bytes: int) -> Profile:
    """Return a model whose micro-batch takes a second, one third of it forward."""
    shapes = _shapes(model, tokens) or ()
    weights = [
        macs
        for place, shape in enumerate(shapes)
        for macs in (shape.macs, shape.macs * bool(place), shape.macs)
    ]
    parts = iter(divide(SECOND_NS, weights))
    layers = (
        Layer(
            shape.name,
            next(parts),
            next(parts),
            next(parts),
            parameter_bytes * (shape.weights + shape.extras),
        )
        for shape in shapes
    )
    return Profile(model, tuple(layers))


def framework_of(training: Training) -> Framework:
    """Return its framework; that of DistributedDataParallel where it is not known."""
    return next(way for name, way in FRAMEWORKS.items() if name in training.framework)


def machine_of(training: Training) -> Machine:
    """Return its machine type."""
    return next(machine for name, machine in MACHINES.items() if training.gpu.startswith(name))


def parameter_bytes(training: Training) -> int:
    """Return the bytes of a gradient that its framework sends."""
    full = training.precision.startswith(("FP32", "TF32"))
    return 4 if full else framework_of(training).mixed_bytes
