"""The time of one iteration, and its sending periods."""

from collections.abc import Callable
from dataclasses import dataclass

from netmodels.fabric.shape import Tier


@dataclass(frozen=True, slots=True)
class Span:
    """A sending period within one iteration.

    Parameters
    ----------
    start_ns, end_ns
        From the start of the iteration.
    tier
        The tier whose links carry it: machine, rack or network.
    bytes
        Bytes that each GPU sends.
    """

    start_ns: int
    end_ns: int
    tier: Tier
    bytes: int


class IterationTime:
    """The time of one iteration and its parts; frozen.

    Parameters
    ----------
    compute_ns
        Compute time of the profile, for any shape.
    comm_ns
        Time during which data is sent; the union, so overlapping collectives count once.
    exposed_ns
        Waiting for communication that no compute hides: the iteration takes compute_ns + exposed_ns. At most
        comm_ns, unless a profile has update delays.
    tiers
        (tier, time during which that tier carries data) for each tier in use, innermost first.
    spans
        The sending periods by start; adjacent periods of one tier are joined.
    details
        Instead of the last two, a function that computes them when they are read: few callers read them, and
        they take longer than everything else.
    """

    __slots__ = ("_details", "_spans", "_tiers", "comm_ns", "compute_ns", "exposed_ns")

    def __init__(
        self,
        compute_ns: int,
        comm_ns: int,
        exposed_ns: int,
        tiers: tuple[tuple[Tier, int], ...] = (),
        spans: tuple[Span, ...] = (),
        *,
        details: "Callable[[], IterationTime] | None" = None,
    ) -> None:
        self.compute_ns = compute_ns
        self.comm_ns = comm_ns
        self.exposed_ns = exposed_ns
        self._tiers = tiers
        self._spans = spans
        self._details = details

    @property
    def tiers(self) -> tuple[tuple[Tier, int], ...]:
        """(tier, time during which that tier carries data) for each tier in use, innermost first."""
        self._complete()
        return self._tiers

    @property
    def spans(self) -> tuple[Span, ...]:
        """The sending periods by start."""
        self._complete()
        return self._spans

    def _complete(self) -> None:
        if self._details is not None:
            answer, self._details = self._details(), None
            self._tiers, self._spans = answer.tiers, answer.spans

    @property
    def total_ns(self) -> int:
        """The time of the iteration."""
        return self.compute_ns + self.exposed_ns

    def _key(self) -> tuple[object, ...]:
        return self.compute_ns, self.comm_ns, self.exposed_ns, self.tiers, self.spans

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IterationTime) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = ("compute_ns", "comm_ns", "exposed_ns", "tiers")
        return f"IterationTime({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
