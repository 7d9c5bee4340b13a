"""links.parquet, tiers.parquet and the slowdown by contention, of a run that a person can solve on paper.

Four machines, two a rack; a port carries 1 byte/ns, an uplink 1.5, in each direction. While it sends, a job
alone fills a port. a sends 1 GB in an iteration, on m0 and m1; b 2 GB, on m1 and m2, after a delay of 2 s:

    s                 0       2       4        10        14
    a, iteration      4 s     5 s     5 s      -         -
    b, iteration      -       delay   4 s      2.5 s     -
    m0, % of a port   25      20      20       0
    m1                25      20      20 + 50  80
    m2                0       0       50       80
    uplinks, %        0       0       50 / 1.5 80 / 1.5
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.events import Change, Event, Finish, Gauges, Reprice, Start, Stop
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.core.result import RunResult
from artist.recording.folder import write_run
from artist.recording.traffic import Traffic, slowdowns, summarise_contention
from artist.results.folder import read_run
from netmodels.api import JobTraffic, Link

S = 1_000_000_000
PORTS = {Link("machine", machine, way): 1.0 for machine in range(4) for way in ("out", "in")}
UPLINKS = {Link("rack", rack, way): 1.5 for rack in (0, 1) for way in ("out", "in")}
GIGABYTES = {"a": 1, "b": 2}
ON = {name: Allocation(tuple(Slice(m, 1) for m in at)) for name, at in {"a": (0, 1), "b": (1, 2)}.items()}


@pytest.fixture
def cluster() -> Cluster:
    """Four machines of two GPUs."""
    return Cluster([Machine(f"m{number}", number // 2, "box", 2) for number in range(4)])


def sends(spec: JobSpec, allocation: Allocation, cluster: Cluster) -> JobTraffic:
    """Return the iteration of a job: it computes for 2 s, then sends at 1 byte/ns on all of its links."""
    machines = [piece.machine for piece in allocation.slices]
    racks = {cluster.machines[machine].rack for machine in machines}
    places = [("machine", machine) for machine in machines]
    places += [("rack", rack) for rack in sorted(racks)] * (len(racks) > 1)
    links = tuple(Link(tier, place, way) for tier, place in places for way in ("out", "in"))
    ns = GIGABYTES[spec.job_id] * S
    when, none = np.array([2 * S]), np.array([0])
    return JobTraffic(2 * S, when, np.array([ns]), links, np.full((1, len(links)), float(ns)), none)


def observed(cluster: Cluster, *events: Event, capacity=PORTS | UPLINKS, end_s: float = 14) -> Traffic:
    """Return an observer that has seen some events, closed."""
    jobs = [JobSpec(name, 0, Demand(2), iterations=10, compute_ns=2 * S) for name in ("a", "b")]
    use = Traffic(jobs, cluster, sends, capacity)
    for event in events:
        use.observe(event.time_ns, [event], Gauges(0, 8, 0, 0))
    use.close(round(end_s * S))
    return use


def price(at_s: float, job: int, iteration_s: float) -> Reprice:
    """Set the time of an iteration."""
    return Reprice(round(at_s * S), job, IterationParts(round(iteration_s * S)))


@pytest.fixture
def use(cluster: Cluster) -> Traffic:
    """The run on paper."""
    return observed(
        cluster,
        Start(0, 0, ON["a"], "start", 0),
        price(0, 0, 4),
        Start(2 * S, 1, ON["b"], "start", 2 * S),
        price(2, 0, 5),
        price(2, 1, 4),
        Finish(10 * S, 0),
        price(10, 1, 2.5),
        Finish(14 * S, 1),
    )


def rows(use: Traffic) -> dict[str, list[float]]:
    """Return the columns of what was recorded, times in seconds."""
    values = np.array(use.row_values).reshape(-1, len(use.columns)).T.tolist()
    return {"time_s": [ns / S for ns in use.row_ns], **dict(zip(use.columns, values, strict=True))}


def test_use_by_tier_over_time(use: Traffic) -> None:
    """Of four ports a means (20 + 20) / 4, and a with b (20 + 70 + 50) / 4; m1 alone could be overloaded."""
    result = rows(use)
    assert result["time_s"] == [0, 2, 4, 10, 14]
    assert result["machine_use"] == pytest.approx([0.125, 0.1, 0.35, 0.4, 0])
    assert result["machine_highest"] == pytest.approx([0.25, 0.2, 0.7, 0.8, 0])
    assert result["machine_contended"] == [0, 0, 0.25, 0, 0]
    assert result["rack_use"] == pytest.approx([0, 0, 0.5 / 1.5, 0.8 / 1.5, 0])
    assert result["rack_highest"] == pytest.approx(result["rack_use"])
    assert result["rack_contended"] == [0] * 5


def test_totals_by_link(use: Traffic) -> None:
    """m1: 2 x 25 + 2 x 20 + 6 x 70 + 4 x 80 % over 14 s, and contended for 6 of them."""
    totals = use.totals()
    assert totals["tier"] == ["machine"] * 8 + ["rack"] * 4
    assert totals["machine"][2:4] == ["m1", "m1"]
    assert totals["machine"][8:] == [None] * 4
    assert totals["way"][:2] == ["in", "out"]
    assert totals["rack"].tolist() == [0] * 4 + [1] * 4 + [0, 0, 1, 1]
    assert totals["capacity_gbit_s"].tolist() == [8] * 8 + [12] * 4
    of_m1 = (2 * 0.25 + 2 * 0.2 + 6 * 0.7 + 4 * 0.8) / 14
    assert totals["use"][2:4] == pytest.approx([of_m1] * 2)
    assert totals["use"][8:] == pytest.approx([(6 * 0.5 + 4 * 0.8) / 1.5 / 14] * 4)
    assert totals["contended"].tolist() == pytest.approx([0, 0, 6 / 14, 6 / 14, *[0] * 8])


def test_parallel_uplinks_are_one_link(cluster: Cluster) -> None:
    """Two uplinks of 0.75 carry 1.5; on one of them a job sends 0.75 at most, and two fill it twice."""
    paths = {link._replace(path=path): 0.75 for link in UPLINKS for path in (0, 1)}
    across = Allocation((Slice(0, 1), Slice(2, 1)))
    events = [
        Start(0, 0, across, "start", 0),
        price(0, 0, 4),
        Start(0, 1, across, "start", 0),
        price(0, 1, 4),
    ]
    result = observed(cluster, *events, capacity=PORTS | paths)
    totals = result.totals()
    assert totals["capacity_gbit_s"][8:].tolist() == [12] * 4
    assert totals["use"][8:] == pytest.approx([(0.25 + 0.5) / 1.5] * 4)
    assert totals["contended"][8:].tolist() == [1] * 4


def test_moves_and_stops(cluster: Cluster) -> None:
    """Job a moves to m2 and m3 at 4 s, to one machine at 8 s, and back to two at 10 s; it stops at 12 s."""
    moved = Allocation((Slice(2, 1), Slice(3, 1)))
    single = Allocation((Slice(2, 2),))
    result = observed(
        cluster,
        Start(0, 0, ON["a"], "start", 0),
        price(0, 0, 4),
        Change(4 * S, 0, moved, "migrate", S),
        price(4, 0, 2.5),
        Change(8 * S, 0, single, "migrate", 0),
        price(8, 0, 2),
        Change(10 * S, 0, moved, "migrate", 0),
        price(10, 0, 4),
        Stop(12 * S, 0, "preempted", 3),
    )
    shown = rows(result)
    assert shown["time_s"] == [0, 4, 5, 8, 10, 12, 14]
    assert shown["machine_highest"] == pytest.approx([0.25, 0, 0.4, 0, 0.25, 0, 0])
    assert result.totals()["use"][4:6] == pytest.approx([(3 * 0.4 + 2 * 0.25) / 14] * 2)


def test_a_change_within_a_delay(cluster: Cluster) -> None:
    """Other CPUs, which cost nothing, at 1 s of a delay of 2 s: the job sends from 2 s on all the same."""
    more = Allocation(tuple(piece._replace(cpus=4) for piece in ON["a"].slices))
    retune = Change(S, 0, more, "retune", 0)
    result = observed(cluster, Start(0, 0, ON["a"], "start", 2 * S), price(0, 0, 4), retune, price(1, 0, 4))
    assert rows(result)["machine_highest"] == [0, 0, 0.25, 0.25]
    assert rows(result)["time_s"] == [0, 1, 2, 14]


def test_nothing_is_left_when_all_have_gone(cluster: Cluster) -> None:
    """Halves, thirds, quarters and fifths are added, and taken away in another order: 0 is left exactly."""
    events = [
        *(Start(0, 0, ON["a"], "start", 0), price(0, 0, 2)),
        *(Start(S, 1, ON["b"], "start", 0), price(1, 0, 3), price(1, 1, 4)),
        *(Stop(2 * S, 0, "preempted", 0), price(2, 1, 5)),
        *(Finish(3 * S, 1), Start(4 * S, 0, ON["a"], "restart", 0), price(4, 0, 7)),
    ]
    result = rows(observed(cluster, *events))
    assert result["time_s"] == [0, 1, 2, 3, 4, 14]
    assert result["machine_use"][3] == result["machine_highest"][3] == 0.0


def test_links_without_a_capacity_are_left_out(cluster: Cluster) -> None:
    """An infinite one is not shared, a machine without GPUs has none; without any, there are only times."""
    events = [Start(0, 0, ON["a"], "start", 0), price(0, 0, 4)]
    assert observed(cluster, *events, capacity=PORTS | dict.fromkeys(UPLINKS, 0.0)).columns == (
        *("machine_use", "machine_highest", "machine_contended"),
    )
    result = observed(cluster, *events, capacity=dict.fromkeys(PORTS, np.inf))
    assert (result.columns, len(result.row_values), result.totals()["use"].tolist()) == ((), 0, [])


def test_slowdown_is_running_over_running_without(result: RunResult) -> None:
    """Of 10, 12.5 and 4 s running 2 s and 2.5 s are contention: 10 / 8, 12.5 / 10 and none."""
    columns = dict(result.columns) | {"contention_ns": np.array([2 * S, 5 * S // 2, 0])}
    slowed = replace(result, columns=columns)
    assert slowdowns(slowed).tolist() == [1.25, 1.25, 1.0]
    assert summarise_contention(slowed) == {"contention": {"slowdown": 3.5 / 3, "jobs": 2 / 3}}


def test_without_jobs_that_ran_there_is_no_slowdown(none_finished: RunResult) -> None:
    """Neither of a job nor in the mean."""
    assert np.isnan(slowdowns(none_finished)).all()
    assert summarise_contention(none_finished) == {"contention": {"slowdown": None, "jobs": None}}


def test_it_is_written_and_read(
    use: Traffic, result: RunResult, summary: dict, tmp_path: Path, run_folder: Callable[..., Path]
) -> None:
    """Two files more and a column, by name; without an observer none of them."""
    (tmp_path / "with").mkdir()
    write_run(tmp_path / "with", result, None, summary | summarise_contention(result), topics=[use])
    run = read_run(tmp_path / "with")
    assert list(run.table("tiers").columns) == ["time_s", *use.columns]
    assert list(run.table("tiers")["machine_highest"]) == pytest.approx([0.25, 0.2, 0.7, 0.8, 0])
    links = run.table("links")
    assert list(links["machine"])[:2] == ["m0", "m0"]
    assert links["machine"].isna().tolist() == [False] * 8 + [True] * 4
    assert list(run.jobs["contention_slowdown"]) == [1, 1, 1]
    plain = read_run(run_folder(tmp_path / "plain", {"policy": {"name": "fifo"}, "seed": 1}))
    assert "contention_slowdown" not in plain.jobs
    assert not (plain.folder / "links.parquet").exists()
