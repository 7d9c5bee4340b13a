"""Conformance suite of schedulers: tests to inherit, whatever the rule.

A policy outside this repository gets the suite in three lines; pytest collects the inherited tests:

    from artist.testing.conformance import PolicyConformance

    class TestMine(PolicyConformance):
        def make_policy(self) -> Policy:
            return Mine(threshold_s=60)

`make_policy` must return a new policy at every call, at the pace of the suite: its jobs last some seconds
(iterations up to one, delays up to two), so leases and timers of hours would never be tested, and leases
shorter than a delay and an iteration would stop all progress. Class flags list unsupported features;
`make_performance` may be overridden for one that needs more than iteration times by number of GPUs.

Every run recounts all resources at every instant and audits all accounts at its end
(`artist.testing.tiny.run_checked`), and the engine refuses plans that cannot be carried out and looks
at columns that the policy did not declare to know. So a run that ends is itself a test.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Event, Start
from artist.core.job import Demand, JobSpec
from artist.core.result import RunResult
from artist.core.view import Policy, Signal
from artist.engine.admission import misfit
from artist.engine.overheads import Overheads
from artist.performance.api import Performance
from artist.performance.estimates import Noise, WrongFraction
from artist.testing.tiny import PlainPerformance, job, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


class PolicyConformance:
    """Inherit, define `make_policy`, and pytest runs the suite.

    Attributes
    ----------
    runs_cpu_jobs
        False for a policy of GPU jobs only.
    runs_mixed_clusters
        False for a policy that cannot place jobs on clusters of several GPU types.
    signals
        The signals that the policy follows, by name, in every run.
    seeds
        Seeds of the generated workloads that every job must finish in.
    """

    runs_cpu_jobs: bool = True
    runs_mixed_clusters: bool = True
    signals: Mapping[str, Signal] = MappingProxyType({})
    seeds: Sequence[int] = range(4)

    def make_policy(self) -> Policy:
        """Return a new policy."""
        raise NotImplementedError("define make_policy() to return a new policy")

    def make_performance(self) -> Performance:
        """Return the source of iteration times; by default they depend only on the number of GPUs."""
        return PlainPerformance()

    # --- it ends, and all accounts are right

    def test_finishes_every_job(self) -> None:
        """A scheduler that forgets a job, or runs one forever, is useless."""
        for seed in self.seeds:
            self._all_finish(generated_jobs(seed), _cluster())

    def test_finishes_every_job_that_stops_cost(self) -> None:
        """Delays and lost work must not make a scheduler starve a job forever."""
        costs = Overheads(start_s=0.5, resume_s=1, restart_s=2, migrate_s=1, resize_s=1, retune_s=0.25)
        for seed in self.seeds:
            self._all_finish(generated_jobs(seed), _cluster(), overheads=costs)

    def test_finishes_jobs_of_one_instant(self) -> None:
        """Many jobs at one instant are one decision, and ties must not confuse it."""
        jobs = [replace(spec, submit_ns=0) for spec in generated_jobs(5)]
        self._all_finish(jobs, _cluster())

    def test_finishes_jobs_as_large_as_the_cluster(self) -> None:
        """A job that needs every GPU gets them once the others are done, or by making them wait."""
        cluster = tiny_cluster(2, 2)
        jobs = [job("all", 4, 5, 1), *(job(f"one{i}", 1, 3, i / 2) for i in range(8)), job("all2", 4, 2, 2)]
        self._all_finish(jobs, cluster)

    def test_finishes_cpu_jobs_among_gpu_jobs(self) -> None:
        """CPU-only jobs hold CPUs and no GPUs; they must neither vanish nor block the GPUs."""
        if self.runs_cpu_jobs:
            for seed in self.seeds:
                jobs = generated_jobs(seed, cpu_jobs=True)
                self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2, cpus=8, memory_bytes=1 << 30))

    def test_finishes_jobs_of_several_gpu_types(self) -> None:
        """GPUs of the wrong type are no room for a job that may not use them."""
        if self.runs_mixed_clusters:
            for seed in self.seeds:
                self._all_finish(typed_jobs(seed), mixed_cluster())

    def test_keeps_units_and_segments(self) -> None:
        """A part of a unit on a machine, or of a segment in a rack, is refused by the check of plans.

        On machines of 4 GPUs, and of 6, where units of 4 leave some over.
        """
        segments = getattr(self.make_policy(), "keeps_segments", True)
        for seed in self.seeds:
            cluster = tiny_cluster(4, (4, 6)[seed % 2], per_rack=2)
            self._all_finish(jobs_in_units(seed, cluster, segments=segments), cluster)

    # --- permitted inputs

    def test_same_inputs_give_the_same_events(self) -> None:
        """A run that cannot be repeated cannot be trusted."""
        jobs = generated_jobs(0)
        first, second = (self._run(jobs, _cluster())[1] for _ in range(2))
        assert first == second

    def test_names_and_order_of_jobs_do_not_matter(self) -> None:
        """Jobs are distinguished by their arrival; their names and their order in the file mean nothing."""
        jobs = generated_jobs(1)  # all submit times differ
        renamed = [replace(spec, job_id=f"x{crc32(spec.job_id.encode())}") for spec in reversed(jobs)]
        assert self._run(jobs, _cluster())[1] == self._run(renamed, _cluster())[1]

    def test_uses_no_global_chance_and_no_clock(self) -> None:
        """Random numbers are from the policy's own seeded generator, times from the view."""
        before = random.getstate(), repr(np.random.get_state())
        with _no_hidden_inputs():
            self._run(generated_jobs(2), _cluster())
        assert (random.getstate(), repr(np.random.get_state())) == before

    def test_does_not_look_ahead(self) -> None:
        """Events before an instant do not depend on the jobs that arrive after it."""
        jobs = generated_jobs(3)
        until = jobs[len(jobs) // 2].submit_ns
        early = [spec for spec in jobs if spec.submit_ns < until]
        whole, part = (self._run(some, _cluster())[1] for some in (jobs, early))
        assert _before(whole, until) == _before(part, until)

    def test_looks_at_durations_only_if_declared(self) -> None:
        """A policy that declares no knowledge acts the same however long its jobs still have to run.

        Jobs that are unfinished at a third of the run get one to seven times their iterations: nothing
        before then may change.
        """
        if self._knows("durations") or self._knows("iterations") or self._knows("performance"):
            return
        for seed in self.seeds:
            jobs = generated_jobs(seed)
            result, events = self._run(jobs, _cluster())
            until = result.end_ns // 3
            finish = zip(result.jobs, result.columns["finish_ns"].tolist(), strict=True)
            late = [spec for spec, at in finish if at >= until]
            longer = {
                s.job_id: replace(s, iterations=s.iterations * (1 + 3 * i % 7)) for i, s in enumerate(late)
            }
            changed = [longer.get(spec.job_id, spec) for spec in jobs]
            assert _before(events, until) == _before(self._run(changed, _cluster())[1], until)

    def test_wrong_estimates_do_no_harm(self) -> None:
        """Wrong beliefs may cost time but no job; a policy that declares no knowledge never sees them."""
        for seed, estimates in ((0, Noise(level=0.9, seed=1)), (1, WrongFraction(fraction=0.5, error=0.9))):
            jobs = generated_jobs(seed)
            _, events = self._all_finish(jobs, _cluster(), estimates=estimates)
            if not self._knows("durations") and not self._knows("performance"):
                assert events == self._run(jobs, _cluster())[1]

    # --- room is used

    def test_lone_job_starts_at_once(self) -> None:
        """With an empty cluster there is nothing to wait for except the policy's own time grid."""
        for gpus, name in ((1, ""), (2, "skewed"), (4, ""), (8, "skewed"), (12, "")):
            lone = replace(job("lone", gpus, 20, at=7), model=name)
            _, events = self._run([lone], _cluster())
            assert _first_start(events) == self._next_call(lone.submit_ns), f"{gpus} GPUs"

    def test_lone_cpu_job_starts_at_once(self) -> None:
        """A job without GPUs needs no GPU to be free."""
        if self.runs_cpu_jobs:
            cluster = tiny_cluster(2, 2, cpus=4)
            filling = [job(f"full{i}", 2, 100) for i in range(2)]
            lone = cpu_job("cpu", 1, 20, at=7)
            _, events = self._run([lone], cluster)
            assert _first_start(events) == self._next_call(lone.submit_ns)
            self._all_finish([*filling, lone], tiny_cluster(2, 2, cpus=4))

    # --- machines come and go

    def test_survives_failing_machines(self) -> None:
        """Jobs of a failed machine run again, on other machines or once it is back."""
        events = [
            CapacityEvent(seconds_to_ns(9.5), "fail", 0),
            CapacityEvent(seconds_to_ns(20), "fail", 1),
            CapacityEvent(seconds_to_ns(31), "join", 1),
            CapacityEvent(seconds_to_ns(40), "join", 0),
        ]
        for seed in self.seeds:
            self._all_finish(generated_jobs(seed), _cluster(), capacity_events=events)

    def test_survives_an_outage_of_everything(self) -> None:
        """With no machine at all every job waits; all continue when machines are back."""
        events = [CapacityEvent(seconds_to_ns(12), "fail", m) for m in range(3)]
        events += [CapacityEvent(seconds_to_ns(50), "join", m) for m in range(3)]
        self._all_finish(generated_jobs(2), _cluster(), capacity_events=events)

    def test_plans_nothing_for_machines_that_leave(self) -> None:
        """A leaving machine keeps its jobs to the deadline and takes no others; the check refuses them.

        Short jobs arrive while it leaves, so that a preemptive policy has reason to stop the jobs there.
        """
        for seed in self.seeds:
            jobs = generated_jobs(seed)
            events = [
                CapacityEvent(seconds_to_ns(5), "leave", 0, seconds_to_ns(60)),
                CapacityEvent(seconds_to_ns(15), "leave", 1, seconds_to_ns(25)),
                CapacityEvent(seconds_to_ns(70), "join", 0),
                CapacityEvent(seconds_to_ns(70), "join", 1),
            ]
            self._all_finish(jobs, _cluster(), capacity_events=events)

    def test_uses_machines_that_join(self) -> None:
        """A machine that joins is room: a job that waits for it starts at the policy's next call."""
        cluster = Cluster([Machine("m0", 0, "box", 2, present=False)])
        joins = [CapacityEvent(seconds_to_ns(10), "join", 0)]
        _, events = self._run([job("first", 2, 5)], cluster, capacity_events=joins)
        assert _first_start(events) == self._next_call(seconds_to_ns(10))

    # --- helpers

    def _knows(self, what: str) -> bool:
        return bool(getattr(self.make_policy(), f"knows_{what}", False))

    def _next_call(self, time_ns: int) -> int:
        """Return the time of the policy's call at or after an event."""
        policy = self.make_policy()
        if getattr(policy, "on_events", True) or policy.interval_s is None:
            return time_ns
        interval = seconds_to_ns(policy.interval_s)
        return -(-time_ns // interval) * interval

    def _run(
        self, jobs: Sequence[JobSpec], cluster: Cluster, **options: object
    ) -> tuple[RunResult, list[Event]]:
        performance = self.make_performance()
        return run_checked(jobs, cluster, self.make_policy(), performance, signals=self.signals, **options)

    def _all_finish(
        self, jobs: Sequence[JobSpec], cluster: Cluster, **options: object
    ) -> tuple[RunResult, list[Event]]:
        result, events = self._run(jobs, cluster, **options)
        finish = result.columns["finish_ns"]
        left = [spec.job_id for spec, t in zip(result.jobs, finish, strict=True) if t < 0]
        assert not left, f"unfinished: {left}"
        return result, events


# --- workloads and clusters


def generated_jobs(seed: int, n: int = 24, *, cpu_jobs: bool = False) -> list[JobSpec]:
    """Return jobs of 1 to 12 GPUs that overload three machines of four GPUs for a while.

    Submit times differ, come in bursts, and are not multiples of the iteration times. With `cpu_jobs`
    every third job asks for CPUs only, and the others for CPUs and memory as well.
    """
    rng = np.random.default_rng([seed, 20])
    times = np.cumsum(rng.exponential(1.5, n) * rng.choice([0.01, 1.0, 3.0], n)) + 1e-3
    sizes = rng.choice([1, 1, 1, 2, 2, 3, 4, 4, 6, 8, 12], n)
    jobs = []
    for i, (at, gpus) in enumerate(zip(times.tolist(), sizes.tolist(), strict=True)):
        seconds, step = float(rng.exponential(12)) + 0.5, float(rng.choice([0.1, 0.37, 1.0]))
        if cpu_jobs and i % 3 == 0:
            jobs.append(cpu_job(f"j{i}", int(rng.integers(1, 9)), seconds, at, iteration_s=step))
            continue
        resources = {"cpus": gpus, "memory_bytes": gpus << 20} if cpu_jobs else {}
        spec = job(f"j{i}", gpus, seconds, at, iteration_s=step, **resources)
        jobs.append(replace(spec, model=("", "skewed")[i % 2], user=f"u{i % 3}", vc=f"v{i % 2}"))
    return jobs


def jobs_in_units(seed: int, cluster: Cluster, n: int = 24, *, segments: bool = True) -> list[JobSpec]:
    """Return jobs of 1 to 12 GPUs with units of 1 to 4 GPUs, most with segments, some elastic."""
    rng = np.random.default_rng([seed, 22])
    jobs = []
    for spec in generated_jobs(seed, n):
        unit = int(rng.choice([1, 2, 2, 4]))
        segment = unit * int(rng.choice([1, 1, 2])) if segments and rng.random() < 0.6 else 1
        whole = max(unit, segment)
        demand = Demand(whole * int(rng.choice([1, 1, 2, 3])), unit=unit, segment=segment)
        if rng.random() < 0.4:
            demand = replace(demand, min_gpus=whole, max_gpus=4 * whole, step=whole)
        if not misfit(demand, cluster.machines, ""):
            jobs.append(replace(spec, demand=demand))
    return jobs


def typed_jobs(seed: int, n: int = 20) -> list[JobSpec]:
    """Return jobs for `mixed_cluster`: for one GPU type, for any, for a mix; some fungible, some elastic."""
    rng = np.random.default_rng([seed, 21])
    jobs = []
    for i, at in enumerate(np.cumsum(rng.exponential(1.5, n)).tolist()):
        gpus = int(rng.choice([1, 2, 4]))
        types = ((), ("old",), ("new",), ("new", "old"))[i % 4]
        asks: dict[str, object] = {"gpu_types": types, "mixed_types": i % 5 == 0, "fungible": i % 7 == 0}
        if i % 3 == 0:
            asks |= {"max_machines": 2} if i % 2 else {"min_gpus": 1, "max_gpus": 4}
        spec = job(f"j{i}", gpus, float(rng.exponential(10)) + 1, at, **asks)  # type: ignore[arg-type]
        jobs.append(replace(spec, model=("", "skewed")[i // 4 % 2]))
    return jobs


def mixed_cluster() -> Cluster:
    """Return one machine of 4 new GPUs and, in another rack, two machines of 2 old GPUs each."""
    new = Machine("new0", 0, "big", 4, gpu_type="new", speed=2.0)
    return Cluster([new, *(Machine(f"old{i}", 1, "small", 2, gpu_type="old") for i in range(2))])


def cpu_job(job_id: str, cpus: int, seconds: float, at: float = 0, *, iteration_s: float = 1) -> JobSpec:
    """Return a job that asks for CPUs on one machine and for no GPUs."""
    return JobSpec(
        job_id,
        seconds_to_ns(at),
        Demand(0, cpus=cpus, max_machines=1),
        iterations=max(1, round(seconds / iteration_s)),
        compute_ns=round(iteration_s * NS_PER_S),
    )


def _cluster() -> Cluster:
    return tiny_cluster(3, 4, per_rack=2)


def _first_start(events: Sequence[Event]) -> int:
    return next(event.time_ns for event in events if isinstance(event, Start))


def _before(events: Sequence[Event], until_ns: int) -> list[Event]:
    return [event for event in events if event.time_ns < until_ns]


# --- no hidden inputs

_CLOCK = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


@contextmanager
def _no_hidden_inputs() -> Iterator[None]:
    """Make the clock and the global generators raise in this thread."""
    here = threading.get_ident()

    def refuse(module: str, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            if threading.get_ident() == here:
                raise AssertionError(f"the policy calls {module}.{name}(); time and chance are its inputs")
            return real(*args, **keywords)

        return call

    with ExitStack() as stack:
        for module in (time, random, np.random):
            for name in _CLOCK if module is time else _global_names(module):
                fake = refuse(module.__name__, name, getattr(module, name))
                stack.enter_context(mock.patch.object(module, name, fake))
        yield


def _global_names(module: Any) -> list[str]:
    """Return the functions of a module that are methods of the one global generator of its `random`."""
    owner = module.random.__self__
    return [n for n in module.__all__ if getattr(getattr(module, n), "__self__", None) is owner]
