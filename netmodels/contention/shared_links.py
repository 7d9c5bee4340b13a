"""The interface of a model of links that jobs share."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from netmodels.contention.transfers import JobTraffic, LinkLoad
from netmodels.fabric.links import Link, Slice
from netmodels.profiles.profile import Profile


class SharedLinks(Protocol):
    """Answers for jobs that share the links of one cluster: `netmodels.contention.contention.Contention`."""

    @property
    def capacity(self) -> Mapping[Link, float]:
        """Capacity of every link, byte/ns; inf where no link is shared."""
        ...

    @property
    def answers(self) -> Mapping[str, int]:
        """Number of answers at packet level, at flow level and by the mean field."""
        ...

    def traffic(self, profile: Profile, placement: Sequence[Slice]) -> JobTraffic:
        """Return the traffic of an iteration alone of a job on (rack, machine, machine type, GPUs)."""
        ...

    def load(self, traffic: JobTraffic) -> LinkLoad:
        """Return the load of a job on these links, which are numbered in the order of `capacity`."""
        ...

    def together(
        self,
        jobs: Sequence[JobTraffic],
        shift_ns: Sequence[int] = (),
        *,
        stretch: Sequence[float] = (),
        waiting_ns: Sequence[int] = (),
        joined: bool = False,
    ) -> Sequence[float]:
        """Return the mean time of an iteration of each of some jobs that run together, ns."""
        ...
