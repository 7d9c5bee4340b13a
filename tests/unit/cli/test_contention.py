"""Runs whose jobs share links: what they leave, and that those of others leave none of it."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import artist
from artist.results.jobcolumns import PARTS, read_jobs
from artist.results.run import Run
from artist.results.tables import run_table
from artist.run.config import CONTENTION_PACKETS
from netmodels.profiles.profile import get_profile

JOBS = """job_id,submit_s,gpus,duration_s,model
a,0,12,600,VGG16
b,100,12,300,VGG16
c,200,1,600,VGG16
"""


def made(*more: str) -> Run:
    """Return a run on three machines of 8 GPUs and a 25 Gb/s port: a on two, b on the rest of one, and c."""
    Path("jobs.csv").write_text(JOBS)
    fixed = ["workload=csv", "workload.path=jobs.csv", "policy=fifo", "topology=cloud_ethernet"]
    return artist.simulate([*fixed, "cluster.machines=3", "cluster.racks=null", "output.name=shared", *more])


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


PAPERS = "network.system.preset=papers"  # whose rings can be followed in packets
FLOWS = ("performance.contention=packets", "performance.contention_packets=0", PAPERS)


@pytest.fixture(params=[("performance.contention=mean_field",), FLOWS], ids=["mean_field", "flows"])
def run(request: pytest.FixtureRequest) -> Run:
    """Each way of contention, of NCCL's collectives and of ASTRA-sim's; in time, at flow level."""
    return made(*request.param)


def test_each_job_s_slowdown(run: Run) -> None:
    """Time running / time running without contention; c, on one GPU, is slowed by none."""
    jobs = run.jobs.set_index("job_id")
    expected = jobs.running_s / (jobs.running_s - jobs.contention_s)
    assert list(jobs.contention_slowdown) == pytest.approx(list(expected))
    assert jobs.contention_slowdown["a"] > 1.01
    assert jobs.contention_slowdown["b"] > jobs.contention_slowdown["a"]
    assert jobs.contention_slowdown["c"] == 1
    assert run.summary["contention"]["jobs"] == pytest.approx(2 / 3)
    assert run.summary["contention"]["slowdown"] == pytest.approx(expected.mean())


def test_links_and_tiers_agree(run: Run) -> None:
    """The time-weighted mean of a tier's use is the mean of its links'; likewise the part contended."""
    links, tiers = run.table("links"), run.table("tiers")
    spans = np.diff(tiers.time_s)
    for tier in ("machine", "rack"):
        of_tier = links[links.tier == tier]
        for what in ("use", "contended"):
            series = tiers[f"{tier}_{what}"][:-1]
            assert (series * spans).sum() / spans.sum() == pytest.approx(of_tier[what].mean(), abs=1e-12)
        assert (tiers[f"{tier}_highest"] <= 1).all()
    ports = links[(links.tier == "machine") & (links.way == "out")].set_index("machine")
    assert (ports.use > 0).all()
    shared = ports[ports.contended > 0]
    assert len(shared) == 1
    b = run.jobs.set_index("job_id").loc["b"]
    assert float(shared.contended.iloc[0]) * tiers.time_s.iloc[-1] == pytest.approx(b.running_s)


def test_bytes_on_links_are_those_of_the_iterations(run: Run) -> None:
    """All-reduces of 12 GPUs: ASTRA-sim's ring puts 2 x 11 / 12 of the model on each port, NCCL's trees 1."""
    links, jobs = run.table("links"), run.jobs.set_index("job_id")
    end_s = run.table("tiers").time_s.iloc[-1]
    sent = (links.use * links.capacity_gbit_s)[links.way == "out"].sum() * end_s / 8
    alike = jobs.iterations["a"] + jobs.iterations["b"]
    per_iteration = sent / alike / 2  # on two ports
    gb = sum(layer.gradient_bytes for layer in get_profile("VGG16").layers) / 1e9
    share = 1 if run.config["network"]["system"]["preset"] == "machines" else 2 * 11 / 12
    assert per_iteration == pytest.approx(share * gb, rel=1e-3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["performance.contention=mean_field"], "contention_packets does nothing with contention=mean_field"),
        (
            ["performance.contention=packets", PAPERS, "network.system.across_machines=hierarchical"],
            "there are no packets to be followed",
        ),
        (["performance.contention=packets"], "there are no packets to be followed"),  # in NCCL's trees
        (["performance.contention=packets", "performance.contention_packets=-1"], "wrong value"),
        (["performance.contention=packets", "performance.contention_packets=1.5"], "wrong value"),
        (["performance.contention=average"], "mean_field, its new name"),
        (["performance.contention=phases"], "packets, its new name"),
    ],
)
def test_packets_that_are_not_followed_are_refused(given: list[str], told: str) -> None:
    """On average none are, and over ideal links there are none; nor is 0 a number of them."""
    with pytest.raises(artist.RunError, match=told):
        made("performance.contention_packets=null", *given)


def test_packets_are_followed_as_configured() -> None:
    """Too few of them: as fluids, another answer, and a note. The usual number stands in conf/config.yaml."""
    fixed = ["performance.contention=packets", "network.system.transport=windows", PAPERS]
    usual = made(*fixed)
    assert usual.config["performance"]["contention_packets"] == CONTENTION_PACKETS
    with pytest.warns(UserWarning, match="at flow level"):
        few = made(*fixed, "performance.contention_packets=100").jobs.contention_slowdown
    assert list(usual.jobs.contention_slowdown) != list(few)


def test_the_summary_counts_answers_by_level() -> None:
    """Both jobs share links from 100 s on: one component, at flow level where no packet is allowed."""
    levels = ("packets", "flow_level", "mean_field")
    for more, level in (
        (["performance.contention=mean_field"], "mean_field"),
        (FLOWS, "flow_level"),
    ):
        answers = made(*more).summary["contention_answers"]
        assert [name for name in levels if answers[name]] == [level]


@pytest.mark.parametrize(
    ("more", "cause", "share"),
    [
        (
            ["network.system.preset=papers", "performance.contention_packets=100"],
            "packets would be too many",
            1,
        ),
        (["network.system.preset=machines"], "only flat rings", 1),
        (["network.system.preset=papers", "performance.contention_packets=0"], "", 0),
    ],
)
def test_a_run_in_packets_tells_what_was_not(more: list[str], cause: str, share: int) -> None:
    """All of its answers are at flow level: told on the terminal and in the table, unless none were asked."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = made("performance.contention=packets", *more)
    assert [str(warning.message) for warning in caught if "flow level" in str(warning.message)] == [
        str(warning.message) for warning in caught if cause and cause in str(warning.message)
    ]
    assert len(caught) >= bool(cause)
    assert run.summary["contention_answers"]["fallback_share"] == share
    assert run.summary["contention_answers"]["flow_level"] > 0
    assert ("not in packets" in run_table(run.summary)) == bool(share)


def test_without_contention_nothing_of_it(tmp_path: Path) -> None:
    """No file, no column, no number."""
    plain = made()
    assert not {"links.parquet", "tiers.parquet"} & {path.name for path in plain.folder.iterdir()}
    assert "contention_slowdown" not in plain.jobs
    assert "contention" not in plain.summary


def test_contention_has_a_part_and_a_column_apart_from_communication(run: Run) -> None:
    """A column of a table of runs, and a part of its own of what completion times are made of."""
    assert f"{run.summary['contention']['slowdown']:.2f}" in run_table(run.summary)
    parts = read_jobs(run).parts_s
    alone, slowed = (parts[:, PARTS.index(name)] for name in ("exposed communication", "contention"))
    assert list(alone) == pytest.approx(list(run.jobs.exposed_comm_s))
    assert list(slowed) == pytest.approx(list(run.jobs.contention_s))
    assert slowed.max() > 0
    assert "contention" not in run_table(made("output.name=alone").summary)
