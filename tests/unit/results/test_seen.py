"""Sentences on runs of a trace with real starts."""

from pathlib import Path

import pytest

from artist.results.compare import compare
from artist.results.run import Run
from artist.results.seen import seen_notes

GROUP = {"rank_correlation": 0.5, "queue_correlation": 0.8, "busy_correlation": None, "correlation": 0.9}


def run(policy, mean_s, vcs, **more):
    """Return a run that simulates these waits in all and in virtual clusters, where users met 100 s."""
    groups = [
        GROUP | {"by": "vc", "value": vc, "jobs": 5, "seen_mean_s": 100.0, "ratio": s / 100}
        for vc, s in vcs.items()
    ]
    alike = {"jobs": 10, "seen_mean_s": 100.0, "simulated_mean_s": mean_s, "ratio": mean_s / 100}
    seen = (
        GROUP | alike | {"groups": groups, "busy_ratio": 1.0, "median_correlation": None, "ran_not_placed": 0}
    )
    return Run(
        Path(policy),
        {
            "policy": policy,
            "seed": 0,
            "jobs": 10,
            "finished": 10,
            "stopped_by": "finished",
            "seen": seen | more,
        },
        {},
    )


def notes(*runs):
    """Return the sentences on runs."""
    return seen_notes(compare(runs))


def test_the_nearest_row_is_named_with_those_that_no_row_explains():
    """0.8 is nearer to 1 than 1.5; x within 30 % at 1.2, y 0.5 at best, under fifo, z 1.25 under srtf."""
    fifo = run("fifo", 150.0, {"x": 200, "y": 50, "z": 300})
    srtf = run("srtf", 80.0, {"x": 120, "y": 30, "z": 125})
    first, second, others, groups = notes(fifo, srtf)
    assert (
        first == "users met a mean wait of 1.667 min (10 jobs); srtf comes closest with 1.333 min, 0.80 of it"
    )
    assert second == (
        "correlation 0.90 by job, 0.50 of ranks, 0.80 of waiting jobs by hour; busy GPUs 1.00 of those met"
    )
    assert others == "the others, times the mean wait met: fifo 1.50"
    assert groups == "by virtual clusters: within 30 % for 2 of 3; none explains y (0.50)"


def test_twice_as_far_is_no_explanation():
    """2.1 times; 2.0 is said as it is."""
    assert notes(run("fifo", 210.0, {}))[-1].startswith("no row explains these waits")
    assert not notes(run("fifo", 200.0, {}))[-1].startswith("no row explains these waits")


def test_jobs_that_found_no_gpus_at_once_are_named():
    """The cluster is smaller than the site was."""
    assert notes(run("fifo", 100.0, {}, ran_not_placed=3))[-1].startswith("3 jobs that ran when the trace")


@pytest.mark.parametrize("mean_s", [None, 0.0])
def test_a_site_without_waits_needs_no_explanation(mean_s):
    """No job waited; without jobs nothing is said."""
    jobs = 0 if mean_s is None else 10
    said = notes(run("fifo", 0.0, {}, seen_mean_s=mean_s, ratio=None, jobs=jobs))
    assert said == (["no job waited on the site"] if jobs else [])


def test_runs_without_starts_say_nothing():
    """As most traces."""
    assert (
        seen_notes(
            compare(
                [
                    Run(
                        Path("a"),
                        {"policy": "fifo", "seed": 0, "jobs": 1, "finished": 1, "stopped_by": "finished"},
                        {},
                    )
                ]
            )
        )
        == []
    )
