"""Themis as in Gavel: shares of time that minimise the worst finish-time fairness, in rounds.

In plain words: the finish-time fairness rho of a job is its time from arrival to finish in the shared cluster
over that in its isolated share, 1/N of the GPUs with N the number of unfinished jobs. Whenever a job arrives
or finishes, each job is given the share of the time that makes the largest rho as small as possible
(`artist.policies.themis.fair_shares`); with a share x

    rho = (time since arrival + rest of the work / x) / (isolated time so far + rest of the work in isolation)

where a job is isolated for iterations done x iteration time / (part of the time that 1/N of the GPUs is for
it), with N at that time; iterations that a failure undoes no longer count. Every `interval_s` the jobs run
that have received least of their share: jobs are ranked by share / rounds received, those that received none
first, and the first that together fit the cluster run; no job is stopped for one that only waits for fewer
machines. With `on_events` decisions are not rounds of equal
length, so the time held stands for the rounds.

Source: Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads (Gavel),
OSDI 2020, section 4 (finish-time fairness) and 5 (rounds); its baseline is Themis (NSDI 2020).

Differs from Gavel:

- GPUs of one type: shares are of the time on any GPUs, so no program has to be solved.
- Rounds received count from a job's arrival; in Gavel from the last change of the shares.
- Among equal priorities the job that arrived first comes first. In the program of Muri's authors it is the
  one that rounding in the solver puts first, another one at each decision. With all jobs at once and
  `on_events`, where many are equal, this alone moves the mean completion time: on its trace 1 it is 8.3
  million s here, 4.0 with noise of 1e-7 on the shares, and 3.4 there; on its trace 3 4.0 here and 4.1 there
  with exact shares. In rounds it does not: 1.3 million s on trace 3, with noise or without.
- Running jobs stay where they are; the program of Muri's authors places all of them again.
"""

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats
from artist.core.events import Arrival, Finish
from artist.core.plan import Plan
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.alone import Alone
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import placer_of
from artist.policies.parts.preemption import in_order, run_first
from artist.policies.parts.units import Align
from artist.policies.themis.fair_shares import fair_shares
from artist.units import NS_PER_S

_NONE_YET = 1e-9  # rounds, or s; jobs that received less come first


@dataclass(config=STRICT)
class ThemisGavel:
    """Rounds by max-min shares of finish-time fairness."""

    knows_iterations = True
    knows_performance = True

    on_events: bool = False
    interval_s: float | None = Field(default=360, ge=0.001, le=4e9)
    placement: AnyChooser = "consolidate_machine"
    split: Split = "packed"
    align: Align = "none"
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        self._anywhere = placer_of("best_fit", self.fill, split=self.split, align=self.align)
        self._alone = Alone()
        self._shares: dict[int, float] = {}  # by job, like the dictionaries below
        self._rounds: dict[int, int] = {}
        self._isolated = Isolated()

    def decide(self, view: ClusterView) -> Plan:
        """Divide the time if jobs arrived or finished; run the jobs that received least of their share."""
        plan = view.plan()
        changed = self._follow(view)
        if changed and view.jobs.gpus.any():
            self._share(view, view.columns(view.jobs.job[view.jobs.gpus > 0].tolist()))
        if view.n_waiting:
            ranked = self._ranked(view.jobs)
            order, wider = in_order(ranked), self._anywhere
            run_first(view, plan, order, lambda job: self._placer, backfill=True, lenient=wider)
        return plan.done()

    def _follow(self, view: ClusterView) -> bool:
        """Track arrivals, finishes and rounds; return whether there were arrivals or finishes."""
        if not self.on_events:
            for job in view.jobs.job[view.jobs.running].tolist():
                self._rounds[job] += 1
        self._alone.follow(view)
        changed = False
        for event in view.news:
            if isinstance(event, Arrival):
                self._rounds[event.job] = 0
                changed = True
            elif isinstance(event, Finish):
                self._isolated.leave(event.job)
                del self._rounds[event.job]
                self._shares.pop(event.job, None)
                changed = True
        return changed

    def _share(self, view: ClusterView, jobs: JobColumns) -> None:
        """Set the shares of time of jobs, all of which ask for GPUs."""
        there = jobs.capacity.gpus
        gpus = np.minimum(jobs.gpus, there).astype(np.float64)
        iteration_s = self._alone.iteration_ns(jobs) / NS_PER_S
        left = jobs.iterations_left.astype(np.float64)
        speed = self.isolated_speed(there / len(jobs), gpus, iteration_s)
        isolated = self._isolated.until_finish(jobs.job.tolist(), left, speed)
        stayed_s = (view.now_ns - jobs.submit_ns) / NS_PER_S
        shares = fair_shares(stayed_s, left * iteration_s, isolated, gpus, there)
        self._shares = dict(zip(jobs.job.tolist(), shares.tolist(), strict=True))

    def isolated_speed(self, part: float, gpus: Floats, iteration_s: Floats) -> Floats:
        """Return iterations per second of jobs alone on their equal part of the GPUs, shape (n_jobs,)."""
        speed: Floats = np.minimum(1.0, part / gpus) / iteration_s
        return speed

    def _ranked(self, jobs: JobColumns) -> list[int]:
        """Return the jobs in ascending order of the part of their share that they received."""
        numbers = jobs.job.tolist()
        received = jobs.held_ns / NS_PER_S if self.on_events else np.array([self._rounds[j] for j in numbers])
        shares = np.array([self._shares.get(job, 1.0) for job in numbers])
        by_priority = np.argsort(-shares / np.maximum(received, _NONE_YET), kind="stable")
        return [numbers[row] for row in by_priority.tolist()]


class Isolated:
    """Time that each job would have taken so far in its isolated share, which changes with their number.

    Only iterations that still count: if some are lost, the time is cut in the same proportion.
    """

    def __init__(self) -> None:
        self._so_far: dict[int, float] = {}
        self._asked: dict[int, float] = {}  # iterations left at the first call, before the job ever ran
        self._last: dict[int, tuple[float, float]] = {}  # iterations left and isolated speed, last time

    def until_finish(self, jobs: list[int], left: Floats, speed: Floats) -> Floats:
        """Return the isolated time from arrival to finish, and count the progress since the last call."""
        for job, left_now, speed_now in zip(jobs, left.tolist(), speed.tolist(), strict=True):
            left_then, speed_then = self._last.get(job, (left_now, speed_now))
            if left_now <= left_then:
                self._so_far[job] = self._so_far.get(job, 0.0) + (left_then - left_now) / speed_then
            else:
                asked = self._asked[job]
                self._so_far[job] *= (asked - left_now) / (asked - left_then)
            self._asked.setdefault(job, left_now)
            self._last[job] = left_now, speed_now
        so_far = np.array([self._so_far[job] for job in jobs])
        return so_far + left / speed

    def leave(self, job: int) -> None:
        """Forget a job."""
        for of_job in (self._so_far, self._asked, self._last):
            of_job.pop(job, None)
