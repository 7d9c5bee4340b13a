"""Runs of language models with a plan: durations are the anchor, placement adds to them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.data import data_path
from artist.describe.command import main as describe
from netmodels.api import AnalyticalModel, Contention, Plan, language_profile, load_topology, shape_of
from netmodels.astra_sim.chakra import COLLECTIVE, COMPUTE
from tests.astra_sim.drawn_traces import node, write

Artist = Callable[..., Any]

HEADER = "job_id,submit_s,gpus,duration_s,model,plan,min_gpus,max_gpus,mixed_types\n"
CSV = "workload=csv", "workload.path=jobs.csv", "policy=fifo"
RAILS = "topology=h100_rails", "cluster.machines_per_rack=32", "cluster.racks=1"
PLAN = Plan.parse("tp8 pp2 zero1 gb32")


def jobs_of(artist: Artist, row: str, *more: str) -> pd.Series:
    """Return the one job of a run of `job_id,submit_s,gpus,duration_s,...`."""
    Path("jobs.csv").write_text(HEADER + row + "\n")
    assert artist(*CSV, *RAILS, *more, tiny=False).code == 0
    (path,) = Path("runs").rglob("jobs.parquet")
    return pd.read_parquet(path).iloc[0]


def test_a_duration_is_compute_and_placement_adds_to_it(artist: Artist) -> None:
    """3,600 s of compute on two machines, and the share that the network model exposes there."""
    job = jobs_of(artist, "a,0,16,3600,Llama3-70B,tp8 pp2 zero1 gb32,,,")
    fabric = load_topology(data_path("topologies", "h100_rails.yaml"))
    shape = ((("hgx_h100", 8), ("hgx_h100", 8)),)
    profile = language_profile("Llama3-70B", PLAN)
    answer = AnalyticalModel().iteration(profile, shape, fabric.fabric, fabric.system())
    assert job["model"] == f"Llama3-70B {PLAN}"
    assert 0.05 < answer.exposed_ns / answer.compute_ns < 0.5
    assert job["jct_s"] == pytest.approx(3600 * (1 + answer.exposed_ns / answer.compute_ns), rel=1e-6)


def test_an_elastic_job_follows_the_pipeline(artist: Artist) -> None:
    """On half of its GPUs it takes less than twice as long: twice the micro batches, as many idle ones.

    Six of them on 4 stages take (6 + 3) / 6 of their time, twelve (12 + 3) / 12: 2 x 15 / 18; the output of
    the last stage and the update change that by less than 2 %.
    """
    row, half = "a,0,64,3600,Llama3-70B,tp8 pp4 zero1 gb12,32,64,", "{type: hgx_h100, count: 4}"
    job = jobs_of(artist, row, f"cluster.machines=[{half}]", "policy=lyra", "network=zero")
    assert job["jct_s"] == pytest.approx(3600 * 2 * 15 / 18, rel=0.02)


@pytest.mark.parametrize(
    ("row", "more", "words"),
    [
        ("a,0,8,60,Llama3-70B,tp8,,,", (), ["it does not fit", "141.1 GB of state"]),
        ("a,0,8,60,,tp8,,,", (), ["jobs.csv, line 2: model is missing", "that of the plan"]),
        ("a,0,8,60,Llama3-70B,,,,", (), ["it does not fit", "1,128.8 GB"]),
        ("a,0,16,60,Llama3-70B,tp8 pp2 nvfp4,,,", (), ["in this precision", "nvfp4", "bf16"]),
        ("a,0,16,60,Llama3-70B,tp8 pp2 zero1,,,", ("topology=pcie_10g",), ["GTX1080Ti", "H100"]),
        ("a,0,16,60,Llama3-70B,tp8 pp2 zero1,,,1", (), ["mixed GPU types in a replica"]),
        (
            "a,0,16,60,Llama3-70B,tp8 pp2 zero1,,,",
            ("network.system.collectives=astra_sim", "performance.contention=mean_field"),
            ["only NCCL's collectives of plans share links", "performance.contention=none"],
        ),
    ],
)
def test_what_nothing_prices_is_refused_with_its_row(
    refused: Callable[..., str], row: str, more: tuple[str, ...], words: list[str]
) -> None:
    """Before the clock starts: memory, precision, GPU, mixed types, contention by ASTRA-sim's collectives."""
    Path("jobs.csv").write_text(HEADER + row + "\n")
    message = refused(*CSV, *RAILS, *more, tiny=False)
    for word in ["jobs.csv, line 2", *words]:
        assert word in message


