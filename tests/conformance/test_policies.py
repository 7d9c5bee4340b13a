"""Every policy that is shipped runs the conformance suite: conf/policy is read, there is no list here."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
import yaml

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Change, Start
from artist.core.job import Demand, JobSpec, Stages
from artist.core.plan import Plan
from artist.core.view import ClusterView, Policy
from artist.errors import StuckError
from artist.performance.api import Performance
from artist.performance.couplings.packed import Packed
from artist.performance.placed import PlacedPerformance
from artist.policies.antman import AntMan
from artist.policies.gandiva import Gandiva
from artist.policies.muri import Muri
from artist.policies.ordered import Ordered
from artist.policies.parts.placement import PlacementName
from artist.testing.conformance import PolicyConformance, generated_jobs
from artist.testing.tiny import tiny_cluster
from netmodels.api import IterationTime
from netmodels.zero import ZeroModel

CONF = Path(__file__).parents[2] / "conf" / "policy"
FILES = sorted(CONF.glob("*.yaml"))


CONFIG = yaml.safe_load((CONF.parent / "config.yaml").read_text(encoding="utf-8"))


def build(node: Any) -> Any:
    """Return what a YAML node says: `_target_` called with the other keys, `${a.b}` as in config.yaml."""
    if isinstance(node, dict):
        values = {key: build(value) for key, value in node.items()}
        if "_target_" not in values:
            return values
        module, _, name = values.pop("_target_").rpartition(".")
        return getattr(import_module(module), name)(**values)
    if isinstance(node, list):
        return [build(value) for value in node]
    if isinstance(node, str) and node.startswith("${"):
        return reduce(lambda values, key: values[key], node[2:-1].split("."), CONFIG)
    return node


class TestShippedPolicies(PolicyConformance):
    """One run of the suite per YAML file."""

    @pytest.fixture(autouse=True, params=FILES, ids=[file.stem for file in FILES])
    def _file(self, request: pytest.FixtureRequest) -> None:
        self.file: Path = request.param

    def make_policy(self) -> Policy:
        return build(yaml.safe_load(self.file.read_text(encoding="utf-8")))

    def test_every_parameter_is_in_the_file(self) -> None:
        """The YAML lists every parameter, so that a user sees what there is to set."""
        node = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        parameters = self.make_policy().parameters
        assert set(node) - {"_target_"} == set(type(parameters).model_fields)


class TestPlacements(PolicyConformance):
    """Each placement under the order that stops most jobs."""

    @pytest.fixture(autouse=True, params=get_args(PlacementName))
    def _placement(self, request: pytest.FixtureRequest) -> None:
        self.placement: str = request.param

    def make_policy(self) -> Policy:
        return Ordered(order="srtf", preemptive=True, backfill=True, placement=self.placement)


class TestGandivaThatPacks(PolicyConformance):
    """All parts of Gandiva at the pace of the suite; its jobs leave their GPUs idle for much of the time."""

    @pytest.fixture(autouse=True, params=[0.0, 1.5], ids=["gains", "loses"])
    def _interference(self, request: pytest.FixtureRequest) -> None:
        self.interference: float = request.param

    def make_policy(self) -> Policy:
        parts = {"slicing": True, "packing": True, "grow_shrink": True}
        return Gandiva(**parts, quantum_s=3, profile_s=1, grow_after_s=0.5)

    def make_performance(self) -> Performance:
        return PlacedPerformance(_ThirdBusy(), None, None, _no_profile, packed=Packed(self.interference))

    def test_jobs_are_packed_grown_and_parted(self) -> None:
        """The suite would show nothing if nobody were ever packed: here some are, and grow and shrink."""
        jobs = [
            replace(spec, model="any", demand=Demand(gpus, min_gpus=1, max_gpus=gpus + 2))
            for spec in generated_jobs(0)
            if (gpus := spec.demand.gpus) <= 4
        ]
        result, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        packed = [e for e in events if isinstance(e, Start) and e.allocation.group]
        assert len(packed) > 3
        assert result.columns["resizes"].sum() > 3


class TestMuriThatGroups(PolicyConformance):
    """Muri at the pace of the suite, with jobs that use a resource each: they are grouped all the time."""

    @pytest.fixture(
        autouse=True, params=[("srsf", "blossom", 4), ("las2d", "blossom", 3), ("las2d", "priority", 4)]
    )
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.order, self.matching, self.most_jobs = request.param

    def make_policy(self) -> Policy:
        how = {"order": self.order, "matching": self.matching, "most_jobs": self.most_jobs}
        return Muri(**how, on_events=True, interval_s=3, profiling_noise=0.2)

    def make_performance(self) -> Performance:
        return _OneResourceEach()

    def test_jobs_are_grouped(self) -> None:
        """The suite would show nothing if nobody were ever grouped: here some are, in groups of all sizes."""
        jobs = [replace(spec, submit_ns=0) for spec in generated_jobs(0, 48)]
        _, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        held = [event.allocation for event in events if isinstance(event, Start | Change)]
        sizes = {allocation.group.name.count("+") + 1 for allocation in held if allocation.group}
        assert {2, self.most_jobs} <= sizes <= set(range(2, self.most_jobs + 1))


class _OneResourceEach(PlacedPerformance):
    """Interleaved groups; which resource a job uses most of all goes by its user."""

    def __init__(self) -> None:
        super().__init__(ZeroModel(), None, None, _no_profile, network_stage="table")

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        main = int(spec.user[1:] or 3)
        return Stages(*(spec.compute_ns * (7 if r == main else 1) // 10 for r in range(4)))


class TestAntManThatShares(PolicyConformance):
    """Jobs of several GPUs leave them idle for two thirds of the time, and others join them."""

    @pytest.fixture(autouse=True, params=[False, True], ids=["in_order", "backfill"])
    def _backfill(self, request: pytest.FixtureRequest) -> None:
        self.backfill: bool = request.param

    def make_policy(self) -> Policy:
        return AntMan(backfill=self.backfill)

    def make_performance(self) -> Performance:
        return PlacedPerformance(_ThirdBusy(), None, None, _no_profile)

    def test_jobs_of_both_kinds_share(self) -> None:
        """The suite would show nothing if nobody ever shared: here some do, and nobody is stopped."""
        jobs = [replace(spec, model="any", guaranteed=i % 3 > 0) for i, spec in enumerate(generated_jobs(0))]
        result, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        shared = [e for e in events if isinstance(e, Start) and e.allocation.group]
        assert len(shared) > 3
        assert {e.allocation.opportunistic for e in shared} == {True, False}
        assert result.columns["preemptions"].sum() == result.columns["migrations"].sum() == 0


class _ThirdBusy:
    """A network that exposes twice the compute: jobs of several GPUs keep them busy for a third."""

    def iteration(self, profile: object, shape: object, fabric: object, system: object) -> IterationTime:
        return IterationTime(1000, 2000, 2000)


def _no_profile(model: str) -> SimpleNamespace:
    return SimpleNamespace(skew=0.0, compute_ns=1000, scaled=lambda factor: _no_profile(model))


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
