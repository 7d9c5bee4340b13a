"""Settings of collectives, beside the fabric."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple, cast, get_args

from netmodels.fabric.shape import TIERS, Tier
from netmodels.inputs.digest import digest_of, hash_of
from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names

Algorithm = Literal["ring", "halving_doubling", "double_binary_tree", "direct"]
Algorithms = Algorithm | tuple[Algorithm, Algorithm, Algorithm]
"""One for all tiers, or one each for machine, rack and network."""
_MAX_DELAY_NS = 10**12  # beyond these limits, times would exceed their integers
_MIN_MEMORY_GB_S, _MAX_MEMORY_GB_S = 1e-3, 1e9
DEFAULT_BUCKET_BYTES = 25 * 2**20  # PyTorch's bucket_cap_mb, which counts 2^20 bytes
_MAX_BUCKET_MB = 1e6
_MAX_CHUNKS = 1024  # each is followed through the queues

CollectiveOptimization = Literal["bandwidth_aware", "baseline"]
CollectiveQueue = Literal["one", "per_dimension"]
QueueOrder = Literal["issue", "lowest_layer_first"]
Collectives = Literal["astra_sim", "nccl"]
AcrossMachines = Literal["hierarchical", "flat_ring", "tree"]
Transport = Literal["ideal", "queueing", "packets", "windows"]

PRESETS: dict[str, dict[str, object]] = {
    "machines": {"collectives": "nccl"},  # and so DistributedDataParallel's buckets: `bucket_bytes`
    "papers": {"collectives": "astra_sim"},  # and so a collective per layer
}
"""Settings under those of a topology, by name."""
DEFAULT_PRESET = "machines"

_CHOICES: dict[str, tuple[str, ...]] = {
    "collective_optimization": get_args(CollectiveOptimization),
    "collective_queue": get_args(CollectiveQueue),
    "queue_order": get_args(QueueOrder),
    "collectives": get_args(Collectives),
    "across_machines": get_args(AcrossMachines),
    "transport": get_args(Transport),
}


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """Settings of a job's collectives; the defaults are those of the preset `papers`.

    Parameters
    ----------
    endpoint_delay_ns
        Delay of a GPU per send or receive step.
    local_memory_gb_s
        GPU memory bandwidth (10^9 byte/s) charged for local reductions; 0 makes them free.
    collective_optimization
        `bandwidth_aware`: reduce-scatter outwards over the dimensions, all-reduce in the last, all-gather
        back. `baseline`: a full-size all-reduce in every dimension, one after another. Applies within one
        machine, or to `hierarchical` collectives: a ring or tree across machines has no dimensions. The same
        holds for the queues and algorithms below.
    collective_queue
        `one`: one server for whole collectives (ASTRA-sim 2.x). `per_dimension`: every dimension serves one
        phase at a time (ASTRA-sim 1.0).
    queue_order
        Choice of the next pending phase of a dimension; only meaningful with `per_dimension`.
    collective_algorithm
        Algorithm within one dimension (`netmodels.collectives.algorithms`): a name, or three for machine,
        rack and network.
    chunks
        Parts that a collective is cut into; they follow each other through the dimensions like a pipeline
        (ASTRA-sim's preferred-dataset-splits).
    chunks_in_flight
        Chunks that a dimension carries at once (active-chunks-per-dimension). As in ASTRA-sim's
        congestion-unaware back end they do not share its bandwidth: above 1 the network is too fast by up to
        that factor, so leave it at 1 except to compare with ASTRA-sim.
    collectives
        `astra_sim`: as its programs run them; `nccl`: an analytical model of NCCL
        (`netmodels.nccl`), in which `bucket_cap_mb` is the only other setting with a meaning.
    across_machines
        Form of a collective over machines, even or uneven: `hierarchical`, dimension by dimension;
        `flat_ring`, one ring through all GPUs, machine after machine; `tree`, two trees over the machines.
    transport
        Transport of messages: `ideal`, links of a latency and a bandwidth; `packets`, which have headers,
        share links and are acknowledged; `queueing`, packets whose rings across machines are priced in closed
        form, not simulated; `windows`, packets, with at most one round trip's bytes of the narrowest link in
        flight per message. None: `ideal`; with a program, the program's own.
    bucket_cap_mb
        Size in 2^20 bytes of the buckets to which gradients are joined, as in PyTorch's
        DistributedDataParallel; 0: every layer has its own collective. None: 25 with `nccl`, else 0.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range.
    """

    endpoint_delay_ns: int = 10
    local_memory_gb_s: float = 0.0
    collective_optimization: CollectiveOptimization = "bandwidth_aware"
    collective_queue: CollectiveQueue = "one"
    queue_order: QueueOrder = "issue"
    collective_algorithm: Algorithms = "ring"
    chunks: int = 1
    chunks_in_flight: int = 1
    collectives: Collectives = "astra_sim"
    across_machines: AcrossMachines = "flat_ring"
    transport: Transport | None = None
    bucket_cap_mb: float | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_whole("wrong delay", "endpoint_delay_ns", self.endpoint_delay_ns, 0, _MAX_DELAY_NS)
        memory = self.local_memory_gb_s
        number = isinstance(memory, int | float) and not isinstance(memory, bool)
        if not number or not (memory == 0 or _MIN_MEMORY_GB_S <= memory <= _MAX_MEMORY_GB_S):
            raise InputError(
                "wrong memory bandwidth",
                where="system.local_memory_gb_s",
                found=memory,
                allowed=f"0, or a number from {_MIN_MEMORY_GB_S} to {_MAX_MEMORY_GB_S:g}",
            )
        object.__setattr__(self, "local_memory_gb_s", float(memory))
        for name, allowed in _CHOICES.items():
            if name != "transport" or self.transport is not None:
                _check_choice(name, getattr(self, name), allowed)
        _check_bucket(self.bucket_cap_mb)
        object.__setattr__(self, "collective_algorithm", _algorithms(self.collective_algorithm))
        for name in ("chunks", "chunks_in_flight"):
            _check_whole("wrong number", name, getattr(self, name), 1, _MAX_CHUNKS)
        object.__setattr__(self, "_hash", hash_of(digest_of(system_record(self))))

    def __hash__(self) -> int:
        return self._hash

    @property
    def packets(self) -> bool:
        """True if messages are packets."""
        return self.transport in ("queueing", "packets", "windows")

    @property
    def windows(self) -> bool:
        """True if each message has at most a window of packets in flight."""
        return self.transport == "windows"

    @property
    def bucket_bytes(self) -> int:
        """Bytes that close a bucket of gradients; 0: every layer has its own collective."""
        if self.bucket_cap_mb is None:
            return DEFAULT_BUCKET_BYTES if self.collectives == "nccl" else 0
        return round(self.bucket_cap_mb * 2**20)

    def algorithm_of(self, tier: Tier) -> Algorithm:
        """Return the algorithm of the dimensions of a tier."""
        names = self.collective_algorithm
        return names if isinstance(names, str) else names[TIERS.index(tier)]


def _check_whole(problem: str, name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        allowed = f"a whole number from {least} to {most}"
        raise InputError(problem, where=f"system.{name}", found=value, allowed=allowed)


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(
            "unknown choice", where=f"system.{name}", found=value, allowed=allowed_names(value, allowed)
        )


def _check_bucket(value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 0 <= value <= _MAX_BUCKET_MB):  # type: ignore[operator]
        raise InputError(
            "wrong size of a bucket",
            where="system.bucket_cap_mb",
            found=value,
            allowed=f"0 for none, or a number up to {_MAX_BUCKET_MB:g} (MiB)",
        )


def _algorithms(value: object) -> Algorithms:
    """Return one name, or three that differ; files have lists."""
    if not isinstance(value, list | tuple):
        _check_choice("collective_algorithm", value, get_args(Algorithm))
        return cast(Algorithm, value)
    if len(value) != len(TIERS):
        raise InputError(
            "wrong number of algorithms",
            where="system.collective_algorithm",
            found=list(value),
            allowed="one name, or three: machine, rack, network",
        )
    for name in value:
        _check_choice("collective_algorithm", name, get_args(Algorithm))
    machine, rack, network = value
    return cast(Algorithm, machine) if machine == rack == network else (machine, rack, network)


def setting_names() -> tuple[str, ...]:
    """Return the names of all settings, in the order of the dataclass."""
    return tuple(setting.name for setting in fields(SystemSettings) if setting.init)


def preset_system(preset: str = DEFAULT_PRESET) -> SystemSettings:
    """Return the settings of a preset: `machines` as libraries run collectives, `papers` as ASTRA-sim does.

    Raises
    ------
    InputError
        If there is no preset of that name.
    """
    _check_choice("preset", preset, tuple(PRESETS))
    return merge_system(SystemSettings(), PRESETS[preset])


def merge_system(base: SystemSettings, overrides: Mapping[str, object]) -> SystemSettings:
    """Return settings with some values replaced.

    Parameters
    ----------
    base
        The settings of the topology.
    overrides
        Setting name to value; None keeps the value of `base`.

    Raises
    ------
    InputError
        If a name is unknown or a value is not allowed.
    """
    names = setting_names()
    for name in overrides:
        if name not in names:
            raise InputError(
                "unknown setting", where="system", found=name, allowed=allowed_names(name, names)
            )
    values = {name: getattr(base, name) for name in names}
    values.update({name: value for name, value in overrides.items() if value is not None})
    return SystemSettings(**values)


class Idle(NamedTuple):
    """The reason for which a setting has no effect.

    Attributes
    ----------
    why
        Setting that takes the effect away.
    instead
        Setting that gives it an effect; empty if it has one in part.
    """

    why: str
    instead: str = ""


def idle_settings(system: SystemSettings, names: Iterable[str]) -> dict[str, Idle]:
    """Return the settings without effect on the analytical model, each with the reason.

    Parameters
    ----------
    system
        All settings.
    names
        Names of the settings that were set.
    """
    idle: dict[str, Idle] = {}
    if system.collectives == "nccl":
        meant = ("collectives", "bucket_cap_mb")
        by_nccl = Idle("with collectives=nccl", "network.system.collectives=astra_sim")
        idle = dict.fromkeys((name for name in setting_names() if name not in meant), by_nccl)
    else:
        if system.across_machines != "hierarchical":
            inside = Idle(f"across machines with across_machines={system.across_machines}")
            idle = dict.fromkeys(("collective_algorithm", "collective_optimization"), inside)
        if system.collective_queue == "one":
            queues = "network.system.collective_queue=per_dimension"
            idle["queue_order"] = Idle("with collective_queue=one", queues)
    return {name: idle[name] for name in names if name in idle}


def system_record(system: SystemSettings) -> dict[str, object]:
    """Return the settings as plain values, for cache keys and run folders."""
    return {name: getattr(system, name) for name in setting_names()}