def test_ranks_followed_one_by_one_add_their_exposed_time(artist: Artist) -> None:
    """ASTRA-sim's collectives: 60 s x (1 + exposed / compute) of the step on two machines."""
    row = "a,0,16,60,Llama3-8B,tp8 pp2 gb8,,,"
    Path("jobs.csv").write_text(HEADER + row + "\n")
    ranks = "network.system.preset=papers", "network.system.collectives=astra_sim", "output.dir=ranks"
    assert artist(*CSV, *RAILS, *ranks, tiny=False).code == 0
    (path,) = Path("ranks").rglob("jobs.parquet")
    topology = load_topology(data_path("topologies", "h100_rails.yaml"))
    profile = language_profile("Llama3-8B", Plan.parse("tp8 pp2 gb8"))
    system = replace(topology.system("papers"), collectives="astra_sim")
    shape = shape_of((0, "hgx_h100", 8) for _ in range(2))
    answer = AnalyticalModel().iteration(profile, shape, topology.fabric, system)
    assert answer.exposed_ns > 0
    expected = pytest.approx([60 * answer.total_ns / answer.compute_ns], rel=1e-6)
    assert pd.read_parquet(path)["jct_s"].tolist() == expected


def test_a_job_of_ones_own_traces_takes_its_ranks(artist: Artist, refused: Callable[..., str]) -> None:
    """Two ranks compute 30 us and gather: 60 s x (1 + exposed / 30 us). 4 GPUs are refused."""
    nodes = [[node(1, COMPUTE, [], 30), node(2, COLLECTIVE, [1], comm_type=2, comm_size=1)]] * 2
    Path("mine").mkdir()
    write(Path("mine"), nodes, {})
    Path("mine.yaml").write_text("models:\n  Mine: {chakra: mine}\n")
    settings = *CSV, "network.profiles=mine.yaml", "topology=dgx_h100_3tier", "network.system.preset=papers"
    Path("jobs.csv").write_text("job_id,submit_s,gpus,duration_s,model\na,0,4,60,Mine\n")
    message = refused(*settings, tiny=False)
    assert "jobs of model Mine, mine: a trace of other GPUs" in message
    Path("jobs.csv").write_text("job_id,submit_s,gpus,duration_s,model\na,0,2,60,Mine\n")
    assert artist(*settings, "output.dir=traced", tiny=False).code == 0
    (path,) = Path("traced").rglob("jobs.parquet")
    delays, hop = 2 * 10, 600  # of a byte through the switch of a machine: 2 x 300 ns
    expected = 60 * (1 + (delays + hop) / 30_000)
    assert pd.read_parquet(path)["jct_s"].tolist() == pytest.approx([expected], rel=1e-6)


NARROW = "cluster.machines_per_rack=2", "cluster.racks=3", "topology.oversubscription.rack=4"
"""Racks of two machines with an uplink of 2 x 400 / 4 = 200 byte/ns; two jobs on three machines share one."""


def times_of(artist: Artist, rows: str, way: str, *more: str) -> pd.DataFrame:
    """Return the jobs of a run in which they share links in some way."""
    Path("jobs.csv").write_text(HEADER + rows)
    more = *NARROW, f"performance.contention={way}", f"output.dir=run_{way}_{len(rows)}", *more
    assert artist(*CSV, *RAILS, *more, tiny=False).code == 0
    (path,) = Path(f"run_{way}_{len(rows)}").rglob("jobs.parquet")
    return pd.read_parquet(path)


