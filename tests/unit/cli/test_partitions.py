"""Partitions from the command line: machines by pool and date, jobs that stay in theirs, refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig, scaled
from artist.datacenter.shares import Shares, largest_use
from artist.errors import InputError
from artist.policies.basic.drf import Drf
from artist.policies.partitions.policy import Partitions
from artist.testing.tiny import job, tiny_cluster
from artist.workload.readers.canonical import CanonicalCsv
from netmodels.api import Topology, load_topology

Artist = Callable[..., Any]

CSV = "workload=csv", "workload.path=jobs.csv", "policy=fifo"
TWO = (
    "cluster=partitions",
    "cluster.machines=[{type: dgx_h100, count: 2, pool: a}, {type: dgx_h100, count: 1, pool: b}]",
)
HEADER = "job_id,submit_s,gpus,duration_s,vc,partition,started_s,model\n"
WIDE = "date,a,b,total\n2020-05-01,16,8,24\n2020-05-02,16,12,28\n2020-05-03,8,16,24\n"


@pytest.fixture(scope="module")
def topology() -> Topology:
    """Return the default: 8 machines to a rack, 8 GPUs each."""
    return load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))


def write_jobs(*rows: str) -> None:
    """Write jobs of `job_id,submit_s,gpus,duration_s,vc[,partition,started_s]`."""
    lines = [
        ",".join([*cells, *[""] * (7 - len(cells)), "ResNet50"]) for cells in (row.split(",") for row in rows)
    ]
    Path("jobs.csv").write_text(HEADER + "\n".join(lines) + "\n")


def waits() -> dict[str, float]:
    """Return the queueing of each job of all runs, in seconds."""
    tables = [pd.read_parquet(path) for path in sorted(Path("runs").rglob("jobs.parquet"))]
    return {row.job_id: round(row.queueing_s, 3) for table in tables for row in table.itertuples()}


# --- jobs in partitions


def test_notes_of_policies_are_of_their_partitions_and_come_once(artist: Artist) -> None:
    """DRF notes that no job has a user, in both partitions: once. Lyra, which knows no pool a, is in none."""
    write_jobs("a1,0,8,100,a", "b1,0,8,100,b")
    drf = artist("workload=csv", "workload.path=jobs.csv", "policy=coda_drf", *TWO, "network=zero")
    assert drf.err.count("no job has a user") == 1
    lyra = artist("workload=csv", "workload.path=jobs.csv", "policy=lyra", *TWO, "network=zero")
    assert "it knows pools" not in lyra.err


def test_a_note_that_not_all_partitions_have_names_those_that_do() -> None:
    """Jobs of a are of two users, those of b of none."""
    jobs = [replace(job(f"{vc}{user}"), vc=vc, user=user) for vc, user in ("au", "av", ("b", ""))]
    (note,) = Partitions(Drf).notes(tiny_cluster(2, 4, pools=["a", "b"]), jobs)
    assert note.startswith("vc b: no job has a user")


def test_a_trace_is_read_once_for_the_largest_use(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table from which the machines are counted is also that of the jobs."""
    reads: list[object] = []
    table = CanonicalCsv.table
    monkeypatch.setattr(CanonicalCsv, "table", lambda self: reads.append(self) or table(self))
    write_jobs("a1,0,8,100,a,,0", "b1,0,8,100,b,,0")
    assert artist(*CSV, "cluster=partitions", "cluster.shares=largest", "network=zero").code == 0
    assert len(reads) == 1


