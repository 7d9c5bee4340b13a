"""The interface of a model of links that jobs share."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from netmodels.contention.links import Link, Slice
from netmodels.contention.sending import Sender, Sending
from netmodels.profiles.profile import Profile


class SharedLinks(Protocol):
    """Answers for jobs that share the links of one cluster: `netmodels.contention.contention.Contention`."""

    @property
    def capacity(self) -> Mapping[Link, float]:
        """Capacity of every link, byte/ns; inf where no link is shared."""
        ...

    def sending(self, profile: Profile, placement: Sequence[Slice]) -> Sending:
        """Return what a job on (rack, machine, machine type, GPUs) sends in an iteration alone."""
        ...

    def sender(self, job: Sending) -> Sender:
        """Return what a job does to these links, which are numbered in the order of `capacity`."""
        ...

    def together(
        self,
        jobs: Sequence[Sending],
        shift_ns: Sequence[int] = (),
        *,
        stretch: Sequence[float] = (),
        waiting_ns: Sequence[int] = (),
        joined: bool = False,
    ) -> Sequence[float]:
        """Return the mean time of an iteration of each of some jobs that run together, ns."""
        ...
