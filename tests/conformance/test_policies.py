"""Every shipped preset runs (conf/policy is read, there is no list here); and the suite catches bad policies.

The whole suite runs at the policies' pace, by class, in `test_at_pace.py`.
"""

import random
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hydra import compose
from omegaconf import DictConfig, OmegaConf

from artist.app.composing import composing, plain, without_hydra
from artist.core.cluster import CapacityEvent, Cluster
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView, Policy
from artist.errors import StuckError
from artist.policies.basic.ordered import Ordered
from artist.run.parts import part
from artist.testing.conformance import PolicyConformance, generated_jobs, jobs_in_units
from artist.testing.tiny import run_checked, tiny_cluster
from artist.units import seconds_to_ns
from artist.workload.signals import Series

FILES = sorted((Path(__file__).parents[2] / "conf" / "policy").glob("*.yaml"))
FAILURES = [
    CapacityEvent(seconds_to_ns(at), kind, m)
    for at, kind, m in (
        (9.5, "fail", 0),
        (20, "fail", 1),
        (31, "join", 1),
        (40, "join", 0),
        (300.5, "fail", 0),
        (310, "join", 0),
        (360.5, "fail", 0),
        (370, "join", 0),
    )
]


@cache
def preset(name: str) -> dict[str, Any]:
    """Return the fields of a shipped policy's file, with those that it inherits."""
    with composing():
        config = OmegaConf.merge(frame(), compose(f"policy/{name}"))
        return plain(config.policy)


@cache
def frame() -> DictConfig:
    """Return a configuration without a policy: composing all of it for each preset takes 0.3 s."""
    return without_hydra(compose("config", ["~policy"]))


class TestShippedPolicies:
    """Two runs per YAML file, whose leases and timers may be longer than the runs."""

    @pytest.fixture(autouse=True, params=FILES, ids=[file.stem for file in FILES])
    def _file(self, request: pytest.FixtureRequest) -> None:
        self.file: Path = request.param

    def make_policy(self) -> Policy:
        return part(preset(self.file.stem), "policy", ("decide",))

    def test_finishes_every_job_though_machines_fail(self) -> None:
        """A value that loses a job, or plans what is not allowed, ends here; and all accounts are right."""
        self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))

    def test_finishes_cpu_jobs_among_gpu_jobs(self) -> None:
        """CPU-only jobs, and GPU jobs that ask for CPUs and memory, where machines have few of them."""
        cluster = tiny_cluster(3, 4, per_rack=2, cpus=8, memory_bytes=1 << 30)
        self._all_finish(generated_jobs(1, cpu_jobs=True), cluster)

    def test_keeps_units_and_segments(self) -> None:
        """A part of a unit on a machine, or of a segment in a rack, is refused by the check of plans."""
        segments = getattr(self.make_policy(), "keeps_segments", True)
        for cluster in (tiny_cluster(4, 4, per_rack=2), tiny_cluster(4, 6, per_rack=2)):
            self._all_finish(jobs_in_units(3, cluster, segments=segments), cluster)

    def test_aligns_stages_of_plans(self) -> None:
        """Jobs of plans finish, with units, segments and elastic sizes kept, though machines fail."""
        if "align" not in preset(self.file.stem):
            pytest.skip("no placement policy to align")
        aligning = part({**preset(self.file.stem), "align": "stages"}, "policy", ("decide",))
        cluster = tiny_cluster(4, 6, per_rack=2)
        jobs = [
            replace(spec, demand=replace(demand, pipeline_stages=2 - whole % 2, replica_gpus=whole))
            for spec in jobs_in_units(4, cluster)
            for demand in [spec.demand]
            for whole in [demand.step if demand.elastic else demand.gpus]
        ]
        self._all_finish(jobs, cluster, aligning)

    def _all_finish(self, jobs: list[JobSpec], cluster: Cluster, policy: Policy | None = None) -> None:
        policy = policy or self.make_policy()
        result, _ = run_checked(jobs, cluster, policy, capacity_events=FAILURES)
        assert (result.columns["finish_ns"] >= 0).all()
        assert result.columns["evictions"].sum() > 0

    def test_every_parameter_is_listed(self) -> None:
        """A preset lists every parameter, with what it inherits, so that a user sees what there is to set."""
        names = {field.name for field in fields(type(self.make_policy()))}
        assert set(preset(self.file.stem)) - {"_target_"} == names

    def test_it_repeats_nothing_that_it_inherits(self) -> None:
        """Lines that repeat the base would hide those that matter; a base inherits nothing itself."""
        listed = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        base, *others = listed.pop("defaults", [None, "_self_"])
        base = None if isinstance(base, dict) else base  # of another group: nothing to repeat
        assert others == ["_self_"]
        inherited = preset(base) if base else {}
        assert not [name for name, value in listed.items() if inherited.get(name, ...) == value]