def test_jobs_run_in_their_partition_only(artist: Artist) -> None:
    """B has 8 GPUs: b2 waits 100 s for b1 although a has 16 free. As one pool nothing waits."""
    write_jobs("b1,0,8,100,b", "b2,0,8,100,b", "a1,0,8,100,a")
    assert artist(*CSV, *TWO, "network=zero").code == 0
    assert waits() == {"b1": 0, "b2": 100, "a1": 0}
    assert artist(*CSV, *TWO, "network=zero", "cluster.one_pool=true", "output.dir=one/runs").code == 0
    (path,) = Path("one").rglob("jobs.parquet")
    assert pd.read_parquet(path)["queueing_s"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("policy", "network"),
    [("fifo_backfill", "analytical"), ("dally", "analytical"), ("muri_l_events", "zero")],
)
def test_a_run_of_all_partitions_equals_a_run_for_each(artist: Artist, policy: str, network: str) -> None:
    """With and without communication, and for a policy of leases: all columns of one pool's run are equal."""
    rng = np.random.default_rng(5)
    gpus, at, length = rng.choice([1, 2, 4, 8, 16], 40), rng.integers(0, 4000, 40), rng.integers(60, 9000, 40)
    at[:2] = 0  # so that each partition's time begins with that of both
    write_jobs(*(f"j{i},{at[i]},{gpus[i]},{length[i]},{'ab'[i % 2]}" for i in range(40)))
    given = *CSV[:2], f"policy={policy}", f"network={network}", "cluster.machines_per_rack=2"
    groups = {vc: f"{{type: dgx_h100, count: 2, pool: {vc}}}" for vc in "ab"}
    assert artist(*given, "cluster=partitions", f"cluster.machines=[{groups['a']}, {groups['b']}]").code == 0
    together = (
        pd.read_parquet(*Path("runs").rglob("jobs.parquet")).set_index("job_id").drop(columns="on_loan_s")
    )
    for vc, group in groups.items():
        alone = artist(*given, f"cluster.machines=[{group}]", f"workload.vcs=[{vc}]", f"output.dir={vc}/runs")
        assert alone.code == 0
        apart = pd.read_parquet(*Path(vc).rglob("jobs.parquet")).set_index("job_id")
        pd.testing.assert_frame_equal(together.loc[apart.index], apart)


def test_a_partition_may_be_slurms(artist: Artist) -> None:
    """The column `partition` names the pool where `partition_by` says so, whatever the virtual cluster is."""
    write_jobs("x,0,8,100,b,b", "y,0,8,100,a,b", "z,0,8,100,b,a")
    assert artist(*CSV, *TWO, "network=zero", "cluster.partition_by=partition").code == 0
    assert waits() == {"x": 0, "y": 100, "z": 0}


@pytest.mark.parametrize(
    ("row", "settings", "message"),
    [
        (
            "j,0,8,10,c",
            (),
            "job 'j', vc: its vc has no machines\n  found 'c'; allowed: a pool of the cluster: a, b",
        ),
        (
            "j,0,8,10,",
            (),
            "job 'j', vc: its vc has no machines\n  found ''; allowed: a pool of the cluster: a, b",
        ),
        (
            "j,0,16,10,b",
            (),
            "job 'j': it can never fit the machines of its vc, b\n  found '16 GPUs'; allowed: 1..8 GPUs",
        ),
        ("j,0,8,10,a", ("policy.pool=a",), "policy.pool: pools are partitions"),
        ("j,0,8,10,a", ("cluster.partition_by=queue",), "cluster.partition_by"),
        ("j,0,8,10,a", ("cluster.shares=largest",), "cluster: cluster.shares says how many machines"),
        (
            "j,0,8,10,a",
            ("cluster.machines=null", "cluster.shares=largest"),
            "cluster.shares: the trace does not say",
        ),
        (
            "j,0,8,10,,p,0",
            ("cluster.machines=null", "cluster.shares=largest"),
            "cluster.partition_by: no job of the trace names its vc\n  found 'vc'; allowed: partition or",
        ),
        (
            "j,0,8,10,a",
            ("cluster.partition_by=null", "cluster.one_pool=true"),
            "cluster: cluster.one_pool joins",
        ),
        (
            "j,0,8,10,a",
            ("cluster.shares_since=2020-05-01",),
            "cluster: cluster.shares_since is a date of a file",
        ),
        ("j,0,8,10,a", ("cluster.scale=0",), "cluster.scale"),
        ("j,0,8,10,a", ("cluster.whole_machines=true",), "cluster.whole_machines"),
        ("j,0,8,10,a", ("cluster.whole_machines=multiples",), "allowed: workload.unit=machine"),
        (
            "j,0,8,10,a",
            ("cluster.more={c: 1}",),
            "cluster.more: no such pool\n  found 'c'; allowed: a pool of the cluster: a, b",
        ),
        (
            "j,0,8,10,a",
            ("cluster.more={b: -1}",),
            "cluster.more: no machine would be left\n  found '1 of the 1 machines of b'; allowed: fewer",
        ),
        ("j,0,8,10,a", ("cluster.more=1.5",), "cluster.more"),
    ],
)
def test_what_cannot_run_is_refused(
    refused: Callable[..., str], row: str, settings: tuple[str, ...], message: str
) -> None:
    """Before the clock starts, in two lines: where and what, found and allowed."""
    write_jobs(row)
    assert message in refused(*CSV, *TWO, *settings)


