"""The columns of the job table, each declared once.

The check of the table, the columns that `workload=csv` and `workload=columns` read, and the job specs follow
from FIELDS. A new property of a job is a field of `JobSpec` or `Demand` and one line here; tests then ask for
its line in conf/workload/columns.yaml and in docs/trace_files.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from sys import intern
from typing import Any, Literal, get_args

import numpy as np

from artist.core.job import OnStop
from artist.units import MAX_S

_MAX_GPUS = 1e6
_MAX_BYTES = 2.0**53
_TYPE = r"\s*\w[^|]*"

Unit = Literal["time", "bytes", "share"]
"""What a column counts, if a file may count in another unit: seconds, bytes, a fraction of 1."""


@dataclass(frozen=True, slots=True)
class Text:
    """A column of texts; missing values are "".

    Attributes
    ----------
    name
        Of the column.
    to
        Field of `JobSpec` that gets the value, or `<field>.<field of its record>`; empty if it needs more
        than this column.
    value
        Converts the text to the value of the job.
    required
        True if every row must have it.
    optional
        True if the table has the column only for sources that name it.
    pattern, fault, allowed
        Pattern of a nonempty text, the fault of one that does not match, and the allowed values.
    """

    name: str
    to: str = ""
    value: Callable[[Any], Any] = intern
    required: bool = False
    optional: bool = False
    pattern: str = ""
    fault: str = ""
    allowed: str = ""
    unit: Unit | None = None
    product: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers, int64 if `whole`, else float64; `default` None makes a value mandatory.

    Attributes
    ----------
    name, to, value, optional
        As for `Text`; a column of times becomes nanoseconds.
    least, most, above
        Range; `above` leaves out `least` itself.
    default
        Value for a row without one; NaN for not known (a whole column is then Int64).
    unit
        Unit, if it has one.
    product
        True if `workload=columns` may multiply several columns of a file.
    """

    name: str
    least: float
    most: float
    to: str = ""
    whole: bool = False
    above: bool = False
    default: float | None = None
    value: Callable[[Any], Any] = int
    optional: bool = False
    unit: Unit | None = None
    product: bool = False

    @property
    def required(self) -> bool:
        """True if every row must have it."""
        return self.default is None

    @property
    def allowed(self) -> str:
        """The range in words."""
        number = "a whole number" if self.whole else "a number"
        return f"{number} {'above' if self.above else 'from'} {self.least:g} to {self.most:g}"

    def fault(self, value: float) -> str:
        """Return the fault of an invalid value."""
        if not np.isfinite(value):
            return "is not finite"
        if value < 0:
            return "is negative"
        if value > self.most:
            return "is too large"
        return "is zero" if value == 0 else "is not a whole number"


def _gpus(name: str, default: float | None = 0) -> Number:
    return Number(name, 0, _MAX_GPUS, f"demand.{name}", whole=True, default=default, product=name == "gpus")


def _flag(name: str) -> Number:
    """Return a property of a demand that most traces do not know: 1 or 0, which is the default."""
    return Number(name, 0, 1, f"demand.{name}", whole=True, default=0, value=bool, optional=True)


def _stage(name: str) -> Number:
    """Return the time of an iteration on a resource."""
    to = f"stages.{name.removesuffix('_s')}_ns"
    return Number(name, 0, MAX_S, to, default=np.nan, optional=True, unit="time")


def _delay(change: str) -> Number:
    """Return the job's own delay for a kind of change."""
    to = f"delays_ns.{change}"
    return Number(f"{change}_delay_s", 0, MAX_S, to, default=np.nan, optional=True, unit="time")


def _known(text: str) -> str | None:
    return intern(text) if text else None


def _types(text: str) -> tuple[str, ...]:
    """Return the GPU types of a text such as V100|T4, each once, in their order."""
    return tuple(dict.fromkeys(intern(part.strip()) for part in text.split("|"))) if text.strip() else ()