def test_there_are_policies_to_test() -> None:
    """An empty glob would pass without testing anything."""
    assert {"fifo", "srtf", "las2d", "tiresias", "gandiva_full"} <= {file.stem for file in FILES}


# --- the suite itself: policies that break a rule are caught


class Broken:
    """Strict FIFO that does something wrong first; its plan is lost where `spoil` returns something."""

    interval_s: float | None = None
    on_events = True
    knows_durations = True

    def __init__(self, spoil: Callable[[ClusterView], object] = lambda view: None) -> None:
        self._inner = Ordered(order="fifo")
        self._spoil = spoil

    def decide(self, view: ClusterView) -> Plan:
        plan = self._inner.decide(view)
        return plan if self._spoil(view) is None else view.plan().done()


def suite_for(make: Callable[[], Policy]) -> PolicyConformance:
    """Return the suite for a policy, to call its tests one by one."""

    class Suite(PolicyConformance):
        def make_policy(self) -> Policy:
            return make()

    return Suite()


def test_suite_catches_a_clock() -> None:
    """A policy that reads the wall clock fails, or the suite guards nothing."""
    with pytest.raises(AssertionError, match=r"time\.time"):
        suite_for(lambda: Broken(lambda view: time.time() and None)).test_uses_no_global_chance_and_no_clock()


def test_suite_catches_global_chance() -> None:
    """A policy that draws from a global generator fails, numpy's or Python's."""
    for draw in (lambda view: random.random() and None, lambda view: np.random.rand() and None):
        with pytest.raises(AssertionError, match="time and chance"):
            suite_for(lambda draw=draw: Broken(draw)).test_uses_no_global_chance_and_no_clock()


def test_suite_catches_undeclared_knowledge() -> None:
    """A policy that goes by lengths behind the engine's back, and declares nothing, fails."""

    class Sly(Ordered):
        def __init__(self) -> None:
            super().__init__(order="sjf", backfill=True)
            self.knows_durations = False

        def decide(self, view: ClusterView) -> Plan:
            view._state.known.declared = frozenset({"durations"})  # type: ignore[attr-defined]  # what no honest policy does
            return super().decide(view)

    with pytest.raises(AssertionError):
        suite_for(Sly).test_wrong_estimates_do_no_harm()
    with pytest.raises(AssertionError):
        suite_for(Sly).test_looks_at_durations_only_if_declared()


def test_suite_catches_a_lost_job() -> None:
    """A policy that skips a decision loses the jobs of that instant: the run is stuck, in words."""

    def forget(view: ClusterView) -> object:
        return True if 5 <= view.now_ns / 1e9 < 7 else None

    with pytest.raises(StuckError, match="the policy changes nothing"):
        suite_for(lambda: Broken(forget)).test_finishes_every_job()


def test_the_suite_hands_its_signals_to_every_run() -> None:
    """A policy that follows a signal is tested like any other: 0.5 at 0 s, seen at the first call."""
    seen = []

    def look(view: ClusterView) -> None:
        seen.append(view.signals["inference"].up_to(view.now_ns)[1].tolist())

    suite = suite_for(lambda: Broken(look))
    suite.signals = {"inference": Series(np.array([0]), np.array([0.5]))}
    suite.test_lone_job_starts_at_once()
    assert set(map(tuple, seen)) == {(0.5,)}
