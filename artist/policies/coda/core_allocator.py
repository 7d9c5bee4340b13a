"""CPU allocators: the CPUs that a GPU job starts with, and the search from there. For CODA.

A policy takes the name of a shipped allocator, or an allocator of the user's own, which inherits
`CoreAllocator`. None of them knows the needs of a model: they see the owner's declarations, the CPUs of the
owner's finished jobs, and the utilization of the GPUs.

Source: Zhao et al., CODA, ICDCS 2020, section V-B; starts and steps per GPU, and the declarations of the
owners of a model, are chosen here such that the steps are those of Table II.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import PlainValidator

from artist.core.checked import AnswerError
from artist.policies.parts.fill import divided
from artist.policies.parts.parameters import check_part, checked_part

Category = Literal["cv", "nlp", "speech"]
UNKNOWN = 4.0  # CPUs per GPU to start with if nothing is known; ASSUMPTION: the mean of the paper's starts


class GpuJob(NamedTuple):
    """A GPU job as far as an allocator may know it.

    Attributes
    ----------
    job
        Its number.
    user, model
        Its owner, and its model.
    gpus, cpus
        GPUs and CPUs asked for by the whole job; 0 CPUs if it does not say.
    """

    job: int
    user: str
    model: str
    gpus: int
    cpus: int


class Traits(NamedTuple):
    """Declarations of the owners of jobs of a model."""

    category: Category
    pipelined: bool = False
    many_weights: bool = False
    complex_input: bool = False


_IMAGES, _TEXT, _SOUND = Traits("cv"), Traits("nlp"), Traits("speech")
_PREPARED = Traits("nlp", pipelined=True, many_weights=True)
TRAITS: Mapping[str, Traits] = MappingProxyType(  # ASSUMPTION: those not in the paper, by likeness
    {
        **dict.fromkeys(("AlexNet", "VGG16", "InceptionV3", "ResNet50"), _IMAGES),
        **dict.fromkeys(("VGG11", "VGG19", "ResNet18", "MobileNetV2", "MobileNetV3", "ShuffleNet"), _IMAGES),
        **dict.fromkeys(("BAT",), _TEXT),
        **dict.fromkeys(("Transformer", "Transformer-XL", "BERT-large", "GPT-2", "GNMT", "LSTM"), _PREPARED),
        **dict.fromkeys(("Llama-2-7B", "Llama-2-70B"), _PREPARED),
        **dict.fromkeys(("WaveNet", "DeepSpeech", "M5"), _SOUND),
    }  # of A2C and DQN the owners declare nothing
)
STARTS: Mapping[str, int] = MappingProxyType({"cv": 3, "nlp": 5, "speech": 5})  # section V-B


class CpuSearch:
    """CPU search: tries one number of CPUs per step: fewer, then, if that is no better, more, while it helps.

    On one machine numbers are CPUs per GPU; for a job on several machines they are CPUs on each machine.

    Parameters
    ----------
    cpus
        CPUs that the job starts with, at least 1.
    tolerance
        GPU utilization must rise by more than this to count as better.
    max_cpus
        Never tries more; None for any number.

    Attributes
    ----------
    cpus
        CPUs to hold now; at the end the best.
    best
        The best so far.
    steps
        Numbers measured so far.
    """

    def __init__(self, cpus: int, *, tolerance: float = 0.002, max_cpus: int | None = None) -> None:
        self.cpus = self.best = self._start = cpus
        self.steps = 0
        self._tolerance, self._max_cpus = tolerance, inf if max_cpus is None else max_cpus
        self._max_seen = 0.0
        self._grows = False

    def next(self, utilization: float, may_grow: Callable[[int], bool]) -> int | None:
        """Return the CPUs to try next; None at the end, then hold `cpus`.

        Parameters
        ----------
        utilization
            Of the job's GPUs at the end of the step, 0 to 1.
        may_grow
            Whether the job can have a number of CPUs now; asked only about more than it holds.
        """
        self.steps += 1
        better = self.steps == 1 or utilization > self._max_seen + self._tolerance
        if better:
            self.best, self._max_seen = self.cpus, utilization
        if not self._grows and not (better and self.best > 1):
            self._grows, better = True, self.best == self._start
        tried = self.best + (1 if self._grows else -1)
        if better and (not self._grows or (tried <= self._max_cpus and may_grow(tried))):
            self.cpus = tried
            return tried
        self._end(may_grow)
        return None

    def _end(self, may_grow: Callable[[int], bool]) -> None:
        """Set the best number, or the largest below it that is free."""
        if self.best > self.cpus:
            self.cpus = next((n for n in range(self.best, self.cpus, -1) if may_grow(n)), self.cpus)
        else:
            self.cpus = self.best


class CoreAllocator(ABC):
    """Determines the CPUs of GPU jobs; `start` is all that a user's own allocator must define."""

    @abstractmethod
    def start(self, job: GpuJob) -> float:
        """Return the CPUs per GPU that a job starts with; more than any machine has means all of its CPUs.

        A job without a search waits for exactly these; if the cluster could never give them, the run ends.
        """

    def on_machines(self, cpus: float, gpus: Sequence[int]) -> list[int]:
        """Return the CPUs on each machine, from those of `start` or a search and the GPUs on each machine."""
        total = round(cpus * sum(gpus))
        return [total] if len(gpus) == 1 else divided(total, gpus)

    def search(self, job: GpuJob, cpus: float, machines: int) -> CpuSearch | None:
        """Return the search of a job that starts with `cpus`; None if it keeps them."""
        return None

    def finished(self, job: GpuJob, cpus: float, machines: int) -> None:
        """Record the best CPUs of a finished job."""
        return