@pytest.mark.parametrize(
    ("rule", "gpus", "wait_s"),
    [
        ("cluster.whole_machines=null", 8, 0),
        ("workload.unit=machine", 8, 40),
        ("cluster.whole_machines=all", 8, 40),
        ("workload.unit=machine", 5, 0),
        ("cluster.whole_machines=all", 5, 40),
    ],
)
def test_whole_machines_are_for_multiples_or_for_all(
    artist: Artist, rule: str, gpus: int, wait_s: float
) -> None:
    """From 50 s on 4 GPUs are free on each of a's machines, and from 100 s on the first is whole.

    Two jobs of 4 GPUs share m0, and the second of these ends at 50 s; the third is on m1. A job of 8 GPUs at
    60 s starts at once on both, or takes the whole m0 at 100 s; one of 5 GPUs waits for one machine with all.
    """
    write_jobs("s1,0,4,100,a", "s2,0,4,50,a", "s3,0,4,200,a", f"x,60,{gpus},50,a")
    assert artist(*CSV, *TWO, "network=zero", rule).code == 0
    assert waits() == {"s1": 0, "s2": 0, "s3": 0, "x": wait_s}


# --- machines by pool and date


def by_shares(
    topology: Topology, text: str, **fields: object
) -> tuple[list[str], list[tuple[float, str, str]]]:
    """Return the pools of the machines present at the start, and the events as (days, type, pool)."""
    Path("shares.csv").write_text(text)
    config = ClusterConfig.model_validate({"shares": "shares.csv", **fields})
    cluster, events = build_cluster(config, topology)
    machines = cluster.machines
    return (
        [machine.pool for machine in machines if machine.present],
        [(event.time_ns / 86_400e9, event.type, machines[event.machine].pool) for event in events],
    )


