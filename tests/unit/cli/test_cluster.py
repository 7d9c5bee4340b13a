"""The machines of a cluster, and the file of those that fail, join and leave."""

from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import pytest

from artist.core.cluster import CapacityEvent
from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.datacenter.failures import Failures
from artist.errors import InputError
from artist.results.sweep import read_sweep
from artist.run.config import StopConfig
from netmodels.api import Topology, load_topology
from tests.unit.cli.conftest import Artist

HOUR_NS = 3_600 * 10**9
HEADER = "time_s,kind,machine,deadline_s\n"


@pytest.fixture(scope="module")
def topology() -> Topology:
    """Return the default: 8 machines to a rack, 8 GPUs each."""
    return load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))


def racks(topology: Topology, **fields: object) -> list[int]:
    """Return the number of machines per rack."""
    cluster, _ = build_cluster(ClusterConfig.model_validate(fields), topology)
    return [int((cluster.rack == rack).sum()) for rack in range(cluster.n_racks)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [8, 8]),
        ({"racks": 3}, [8, 8, 8]),
        ({"racks": 2, "machines_per_rack": 3}, [3, 3]),
        ({"machines": 10}, [8, 2]),
        ({"machines": 10, "machines_per_rack": 4}, [4, 4, 2]),
        ({"machines": 10, "racks": 2}, [8, 2]),
        ({"machines": [{"type": "dgx_h100", "count": 3}, {"type": "dgx_h100", "count": 6}]}, [8, 1]),
    ],
)
def test_machines_fill_racks(topology: Topology, fields: dict[str, object], expected: list[int]) -> None:
    """One rule for all ways to say the size; the last rack may be short."""
    assert racks(topology, **fields) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"racks": 2, "machines": 17},
        {"racks": 3, "machines": 16},
        {"racks": 2, "machines": 8, "machines_per_rack": 2},
        {"racks": 2, "machines": [{"type": "dgx_h100", "count": 20}]},
    ],
)
def test_sizes_that_cannot_both_hold_are_refused(topology: Topology, fields: dict[str, object]) -> None:
    """The sentence says how many racks the machines would fill."""
    with pytest.raises(InputError, match="to a rack fill"):
        racks(topology, **fields)


def test_groups_have_their_pools(topology: Topology) -> None:
    """Owners at the start, machine by machine."""
    groups = [{"type": "dgx_h100", "count": 1, "pool": "a"}, {"type": "dgx_h100", "count": 2, "pool": "b"}]
    cluster, _ = build_cluster(ClusterConfig.model_validate({"machines": groups}), topology)
    assert [(m.name, m.pool) for m in cluster.machines] == [("m0", "a"), ("m1", "b"), ("m2", "b")]


def events(topology: Topology, path: Path, text: str) -> tuple[CapacityEvent, ...]:
    """Return the events of a file beside two machines."""
    path.write_text(text)
    return build_cluster(ClusterConfig(machines=2, events=path), topology)[1]


def test_events_are_read_in_order_of_time(topology: Topology, tmp_path: Path) -> None:
    """Seconds become ns; a leave has a deadline."""
    text = f"{HEADER}20,join,m0,\n1.5,fail,m0,\n5,leave,m1,10\n"
    assert events(topology, tmp_path / "e.csv", text) == (
        CapacityEvent(1_500_000_000, "fail", 0),
        CapacityEvent(5_000_000_000, "leave", 1, 10_000_000_000),
        CapacityEvent(20_000_000_000, "join", 0),
    )


def test_a_new_machine_may_join(topology: Topology, tmp_path: Path) -> None:
    """It is in the cluster from the start, but not present: 2 x 8 GPUs count at first."""
    path = tmp_path / "e.csv"
    path.write_text("time_s,kind,machine,deadline_s,type,rack,pool\n9,join,new,,dgx_h100,3,loan\n")
    cluster, _ = build_cluster(ClusterConfig(machines=2, events=path), topology)
    new = cluster.machines[2]
    assert (new.name, new.rack, new.pool, new.present) == ("new", 3, "loan", False)
    assert cluster.total_gpus == 16


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty file"),
        ("time_s,kind,machine\n", "deadline_s"),
        (f"{HEADER[:-1]},colour\n", "colour"),
        (f"{HEADER}x,fail,m0,\n", "line 2, time_s"),
        (f"{HEADER}nan,fail,m0,\n", "line 2, time_s"),
        (f"{HEADER}-1,fail,m0,\n", "line 2, time_s"),
        (f"{HEADER}1,fail,m0,\n2,explode,m1,\n", "line 3, kind"),
        (f"{HEADER}5,leave,m0,4\n", "line 2, deadline_s"),
        (f"{HEADER}5,leave,m0,\n", "line 2, deadline_s"),
        (f"{HEADER}5,fail,m0,6\n", "line 2, deadline_s"),
        (f"{HEADER}5,fail,m7,\n", "line 2, machine"),
        (f"{HEADER}5,fail,,\n", "line 2, machine"),
        (f"{HEADER}5,fail,m0,\n6,fail,m0,\n", "line 3"),
        (f"{HEADER}5,join,m0,\n", "line 2"),
        (f"{HEADER}5,leave,m0,9\n8,join,m0,\n", "line 3"),
    ],
)
def test_a_bad_file_of_events_is_refused(topology: Topology, tmp_path: Path, text: str, told: str) -> None:
    """File, row and field; and what cannot have happened: two failures without a join between."""
    with pytest.raises(InputError) as error:
        events(topology, tmp_path / "e.csv", text)
    assert "e.csv" in str(error.value)
    assert told in str(error.value)