class Requested(CoreAllocator):
    """The CPUs that the job asks for, as long as it runs; 4 per GPU if it does not say."""

    def start(self, job: GpuJob) -> float:
        """Return the CPUs per GPU that a job asks for."""
        return job.cpus / job.gpus if job.cpus else UNKNOWN


class TunedCores(CoreAllocator):
    """A start from the owner's history or the category of the model; then a search.

    The start is the most CPUs per GPU of the owner's finished jobs of the same category. Without such jobs it
    is that of the category, one less if input is pipelined, one less with many weights, one more if input is
    complex to prepare. If the category is not known, the owner's history in any category counts.

    A job on several machines has at most `max_across` CPUs on each, however many GPUs it has there (section
    IV-B), and does not enter history: its CPUs there are not per GPU.
    """

    def __init__(
        self,
        tolerance: float = 0.002,
        max_across: int = 2,
        starts: Mapping[str, int] = STARTS,
        traits: Mapping[str, Traits] = TRAITS,
    ) -> None:
        self._tolerance, self._max_across = tolerance, max_across
        self._starts, self._traits = starts, traits
        self._history: dict[tuple[str, str | None], float] = {}  # by owner and category, None for any

    def start(self, job: GpuJob) -> float:
        """Return the CPUs per GPU that a job starts with."""
        traits = self._traits.get(job.model)
        known = self._history.get((job.user, traits.category if traits else None))
        if known is not None or traits is None:
            return UNKNOWN if known is None else known
        less = traits.pipelined + traits.many_weights - traits.complex_input
        return max(1, self._starts[traits.category] - less)

    def on_machines(self, cpus: float, gpus: Sequence[int]) -> list[int]:
        """Return the CPUs on each machine, from those of `start` or a search and the GPUs on each machine."""
        if len(gpus) > 1:
            return [min(round(cpus), self._max_across)] * len(gpus)
        return super().on_machines(cpus, gpus)

    def search(self, job: GpuJob, cpus: float, machines: int) -> CpuSearch:
        """Return the search of a job that starts with `cpus`."""
        max_cpus = self._max_across if machines > 1 else None
        start = round(cpus) if max_cpus is None else min(round(cpus), max_cpus)
        return CpuSearch(max(1, start), tolerance=self._tolerance, max_cpus=max_cpus)

    def finished(self, job: GpuJob, cpus: float, machines: int) -> None:
        """Record the best CPUs of a finished job."""
        if machines > 1:
            return
        traits = self._traits.get(job.model)
        for category in (None, traits.category) if traits else (None,):
            key = job.user, category
            self._history[key] = max(cpus, self._history.get(key, 0.0))


def _checked_start(cpus: object, job: GpuJob) -> float:
    if not isinstance(cpus, int | float | np.number) or not 0 <= cpus < inf:
        raise AnswerError(repr(cpus), "must be a number of at least 0")
    return float(cpus)


def _checked_search(search: object, job: GpuJob, cpus: float, machines: int) -> object:
    if search is not None and (isinstance(search, type) or not callable(getattr(search, "next", None))):
        raise AnswerError(repr(search), "must be a CpuSearch or None")
    return search


def _checked_on_machines(cpus: Any, per_gpu: float, gpus: Sequence[int]) -> list[int]:
    whole = isinstance(cpus, list) and all(isinstance(n, int | np.integer) and n >= 0 for n in cpus)
    if not whole or len(cpus) != len(gpus):
        raise AnswerError(repr(cpus), f"must be a list of CPUs on each of {len(gpus)} machines")
    return [int(n) for n in cpus]


ALLOCATORS: Mapping[str, Callable[[], CoreAllocator]] = {"tuned": TunedCores, "requested": Requested}
AnyAllocator = Annotated[
    str | CoreAllocator,
    PlainValidator(lambda value: check_part(value, ALLOCATORS, "start", CoreAllocator)),
]


def allocator_of(allocator: str | CoreAllocator) -> CoreAllocator:
    """Return a shipped allocator by name, new for each run; one of the user's own checked."""
    if isinstance(allocator, str):
        return ALLOCATORS[allocator]()
    return checked_part(
        allocator, "allocator", start=_checked_start, search=_checked_search, on_machines=_checked_on_machines
    )
