"""Runs of language models with a plan: durations are the anchor, placement adds to them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.data import data_path
from netmodels.api import AnalyticalModel, Contention, Plan, language_profile, load_topology, shape_of

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


def test_rings_on_one_uplink_slow_each_other_and_a_job_alone_is_as_without(artist: Artist) -> None:
    """Three machines each, in racks of two with an uplink of 2 x 400 / 4 = 200 byte/ns: rack 1 is shared.

    The time that each adds to a step, as a part of its compute, adds as much of the hour; alone nothing.
    """
    fabric = "cluster.machines_per_rack=2", "cluster.racks=3", "topology.oversubscription.rack=4"
    row = "0,24,3600,Llama3-8B,tp8 zero1 gb24,,,"
    jcts = {}
    for way, jobs in (("none", "a"), ("mean_field", "a"), ("mean_field", "ab")):
        Path("jobs.csv").write_text(HEADER + "".join(f"{job},{row}\n" for job in jobs))
        more = *fabric, f"performance.contention={way}", f"output.dir={way}_{jobs}"
        assert artist(*CSV, *RAILS, *more, tiny=False).code == 0
        (path,) = Path(f"{way}_{jobs}").rglob("jobs.parquet")
        jcts[way, jobs] = pd.read_parquet(path)["jct_s"].tolist()
    (alone_s,) = jcts["none", "a"]
    assert jcts["mean_field", "a"] == [alone_s]
    topology = load_topology(data_path("topologies", "h100_rails.yaml"))
    rack = replace(topology.fabric.network[0], rack_bytes_per_ns=200.0)
    nccl = topology.fabric.nccl
    assert nccl is not None
    nccl = replace(nccl, network=replace(nccl.network, rack_gb_s=200 * nccl.network.gpu_gb_s / 50))
    narrow = replace(topology.fabric, network=(rack,), nccl=nccl)
    machines = [(machine // 2, machine, "hgx_h100", 8) for machine in range(6)]
    shared = Contention("mean_field", machines, narrow, topology.system())
    profile = language_profile("Llama3-8B", Plan.parse("tp8 zero1 gb24"))
    pair = [shared.traffic(profile, machines[:3]), shared.traffic(profile, machines[3:])]
    added = (shared.together(pair)[0] - pair[0].alone_ns) / pair[0].compute_ns
    assert 0.001 < added < 0.5
    assert jcts["mean_field", "ab"] == pytest.approx([alone_s + 3600 * added] * 2, rel=1e-6)