def failures(
    topology: Topology, machines: int, causes: Any, seed: int = 0, **settings: Any
) -> Iterator[CapacityEvent]:
    """Return the endless failures of a cluster."""
    config = ClusterConfig(machines=machines, failures=causes, **settings)
    assert config.failures is not None
    return iter(Failures(config.failures, build_cluster(config, topology)[0], seed))


def test_random_failures_have_their_mean_times(topology: Topology) -> None:
    """100 machines that fail every 100 h for 1000 h: about 100 x 1000 / (100 + 10) = 909 failures.

    Their number is nearly Poisson: 909 +- 3 x 30. A repair takes 10 h in the mean: +- 3 x 10 / sqrt(909) = 1.
    """
    events = failures(topology, 100, [{"cause": "any", "per_1000_days": 240, "repair_h": 10}])
    events = list(takewhile(lambda event: event.time_ns < 1000 * HOUR_NS, events))
    assert abs(len(events) - 909) < 90
    repairs_ns = [e.repair_ns or 0 for e in events]
    ends_ns = [min(e.time_ns + ns, 1000 * HOUR_NS) for e, ns in zip(events, repairs_ns, strict=True)]
    down = ends_ns.count(1000 * HOUR_NS)  # at the end: 10 / 110 of the machines
    assert abs(down - 9.1) < 3 * 2.9
    away_h = (sum(ends_ns) - sum(e.time_ns for e in events)) / len(events) / 3.6e12
    assert abs(away_h - 10) < 1
    assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)


def test_more_machines_do_not_change_the_failures_of_the_others(topology: Topology) -> None:
    """Each machine has its own generator."""
    causes = [{"cause": "any", "per_1000_days": 240}]
    few, many = (failures(topology, machines, causes, seed=3) for machines in (2, 5))
    assert [*islice(few, 50)] == [*islice((event for event in many if event.machine < 2), 50)]


def test_failures_come_from_a_file_or_at_random(tmp_path: Path) -> None:
    """Both at once contradict each other."""
    with pytest.raises(ValueError, match="leave one of the two out"):
        ClusterConfig(events=tmp_path / "e.csv", failures="rsc1")


def test_spares_without_failures_are_kept_free_and_counted(artist: Artist) -> None:
    """One of 3 machines, a third of all GPU time; as with failures where none happens in two minutes."""
    given = ("cluster.machines=3", "cluster.spares=1", "cluster.health_check_h=2", "output.name=spares")
    assert artist("-m", "cluster.failures=null,rsc1", *given).code == 0
    never, rarely = (run.summary["failures"] for run in read_sweep("runs/sweeps/spares").runs)
    assert never["gpu_h"]["spare"] == pytest.approx(sum(never["gpu_h"].values()) / 3)
    assert (never["causes"], never["per_machine_h"]) == ({}, 0)
    assert never["gpu_ns"] == rarely["gpu_ns"]
    assert rarely["per_machine_h"] > 0


def test_spares_answer_no_file(tmp_path: Path) -> None:
    """A file says which machines join, so a spare would never take the place of one."""
    for files in ({"events": tmp_path / "e.csv"}, {"shares": tmp_path / "s.csv"}):
        with pytest.raises(ValueError, match="whose events no spare answers"):
            ClusterConfig(spares=1, **files)


def test_an_empty_list_of_causes_is_none() -> None:
    """`[]` as null: no failures, and no window of jobs at which a run ends."""
    assert ClusterConfig.model_validate({"failures": []}).failures is None
    assert StopConfig.model_validate({"jobs": []}).jobs is None