def test_machines_join_and_leave_by_date(
    topology: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A has 16, 16, 8 GPUs: 2, 2, 1 machines; b 8, 12, 16: 1, 2 (12 GPUs need two), 2; `total` is no pool."""
    monkeypatch.chdir(tmp_path)
    events = [(1, "join", "b"), (2, "leave", "a")]
    assert by_shares(topology, WIDE) == (["a", "a", "b"], events)
    long = "date,pool,machines\n2020-05-03,a,1\n2020-05-01,a,2\n2020-05-01,b,1\n2020-05-02,b,2\n"
    assert by_shares(topology, long) == (["a", "a", "b"], events)
    assert by_shares(topology, WIDE, shares_since="2020-05-02 12:00") == (
        ["a", "a", "b", "b"],
        [(0.5, "leave", "a")],
    )
    assert by_shares(topology, WIDE, pools=["b"]) == (["b"], events[:1])
    assert by_shares(topology, WIDE, scale=0.5) == (["a", "b"], [])
    assert by_shares(topology, WIDE, more=2) == (["a"] * 3 + ["b"] * 2, events)  # one each, at all dates


@pytest.mark.parametrize(
    ("fields", "machines"),
    [
        ({"more": 2}, "aaabb"),
        ({"more": -1}, "ab"),
        ({"more": {"b": 2}}, "aabbb"),
        ({"more": {"a": -1, "b": 1}}, "abb"),
        ({"more": 1, "scale": 2}, "aaaaabb"),
    ],
)
def test_more_machines_are_shared_by_size_or_given_by_pool(
    topology: Topology, fields: dict[str, object], machines: str
) -> None:
    """Of 2 more, a with two of three machines gets 4/3 and b 2/3: one, and the rest goes to b.

    Of 1 fewer, 2/3 are of a and 1/3 of b: a's. Of 4 and 2 machines, one more is 2/3 a's.
    """
    groups = [{"type": "dgx_h100", "count": count, "pool": pool} for pool, count in (("a", 2), ("b", 1))]
    cluster, _ = build_cluster(ClusterConfig.model_validate({"machines": groups} | fields), topology)
    assert "".join(machine.pool for machine in cluster.machines) == machines


def test_a_count_that_differs_on_one_date_is_a_fault(
    topology: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on 2020-05-09 in the shipped example's cluster, where all pools but one have 0 for a day."""
    monkeypatch.chdir(tmp_path)
    text = "date,a,b\n2020-05-01,16,0\n2020-05-02,0,16\n2020-05-03,16,0\n2020-05-04,8,0\n"
    assert by_shares(topology, text) == (["a", "a"], [(3, "leave", "a")])
    assert "the counts of a, b differ on 2020-05-02 alone" in caplog.text


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ("day,a\n2020-05-01,8\n", {}, "shares.csv, date: column is missing"),
        ("date,a\nMay 1,8\n", {}, "shares.csv, line 2, date: no date"),
        ("date,a\n2020-05-01,-8\n", {}, "shares.csv, line 2, a: no count"),
        ("date,a\n2020-05-01,\n", {}, "shares.csv, line 2, a: no count"),
        ("date,a\n2020-05-01,0\n", {}, "cluster.shares: no cluster"),
        ("date,total\n2020-05-01,8\n", {}, "shares.csv: no pools"),
        ("date,pool\n2020-05-01,a\n", {}, "shares.csv: column is missing"),
        (WIDE, {"pools": ["c"]}, "cluster.pools: no such pool"),
        (WIDE, {"shares_since": "2020-04-30"}, "cluster.shares_since: no count for this date"),
        (WIDE, {"shares_since": "2020-05-04"}, "cluster.shares_since: no count for this date"),
    ],
)
def test_a_wrong_file_of_shares_is_refused(
    topology: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fields: Any, message: str
) -> None:
    """With file, line and column."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        by_shares(topology, text, **fields)


def test_the_largest_use_is_in_whole_machines() -> None:
    """a: 8 + 4 GPUs at once from 5 to 10 s, 12, so 2 machines of 8; the 16 that start at 20 s are 2 as well.

    One that starts when another ends is not beside it: 8 and 8, one machine. c's only job never started.
    """
    start = np.array([0, 5, 20, 0, 10, np.nan])
    shares = largest_use(["a", "a", "a", "b", "b", "c"], np.array([8, 4, 16, 8, 8, 20]), start, start + 10, 8)
    assert shares == Shares([0.0], {"a": [2], "b": [1], "c": [3]})


def test_largest_gives_each_partition_its_machines(artist: Artist) -> None:
    """At 10 s a used 16 GPUs, two machines, and b 1, one machine: a3, of 12 s, waits for a1 until 100 s."""
    write_jobs("a1,0,8,100,a,,0", "a2,10,8,100,a,,10", "a3,12,8,50,a,,100", "b1,0,1,5,b,,0")
    assert artist(*CSV, "cluster=partitions", "cluster.shares=largest", "network=zero").code == 0
    assert waits() == {"a1": 0, "a2": 0, "a3": 88, "b1": 0}


def test_scaled_counts_are_rounded_half_up() -> None:
    """0.85 of 26 are 22.1; half a machine more counts; no pool loses its last machine."""
    assert [scaled(26, 0.85), scaled(3, 0.5), scaled(1, 0.1)] == [22, 2, 1]
