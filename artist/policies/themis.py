"""Themis: finish-time fairness; whoever is worst off bids for GPUs, which are leased.

In plain words: a job's finish-time fairness is the time from its arrival to its finish in the shared cluster,
over the time it would take alone on a fair share of it:

    rho = (waited and run so far + rest of the work) / (whole work x max(1, GPUs asked x N / GPUs there))

with N the number of unfinished jobs, averaged over the job's stay. A job whose demand exceeds its share 1/N
would have to run in turns. GPUs are leased to the next multiple of `lease_s`; then all go up for auction,
and those that come free in between at once. A share 1 - `fairness_knob` of the jobs without a lease, those
with the highest rho, may bid. A job's bid is for all that it asks for: with it it values the outcome
1 / rho, without it 1 / (rho if it waits for another lease); the auction lets those win who make the product
of all valuations largest (`artist.policies.parts.auction`). What is left goes to the others, worst off first.
Who loses the auction is stopped; who wins it again stays where it is.

The rest of the work counts at the measured iteration time where a job runs, so that a bad placement makes
it worse off; where it waits, and for the time alone, at that of its GPUs close together.

Paper: Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020, sections 3 (finish-time
fairness), 4 and 5 (partial allocation auctions). Baseline of Muri, section 6.1.

Differs from the paper:

- An app is one job and gets what it asks for or nothing: a bid has one row, and the auction is a knapsack.
- No hidden payments, which make honesty pay: valuations are computed here, and nobody can lie.
- A job that gets nothing is not worth 0 to itself, or no product would tell outcomes apart: it can bid again.
- Leases end together, or a job of many GPUs would never find enough of them on offer at once.
- What is left goes to the worst off; there by chance, to jobs that are near.
- What is left of the work is known; there each app estimates it from its training curves.
"""

import numpy as np
import numpy.typing as npt
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.events import Arrival, Finish
from artist.core.plan import Plan
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.auction import winners
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser
from artist.policies.parts.placer import placer_of
from artist.policies.parts.preemption import run_first, waiting_after
from artist.units import seconds_to_ns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(config=STRICT)
class Themis:
    """Partial auctions among those that are worst off."""

    on_events = True
    knows_iterations = True
    knows_performance = True

    lease_s: float = Field(default=600, ge=0.001, le=4e9)
    fairness_knob: float = Field(default=0.8, ge=0, lt=1)
    placement: AnyChooser = "consolidate"
    fill: AnyFill = "proportional"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._lease_ns = seconds_to_ns(self.lease_s)
        self._placer = placer_of(self.placement, self.fill, self.seed)
        self._crowd = Crowd()
        self._alone_ns: dict[int, int] = {}  # believed iteration time with the GPUs close together, by job
        self._auctioned_ns = -1  # when all GPUs were last on offer

    def decide(self, view: ClusterView) -> Plan:
        """Hold an auction if somebody waits and there is something to win."""
        self._follow(view)
        plan = view.plan()
        if not view.n_waiting:
            return plan.done()
        now = view.now_ns
        leases_end = now % self._lease_ns == 0 and now != self._auctioned_ns
        if leases_end:
            self._auctioned_ns = now
        if leases_end or int(view.waiting.least_gpus.min()) <= view.free_gpus:

            def rank(jobs: JobColumns) -> Ints:
                leased = np.zeros(len(jobs), dtype=np.bool_) if leases_end else jobs.running
                return self._rank(view, jobs, leased)

            run_first(view, plan, rank, lambda job: self._placer, skip=True)
        if waiting_after(view, plan):
            plan.wake_at((now // self._lease_ns + 1) * self._lease_ns)
        return plan.done()

    def _follow(self, view: ClusterView) -> None:
        """Take note of who came and went."""
        self._crowd.count(len(view.jobs), view.now_ns)
        for event in view.news:
            if isinstance(event, Arrival):
                self._crowd.enter(event.job)
                self._alone_ns[event.job] = _alone_ns(view, event.job)
            elif isinstance(event, Finish):
                self._crowd.leave(event.job)
                del self._alone_ns[event.job]

    def _rank(self, view: ClusterView, jobs: JobColumns, leased: Bools) -> Ints:
        """Rank jobs that have a lease, then winners, then the others, worst off first."""
        rest = np.flatnonzero(~leased)
        stay_ns = self._stay_ns(jobs, view.now_ns)
        rho = stay_ns / self._share_ns(view, jobs)
        rest = rest[np.argsort(-rho[rest], kind="stable")]
        bidders = rest[: max(1, round(len(rest) * (1 - self.fairness_knob)))]
        gains = np.log1p(self._lease_ns / stay_ns[bidders])
        offered = view.free_gpus + int(jobs.held_gpus[rest].sum())
        won = winners(gains, jobs.gpus[bidders], offered)
        losers = np.concatenate((bidders[~won], rest[len(bidders) :]))
        return np.concatenate((np.flatnonzero(leased), bidders[won], losers))

    def _stay_ns(self, jobs: JobColumns, now: int) -> Floats:
        """Return the time from arrival to finish if each job ran on from now, shape (n,)."""
        iteration = np.where(jobs.running, jobs.observed_iteration_ns, self._alone(jobs))
        return (now - jobs.submit_ns) + jobs.iterations_left.astype(np.float64) * iteration

    def _share_ns(self, view: ClusterView, jobs: JobColumns) -> Floats:
        """Return the time of the whole of each job alone on a fair share of the GPUs, shape (n,)."""
        there = max(1, int(view.cluster.gpus[view.accepts].sum()))
        in_turns = np.maximum(1.0, jobs.gpus * self._crowd.mean(jobs, view.now_ns) / there)
        return jobs.iterations.astype(np.float64) * self._alone(jobs) * in_turns

    def _alone(self, jobs: JobColumns) -> Ints:
        return np.array([self._alone_ns[job] for job in jobs.job.tolist()], dtype=np.int64)


class Crowd:
    """How many jobs were unfinished during each job's stay, on average over time."""

    def __init__(self) -> None:
        self._jobs = 0
        self._since_ns = 0
        self._job_ns = 0  # integral of the number of unfinished jobs
        self._at_entry: dict[int, int] = {}  # that integral at each job's arrival

    def count(self, jobs: int, now: int) -> None:
        """Take note of how many there are from now on."""
        self._job_ns += self._jobs * (now - self._since_ns)
        self._jobs, self._since_ns = jobs, now

    def enter(self, job: int) -> None:
        """Begin a job's stay."""
        self._at_entry[job] = self._job_ns

    def leave(self, job: int) -> None:
        """End a job's stay."""
        del self._at_entry[job]

    def mean(self, jobs: JobColumns, now: int) -> Floats:
        """Return the mean number of unfinished jobs during each job's stay, shape (n,)."""
        entries = np.array([self._at_entry[job] for job in jobs.job.tolist()], dtype=np.int64)
        stay = now - jobs.submit_ns
        mean: Floats = np.divide(
            self._job_ns - entries, stay, out=np.full(len(stay), float(self._jobs)), where=stay > 0
        )
        return mean


def _alone_ns(view: ClusterView, job: int) -> int:
    """Return the believed iteration time of a job on GPUs close together; of a CPU-only job, its own."""
    column = view.columns([job])
    gpus = min(int(column.gpus[0]), int(view.cluster.gpus.sum()))
    return int(view.performance.at_gpus(job, [gpus])[0]) if gpus else int(column.compute_ns[0])
