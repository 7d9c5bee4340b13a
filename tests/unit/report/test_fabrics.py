"""The best fabric, other differences between fabrics, and the part of the network."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.recording.names import NO_COMMUNICATION
from artist.report.words.axes import axes
from artist.report.words.fabrics import fabrics, no_part
from artist.results.compare import Comparison, compare
from artist.results.folder import read_run

MACHINES = {"near": ("h100", "H100", 1.0), "mid": ("h100", "H100", 1.0), "far": ("v100", "V100", 0.3)}
Make = Callable[..., Comparison]


@pytest.fixture
def make(run_folder: Callable[..., Path], tmp_path: Path) -> Make:
    """Write runs with the mean JCTs given by policy and seed along the fabrics near, mid and far."""

    def make(means: Mapping[str, Sequence[Sequence[float]]], **workload: Any) -> Comparison:
        runs = []
        for policy, rows in means.items():
            for name, seeds in zip(MACHINES, rows, strict=False):
                kind, gpu, speed = MACHINES[name]
                types = {kind: {"gpus": 2, "gpu_type": gpu, "speed": speed}}
                topology = {"name": name, "default_machine_type": kind, "machine_types": types}
                for seed, mean_s in enumerate(seeds):
                    config = {"policy": {"name": policy}, "seed": seed, "topology": topology}
                    config |= {"workload": workload} if workload else {}
                    run = read_run(run_folder(tmp_path / f"{policy}{name}{seed}", config))
                    run.summary["jct_s"]["mean"] = mean_s
                    run.summary["comm_overhead"] |= {"mean": 0.0, "p95": 0.0, "by_gpu_time": 0.0}
                    runs.append(run)
        return compare(runs)

    return make


def said(comparison: Comparison, gpus: Sequence[float] = (), shares: Sequence[float] = ()) -> str:
    """Return the sentences on the fabrics."""
    (axis,) = (axis for axis in axes(comparison) if axis.key == "topology.name")
    return fabrics(axis, comparison, gpus, shares)


def test_the_best_fabric_is_named_with_its_distance(make: Make) -> None:
    """Under fifo 100 s near, 100.5 s mid (level), 150 s far (50 % more); under srtf 60, 90 and 66 s."""
    compared = make(
        {"fifo": [[100.0], [100.5], [150.0]], "srtf": [[60.0], [90.0], [66.0]]}, measured_on="cluster"
    )
    assert said(compared, shares=[0.0005] * 5 + [0.051]) == (
        "near has the lowest mean JCT, or one within 1 % of it, in both cases, mid in 1. Mean JCTs are "
        "furthest apart under fifo: 1.67 min on near and mid and 2.50 min on far (50 % longer). Over all "
        "jobs, communication adds to computing at most 0.05 % on far and mid, at most 5.1 % (under srtf) on "
        "near. GPUs differ, too (V100 on far, H100 on mid and "
        "near): durations are taken as measured on each cluster's own GPUs, so speeds of GPUs are not "
        "compared."
    )


def test_fabrics_that_are_level_hardly_matter(make: Make) -> None:
    """100 s and 100.5 s: 0.5 % above the lower."""
    assert said(make({"fifo": [[100.0], [100.5]]})).startswith(
        "It hardly matters: mean JCTs on mid and near are at most 0.50 % apart."
    )


@pytest.mark.parametrize(("far", "chance"), [([110.0, 165.0, 220.0], False), ([90.0, 165.0, 240.0], True)])
def test_a_difference_not_in_every_seed_may_be_chance(make: Make, far: list[float], chance: bool) -> None:
    """Near 100, 150 and 200 s; 10 % more with each seed is no chance; -10, 10, 20 % may be."""
    compared = make({"fifo": [[100.0, 150.0, 200.0], [100.0, 150.0, 200.0], far]})
    assert ("This may be chance." in said(compared)) == chance
    assert ("None is best for certain" in said(compared)) == chance


def test_other_speeds_and_sizes_are_warned_of(make: Make) -> None:
    """Nothing says what the durations hold for: the V100's part is not the network's. 64 and 128 GPUs."""
    text = said(make({"fifo": [[100.0], [100.0], [150.0]]}), (64.0, 128.0, 128.0))
    assert "(V100 on far, H100 on mid and near): part of the difference may be the speed of GPUs." in text
    assert text.endswith("The clusters differ in size, too: 64, 128 and 128 GPUs.")
    alike = said(make({"srtf": [[100.0], [150.0]]}), (64.0, 64.0))
    assert "differ" not in alike


@pytest.mark.parametrize(
    ("mean", "p95", "words"),
    [
        (0.0, 0.0, "The network hardly matters: computing hides all communication"),
        (
            0.0002,
            0.0004,
            "at most 0.04 % to the computing of 95 % of the jobs, 0.02 % to that of a job on",
        ),
        (
            0.004,
            0.0099,
            "at most 0.99 % to the computing of 95 % of the jobs, 0.40 % to that of a job on",
        ),
        (0.004, 0.01, ""),
        (0.01, 0.004, ""),
    ],
)
def test_the_network_hardly_matters_below_one_per_cent(
    make: Make, mean: float, p95: float, words: str
) -> None:
    """Less than 1 % of computing on average and at the 95th percentile, or not in one of two runs."""
    compared = make({"fifo": [[100.0], [100.0]]})
    run = compared.groups[1].runs[0]
    run.summary["comm_overhead"] |= {"mean": mean, "p95": p95}
    assert words in no_part(compared)
    assert bool(words) == bool(no_part(compared))


def test_jobs_inside_machines_need_no_network(make: Make) -> None:
    """On paper b runs on two machines; if it did not, every job ran inside one."""
    compared = make({"fifo": [[100.0]]})
    inside = "every job ran inside one machine"
    assert inside not in no_part(compared)
    compared.groups[0].runs[0].summary["placements"] = {"machine": 3, "rack": 0, "network": 0}
    assert inside in no_part(compared)


def test_a_long_job_that_communicates_counts_by_its_time(make: Make) -> None:
    """0.4 % of a job's computing on average, but 5 % summed: one long job communicates, and that matters."""
    compared = make({"fifo": [[100.0], [100.0]]})
    assert no_part(compared, [0.0, 0.0099]).endswith("and 0.99 % to that of all together")
    assert no_part(compared, [0.0, 0.05]) == ""


def test_few_jobs_on_many_gpus_that_communicate_matter(make: Make) -> None:
    """0.4 % of a job's computing on average, but 17.7 % by GPU time, which earlier runs lack."""
    compared = make({"fifo": [[100.0], [100.0]]})
    for group in compared.groups:
        del group.runs[0].summary["comm_overhead"]["by_gpu_time"]
    assert no_part(compared) != ""
    compared.groups[1].runs[0].summary["comm_overhead"]["by_gpu_time"] = 0.177
    assert no_part(compared) == ""


def test_without_a_network_no_sentence_on_fabrics_is_written(make: Make) -> None:
    """Runs whose communication takes no time are no evidence on networks."""
    compared = make({"fifo": [[100.0], [100.0]]})
    free = {"Network model": {"model": NO_COMMUNICATION}}
    compared.groups[0].runs[0].summary["setting"] = free
    assert no_part(compared).startswith("The network hardly matters")
    compared.groups[1].runs[0].summary["setting"] = free
    assert no_part(compared) == (
        "These runs say nothing about the network: communication was set to take no time"
    )