Field = Text | Number
FIELDS: tuple[Field, ...] = (
    Text("job_id"),  # unique; job-<place in the file> where missing
    Number("submit_s", 0, MAX_S, unit="time"),  # from any origin
    _gpus("gpus", default=None),  # 0 for a CPU-only job, which then needs cpus
    Number("duration_s", 0, MAX_S, above=True, default=np.nan, unit="time"),  # run time without waiting
    Number("iterations", 1, 1e15, whole=True, default=np.nan),
    Number("compute_s", 0, MAX_S, above=True, default=np.nan, unit="time"),  # of an iteration on `gpus` GPUs
    Text("model", "model"),  # name of a network profile
    Text("user", "user"),
    Text("vc", "vc"),
    Number("cpus", 0, 1e7, "demand.cpus", whole=True, default=0, product=True),  # whole job; 0: not known
    Number("memory_bytes", 0, _MAX_BYTES, "demand.memory_bytes",
           whole=True, default=0, unit="bytes", product=True),  # for the whole job; 0: not known
    _gpus("min_gpus"),  # bounds of an elastic job; both 0 if not elastic
    _gpus("max_gpus"),
    Number("gpu_utilization", 0, 1, "gpu_utilization",
           default=1, value=float, unit="share"),  # of compute time in which the GPUs are busy
    Number("guaranteed", 0, 1, "guaranteed", whole=True, default=1, value=bool),  # 0: takes idle GPU time
    *map(_stage, ("storage_s", "cpu_s", "gpu_s", "network_s")),  # of an iteration; all four or none
    Number("step", 1, _MAX_GPUS, "demand.step", whole=True, default=1, optional=True),  # from min_gpus on
    Number("max_machines", 0, 1e6, "demand.max_machines",
           whole=True, default=0, optional=True),  # 0: any number
    *(Number(name, 1, _MAX_GPUS, f"demand.{name}", whole=True, default=1, optional=True)
      for name in ("unit", "segment")),  # of GPUs on a machine and in a rack
    Text("plan", optional=True),  # of a language model's parallelism, such as tp8 pp4
    *(Number(name, 1, 1e9, whole=True, default=np.nan, optional=True)
      for name in ("batch", "sequence")),  # sequences of an iteration; tokens of one
    Text("precision", optional=True),  # of its matrix products
    Text("gpu_types", "demand.gpu_types", _types, optional=True, pattern=rf"{_TYPE}(\|{_TYPE})*",
         fault="is not a list of GPU types", allowed="GPU types such as V100 or V100|T4, or empty for any"),
    _flag("mixed_types"),  # whether one allocation may mix GPU types
    _flag("fungible"),  # whether it takes more of lesser GPUs, fewer of better ones
    Text("measured_on", optional=True),  # GPUs that its times and `gpus` hold for; empty: the source's
    Number("memory_bandwidth_bytes_per_s", 0, _MAX_BYTES, "demand.memory_bandwidth_bytes_per_s",
           default=0, value=round, optional=True, unit="bytes"),  # of the whole job; 0: not known
    Text("on_stop", "on_stop", _known, optional=True, pattern="|".join(get_args(OnStop)),
         fault="is unknown", allowed=f"{', '.join(get_args(OnStop))}, or empty for overheads.on_stop"),
    Number("started_s", 0, MAX_S, "started_ns",
           default=np.nan, optional=True, unit="time"),  # on the site, from the origin of submit_s
    Number("limit_s", 0, MAX_S, "limit_ns", above=True, default=np.nan, optional=True, unit="time"),
    Text("partition", "partition", optional=True),  # Slurm's; empty if not known
    Text("account", "account", optional=True),
    Text("qos", "qos", optional=True),
    Number("priority", -(2.0**31), 2.0**32 - 3, "priority",
           default=np.nan, value=float, optional=True),  # the site's, a higher one first
    Number("nice", -(2.0**31) + 3, 2.0**31 - 3, "nice", whole=True, default=0, optional=True),  # Slurm's
    Number("exclusive", 0, 1, "exclusive",
           whole=True, default=0, value=bool, optional=True),  # 1: alone on its machines
    Number("nodes", 0, 1e6, whole=True, default=np.nan, optional=True),  # machines that it ran on
    Text("reservation", optional=True),
    Text("loop", optional=True),  # of the site's scheduler that started it: SchedMain, SchedBackfill ...
    *map(_delay, ("start", "resume", "restart", "migrate", "resize", "retune")),
)  # fmt: skip

DERIVED = (
    *(Number(name, 0, np.inf, f"demand.{name}", above=True, default=1, value=float)
      for name in ("measured_speed", "measured_worth")),
    *(Number(name, 0, _MAX_GPUS, f"demand.{name}", whole=True, default=0)
      for name in ("pipeline_stages", "replica_gpus")),
)  # fmt: skip
"""Columns that `artist.workload.measured` and `artist.workload.plans` derive from those of the trace."""
TEXTS = tuple(field for field in FIELDS if isinstance(field, Text))
NUMBERS = tuple(field for field in FIELDS if isinstance(field, Number))
COLUMNS = tuple(field.name for field in FIELDS if not field.optional)
"""Columns of every checked table."""
OPTIONAL_COLUMNS = tuple(field.name for field in FIELDS if field.optional)
REQUIRED = tuple(field.name for field in FIELDS if field.required)
STAGE_COLUMNS = tuple(field.name for field in FIELDS if field.to.startswith("stages."))
