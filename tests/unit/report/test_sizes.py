"""What is said about a number that was swept beside the policy."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.report.words.across import across
from artist.results.compare import Comparison, compare
from artist.results.folder import read_run


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Write runs with the mean JCTs that are given for each policy along a key of the cluster."""

    def make(
        means: Mapping[str, Sequence[float]], values: Sequence[Any], key: str = "machines"
    ) -> Comparison:
        runs = []
        for policy, row in means.items():
            for value, mean_s in zip(values, row, strict=True):
                config = {"policy": {"name": policy}, "seed": 0, "cluster": {key: value}}
                run = read_run(run_folder(tmp_path / f"{policy}-{value}", config))
                run.summary["jct_s"]["mean"] = mean_s
                runs.append(run)
        return compare(runs)

    return make


def test_from_where_on_more_machines_do_not_matter(comparison: Callable[..., Comparison]) -> None:
    """Level from 96 machines on at 100 s; at 64 srtf has 2 % more, fifo 84 %; 32 are far from it."""
    made = comparison(
        {"fifo": (900.0, 184.0, 100.4, 100.0), "srtf": (400.0, 102.0, 100.0, 100.0)}, (32, 64, 96, 133)
    )
    assert across(made) == (
        "Cluster size",
        "From 96 machines on, more machines change the mean JCT by less than 1 % under any policy; "
        "at 64 machines srtf is 2.0 % above the 1.67 min reached there and fifo 84 %.",
    )


def test_up_to_where_a_load_does_not_matter(comparison: Callable[..., Comparison]) -> None:
    """What gets worse with the key is level at its low end."""
    made = comparison({"fifo": (100.0, 100.5, 300.0), "srtf": (100.2, 100.0, 150.0)}, (0.5, 0.7, 0.9), "load")
    assert across(made) == (
        "Across cluster.load",
        "Up to cluster.load=0.7, cluster.load changes the mean JCT by less than 1 % under any policy; "
        "at cluster.load=0.9 srtf is 50 % above the 1.67 min reached there and fifo 200 %.",
    )


def test_where_nothing_is_level_the_change_is_said(comparison: Callable[..., Comparison]) -> None:
    """From 200 s to 100 s under fifo, from 100 s to 80 s under srtf: most and least."""
    made = comparison({"fifo": (200.0, 100.0), "srtf": (100.0, 80.0)}, (8, 16), "racks")
    assert across(made) == (
        "Cluster size",
        "From 8 to 16 racks, the mean JCT falls by 50 % under fifo and falls by 20 % under srtf.",
    )


def test_what_hardly_matters_is_said(comparison: Callable[..., Comparison]) -> None:
    """All within 1 %, under the only policy."""
    assert across(comparison({"fifo": (100.0, 100.5)}, (8, 16))) == (
        "Cluster size",
        "From 8 to 16 machines, the number of machines hardly matters: it changes the mean JCT by less than "
        "1 % under fifo.",
    )


@pytest.mark.parametrize(
    ("values", "means"), [(("a", "b"), (1.0, 2.0)), ((8,), (1.0,)), ((8, "none"), (1.0, 2.0))]
)
def test_words_are_no_axis(
    comparison: Callable[..., Comparison], values: Sequence[Any], means: Sequence[float]
) -> None:
    """Names, one value only, or a number beside none: nothing is said."""
    assert across(comparison({"fifo": means, "srtf": means}, values)) is None


def test_a_policy_without_all_values_is_left_out(comparison: Callable[..., Comparison]) -> None:
    """No job of las finished on 16 machines: the sentence is about the others."""
    made = comparison({"fifo": (200.0, 100.0), "las": (1.0, None)}, (8, 16))
    assert across(made) == (
        "Cluster size",
        "From 8 to 16 machines, the mean JCT falls by 50 % under fifo.",
    )