def added_to_both(plan: str) -> float:
    """Return the time that two such jobs add to each other's steps, as a part of their compute."""
    topology = load_topology(data_path("topologies", "h100_rails.yaml"))
    fabric, nccl = topology.fabric, topology.fabric.nccl
    assert nccl is not None
    nccl = replace(nccl, network=replace(nccl.network, rack_gb_s=200 * nccl.network.gpu_gb_s / 50))
    fabric = replace(fabric, network=(replace(fabric.network[0], rack_bytes_per_ns=200.0),), nccl=nccl)
    machines = [(machine // 2, machine, "hgx_h100", 8) for machine in range(6)]
    shared = Contention("mean_field", machines, fabric, topology.system())
    profile = language_profile("Llama3-8B", Plan.parse(plan))
    pair = [shared.traffic(profile, machines[:3]), shared.traffic(profile, machines[3:])]
    return (shared.together(pair)[0] - pair[0].alone_ns) / pair[0].compute_ns


def test_rings_on_one_uplink_slow_each_other_and_a_job_alone_is_as_without(artist: Artist) -> None:
    """The time that each adds to a step, as a part of its compute, adds it to the hour; alone nothing."""
    row, added = "0,24,3600,Llama3-8B,tp8 zero1 gb24,,,\n", added_to_both("tp8 zero1 gb24")
    (alone_s,) = times_of(artist, f"a,{row}", "none")["jct_s"]
    assert times_of(artist, f"a,{row}", "mean_field")["jct_s"].tolist() == [alone_s]
    assert 0.001 < added < 0.5
    result = times_of(artist, f"a,{row}b,{row}", "mean_field")["jct_s"]
    assert result.tolist() == pytest.approx([alone_s + 3600 * added] * 2, rel=1e-6)


def test_elastic_jobs_share_links_at_the_size_that_they_hold(artist: Artist) -> None:
    """Each asks for 48 GPUs and holds 24: as jobs of 24, of which each adds the same part of its compute."""
    row = "0,48,3600,Llama3-8B,tp8 zero1 gb60,24,48,\n"
    jobs = times_of(artist, f"a,{row}b,{row}", "mean_field", "policy=lyra")
    assert (jobs["gpu_held_s"] / jobs["running_s"]).tolist() == pytest.approx([24, 24], rel=0.01)
    expected = [added_to_both("tp8 zero1 gb60")] * 2
    assert (jobs["contention_s"] / jobs["compute_s"]).tolist() == pytest.approx(expected, rel=1e-6)


def test_shifts_of_jobs_with_a_plan_are_noted(artist: Artist) -> None:
    """CASSINI shifts jobs that are followed in time, and those with a plan are not."""
    Path("jobs.csv").write_text(HEADER + "a,0,16,60,Llama3-8B,tp8 zero1,,,\nb,0,16,60,VGG16,,,,\n")
    result = artist(*CSV, *RAILS, "policy=cassini", "performance.contention=packets", tiny=False)
    assert "policy.shifts=interleaved does nothing for 1 of 2 jobs: with a plan" in result.err


def test_iterations_without_a_duration_take_the_models_step(artist: Artist, capsys: Any) -> None:
    """Ten steps on a free network take ten times the compute of one; the note states the error."""
    Path("jobs.csv").write_text(
        "job_id,submit_s,gpus,iterations,model,plan\na,0,16,10,Llama3-70B,tp8 pp2 zero1 gb32\n"
    )
    result = artist(*CSV, *RAILS, "network=zero", tiny=False)
    assert result.code == 0
    (path,) = Path("runs").rglob("jobs.parquet")
    program = language_profile("Llama3-70B", PLAN).program
    assert program is not None
    assert pd.read_parquet(path).iloc[0]["jct_s"] == pytest.approx(program.free_ns(16) / 1e8, rel=1e-6)
    assert "1 of 1 jobs have iterations of a plan and no duration" in result.err


@pytest.mark.parametrize(
    ("header", "row", "more", "words"),
    [
        ("iterations,model,plan", "10,VGG16,", (), ["line 2: duration_s is missing"]),
        ("iterations,model,plan", ",Llama3-70B,tp8 pp2", (), ["line 2: duration_s is missing"]),
        ("iterations,model,plan,started_s", "10,Llama3-8B,zero1,5", (), ["duration_s is missing"]),
        (
            "iterations,model,plan",
            "10,Llama3-8B,zero1",
            ("workload.min_duration_s=60",),
            ["min_duration_s, max_duration_s: jobs with a plan and no duration"],
        ),
        ("iterations,model,plan", "9e12,Llama3-8B,zero1", (), ["job 'a': too long to count"]),
    ],
)
def test_what_says_nothing_of_its_time_is_refused(
    refused: Callable[..., str],
    header: str,
    row: str,
    more: tuple[str, ...],
    words: list[str],
) -> None:
    """No plan, no iterations, a real start, a filter by run time; and steps of centuries."""
    Path("jobs.csv").write_text(f"job_id,submit_s,gpus,{header}\na,0,16,{row}\n")
    message = refused(*CSV, *RAILS, *more, tiny=False)
    for word in words:
        assert word in message


def test_a_description_asks_for_durations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`artist-trace` prices no plan, and says so with the row."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,gpus,iterations,model,plan\na,0,16,10,Llama3-70B,tp8 pp2 zero1 gb32\n")
    assert describe(["workload=csv", f"workload.path={path}", *RAILS]) == 2
    assert "line 2: duration_s is missing" in capsys.readouterr().err


def test_a_precision_of_drawn_jobs_is_refused_by_its_setting(refused: Callable[..., str]) -> None:
    """The V100 of that topology has no bf16. One setting is for all jobs: no file or row is at fault."""
    message = refused("workload=llm", "workload.jobs=5", "topology=cloud_ethernet", tiny=False)
    assert message.startswith("workload.precision, job job-1: no training was measured on V100")
    assert "found 'bf16'; allowed: workload.precision=fp16" in message
