"""Loans: machines of the inference pool that training may use, and their return. For Lyra.

In plain words: of the N machines of the inference pool, those on loan included, inference keeps the machines
that it uses now or will use in the next step, whichever are more, and a headroom; the others are loaned:

    loanable = floor(N x (1 - max(use now, predicted use) - headroom))

If more can be loaned than is, the machines with the lowest numbers are. If less, exactly the excess is
returned:

1. machines without jobs;
2. machines with flexible workers only, those with the fewest such GPUs first: their jobs shrink;
3. machines that `artist.policies.lyra.reclaiming` chooses of the others: jobs with base workers there are
   preempted.

Loaned machines that are absent or take no new work stay where they are. Until the last sample the policy is
called at each step, even when there is no job.

With the oracle inference is never short unless machines fail: from one sample to the next it uses no more
than the larger of the two, and the policy is called at each sample, so the times of samples must be multiples
of `interval_s` (`artist.run.followed` refuses others). An interval longer than the time between samples would
need more than the one sample that `inference.next` looks ahead.

Source: Li et al., Lyra, EuroSys 2023, sections 4, 5.3 and 7.1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor

import numpy as np

from artist.core.buckets import members_of, set_of
from artist.core.cluster import Cluster, Machine
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView, Signal
from artist.policies.lyra.predictors import USE, Predictor, share_now
from artist.policies.lyra.reclaiming import Loaned, Reclaim, stopped
from artist.policies.lyra.workers import Workers
from artist.units import seconds_to_ns

TRAINING = "training"
INFERENCE = "inference"
ON_LOAN = "on_loan"
_ROUNDING = 1e-9


class Orchestrator:
    """Moves machines between the inference pool and those on loan.

    Parameters
    ----------
    predictor
        Of the use of the inference machines in the next step.
    reclaim
        Chooses machines where jobs must be preempted.
    headroom
        Share of the machines that is never loaned.
    interval_s
        Length of a step: machines move at its multiples.
    """

    def __init__(self, predictor: Predictor, reclaim: Reclaim, headroom: float, interval_s: float) -> None:
        self._predictor = predictor
        self._reclaim = reclaim
        self._headroom = headroom
        self._step_ns = seconds_to_ns(interval_s)

    def follows(self, cluster: Cluster) -> Sequence[str]:
        """Return the names of the series that are needed on a cluster: none without an inference pool."""
        lends = any(machine.pool in (INFERENCE, ON_LOAN) for machine in cluster.machines)
        return (USE, *getattr(self._predictor, "follows", ())) if lends else ()

    def act(self, view: ClusterView, plan: PlanBuilder, workers: Workers) -> None:
        """Plan loans or returns; `workers` then counts the jobs preempted for it as stopped."""
        if view.now_ns % self._step_ns:
            return
        inference, on_loan = view.in_pool(INFERENCE), view.in_pool(ON_LOAN)
        machines = inference | on_loan
        if not machines:
            return
        if not view.signals[USE].ended(view.now_ns):
            plan.wake_at(view.now_ns + self._step_ns)
        there = set_of(np.flatnonzero(view.accepts).tolist())
        loaned = on_loan & there
        spare = (machines & there).bit_count() - self.kept(view, machines.bit_count())
        more = max(spare, 0) - loaned.bit_count()
        if more > 0:
            _assign(plan, members_of(inference & there)[:more], ON_LOAN)
        elif more < 0:
            self._take_back(-more, loaned, plan, workers)

    def lent(self, machines: Sequence[Machine], signals: Mapping[str, Signal]) -> list[Machine]:
        """Return the machines of the inference pool that are on loan when it uses least, the largest."""
        theirs = [machine for machine in machines if machine.pool in (INFERENCE, ON_LOAN)]
        largest = sorted(theirs, key=lambda machine: -machine.gpus)
        least = float(signals[USE].up_to(2**62)[1].min(initial=1.0)) if theirs else 1.0
        return largest[: self._loanable(len(theirs), least)]

    def kept(self, view: ClusterView, machines: int) -> int:
        """Return the number of its machines that inference keeps."""
        use = max(share_now(view, USE), self._predictor.next_use(view))
        return machines - self._loanable(machines, use)

    def _loanable(self, machines: int, use: float) -> int:
        return max(0, floor(machines * (1 - use - self._headroom) + _ROUNDING))

    def _take_back(self, n: int, loaned: int, plan: PlanBuilder, workers: Workers) -> None:
        """Return `n` of the loaned machines, preempting jobs where these must be cleared."""
        without = list(_without_base(n, loaned, workers))
        _assign(plan, without, INFERENCE)
        if len(without) == n:
            return
        left = described(loaned, workers)
        picked = self._reclaim.pick(n - len(without), left)
        for job in stopped(left, picked):
            workers.preempt(job)
        for machine in picked:
            workers.vacate(machine)
        _assign(plan, picked, INFERENCE)


def described(loaned: int, workers: Workers) -> Loaned:
    """Return those of a set of machines that have base workers, and the jobs of these workers."""
    machines = members_of(loaned & workers.with_base)
    jobs = sorted({job for machine in machines for job in workers.base_on(machine)})
    return Loaned(machines, {job: workers.jobs[job].base for job in jobs})


def _without_base(n: int, loaned: int, workers: Workers) -> Iterator[int]:
    """Vacate up to `n` machines without base workers, the one with the fewest flexible GPUs first."""
    without = loaned & ~workers.with_base
    idle = members_of(without & ~workers.with_flexible)[:n]
    yield from idle
    left = members_of(without & workers.with_flexible)
    for _ in range(min(n - len(idle), len(left))):
        machine = min(left, key=lambda machine: (sum(workers.flexible_on(machine).values()), machine))
        left.remove(machine)
        workers.vacate(machine)
        yield machine


def _assign(plan: PlanBuilder, machines: Iterable[int], pool: str) -> None:
    for machine in machines:
        plan.assign(machine, pool)
