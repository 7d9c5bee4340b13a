"""Invariants of mechanisms on random machines and jobs: no job slower than with its share, no GPU idle."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synergy_program import ProgramTune

from artist.core.cluster import Allocation, Cluster
from artist.core.job import Demand
from artist.policies.synergy.greedy import Greedy
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.proportional import Proportional
from artist.policies.synergy.tune import Tune
from artist.testing.tiny import tiny_cluster
from tests.unit.policies.packings import believed, speed, whole

Packed = Mapping[int, Allocation]
TUNES = [
    pytest.param(Tune, id="default"),
    pytest.param(lambda: Tune(hand_out=False), id="nothing handed out"),
    pytest.param(lambda: ProgramTune(hand_out=True), id="in order, by GPUs"),
]
ALL = [*TUNES, pytest.param(Proportional, id="proportional"), pytest.param(Greedy, id="greedy")]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Return up to 5 machines of up to 8 GPUs, CPUs and memory not always a multiple of them."""
    gpus = draw(st.sampled_from([1, 2, 4, 8]))
    cpus, memory = draw(st.integers(0, 6 * gpus)), draw(st.integers(0, 50 * gpus))
    return tiny_cluster(draw(st.integers(1, 5)), gpus, cpus=cpus, memory_bytes=memory)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Cluster, list[Need], list[Need]]:
    """Return a cluster and the jobs of two rounds: GPUs fit, best cases are at most those of the servers."""
    cluster = draw(clusters())
    m = cluster.machines[0]
    jobs, left = [], int(cluster.gpus.sum())
    for job in range(draw(st.integers(1, 14))):
        gpus = draw(st.integers(1, max(left, 1)))
        servers = -(-gpus // m.gpus)
        cpus = draw(st.integers(min(1, m.cpus), m.cpus * servers))
        jobs.append(Need(job, Demand(gpus), gpus, cpus, draw(st.integers(0, m.memory_bytes * servers))))
        left -= gpus if gpus <= left else 0
    some, others = draw(st.permutations(jobs)), draw(st.permutations(jobs))
    return cluster, _fit(cluster, some), _fit(cluster, others)


def _fit(cluster: Cluster, needs: Sequence[Need]) -> list[Need]:
    """Return the first needs whose GPUs fit together."""
    left, taken = int(cluster.gpus.sum()), []
    for need in needs:
        if need.gpus <= left:
            taken.append(need)
            left -= need.gpus
    return taken


def pack(mechanism: Mechanism, cluster: Cluster, needs: Sequence[Need], held: Packed) -> Packed:
    """Return a mechanism's packing of an empty cluster."""
    return mechanism.pack(needs, whole(cluster), believed(needs, cluster, held))


@given(rounds=rounds())
@pytest.mark.parametrize("mechanism", ALL)
def test_no_machine_gives_more_than_it_has(mechanism: Callable[[], Mechanism], rounds: Any):
    """GPUs, CPUs and bytes of all jobs on a machine, recounted; and a job has the GPUs it asked for."""
    cluster, needs, _ = rounds
    result = pack(mechanism(), cluster, needs, {})
    used = [[0, 0, 0] for _ in cluster.machines]
    for allocation in result.values():
        for s in allocation.slices:
            for resource, amount in enumerate(s[1:]):
                assert amount >= 0
                used[s.machine][resource] += amount
    for m, machine in enumerate(cluster.machines):
        has = machine.gpus, machine.cpus, machine.memory_bytes
        assert all(u <= h for u, h in zip(used[m], has, strict=True))
    assert all(result[need.job].gpus == need.gpus for need in needs if need.job in result)


@given(rounds=rounds())
@pytest.mark.parametrize("mechanism", [*TUNES, pytest.param(Proportional, id="proportional")])
def test_every_job_whose_gpus_fit_runs_and_none_slower_than_with_its_share(
    mechanism: Callable[[], Mechanism], rounds: Any
):
    """So no GPU is idle while a runnable job waits; the share is that of the GPUs where the job is."""
    cluster, needs, _ = rounds
    result = pack(mechanism(), cluster, needs, {})
    assert result.keys() == {need.job for need in needs}
    for need in needs:
        slices = result[need.job].slices
        share = [(s.machine, s.gpus, *cluster.machines[s.machine].share(s.gpus)) for s in slices]
        assert speed(need, slices) >= speed(need, share) - 1e-12


@given(rounds=rounds())
@pytest.mark.parametrize("mechanism", ALL)
def test_going_on_from_the_last_packing_is_packing_from_nothing(
    mechanism: Callable[[], Mechanism], rounds: Any
):
    """Two rounds, then the second again, which changes nothing; each sees what the jobs hold by then."""
    cluster, first, second = rounds
    one = mechanism()
    held = pack(one, cluster, first, {})
    after = pack(one, cluster, second, held)
    assert after == pack(mechanism(), cluster, second, held)
    assert pack(one, cluster, second, after) == after == pack(mechanism(), cluster, second, after)


@given(rounds=rounds())
def test_a_job_that_is_not_skipped_has_its_best_case_under_greedy(rounds: Any):
    """And on one machine, if one could hold it."""
    cluster, needs, _ = rounds
    result = pack(Greedy(), cluster, needs, {})
    for need in needs:
        if need.job in result:
            slices = result[need.job].slices
            assert speed(need, slices) == 1.0
            assert len(slices) == 1 or need.gpus > cluster.largest_machine
