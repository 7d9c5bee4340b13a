"""What the page says in words, on summaries whose outcome is plain."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from artist.report.words.findings import findings
from artist.report.words.wording import apart, duration, per_cent
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.scenarios import contest

Point = tuple[str, int, int, float]  # policy, racks, seed, mean JCT


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Write the run on paper with other mean completion times in its summaries."""

    def make(points: Sequence[Point]) -> Comparison:
        runs = []
        for i, (policy, racks, seed, mean_s) in enumerate(points):
            config = {"policy": {"name": policy}, "seed": seed, "cluster": {"racks": racks}}
            run = read_run(run_folder(tmp_path / str(i), config))
            run.summary["jct_s"]["mean"] = mean_s
            runs.append(run)
        return compare(runs)

    return make


def said(comparison: Comparison, topic: str) -> str:
    """Return what is said on a topic."""
    rows = [digest(group) for group in comparison.groups]
    return dict(findings(comparison, contest(comparison), rows))[topic]


MEAN = "Mean completion time (JCT)"


def test_the_best_is_named_with_its_distance(comparison: Callable[..., Comparison]) -> None:
    """100 s under fifo, 60 s under srtf, 75 s under las: srtf is 40 % below fifo, las 25 % above srtf."""
    points = [("fifo", 1, 0, 100.0), ("las", 1, 0, 75.0), ("srtf", 1, 0, 60.0)]
    assert said(comparison(points), MEAN) == (
        "srtf is lowest with 60.0 s, 40 % below fifo (1.67 min), and las is next, 25 % above it."
    )


def test_cases_are_told_apart(comparison: Callable[..., Comparison]) -> None:
    """At 1 rack srtf is best; at 2 and 3 racks the policies are within 1 %, which is said once."""
    points = [
        (policy, racks, 0, mean)
        for policy, means in (("fifo", (200.0, 50.0, 40.0)), ("srtf", (100.0, 50.1, 40.1)))
        for racks, mean in zip((1, 2, 3), means, strict=True)
    ]
    assert said(comparison(points), MEAN) == (
        "At 1 rack: srtf is lowest with 1.67 min, 50 % below fifo (3.33 min); "
        "at 2 and 3 racks: both policies are within 1 % of each other."
    )


def test_level_policies_are_not_ranked(comparison: Callable[..., Comparison]) -> None:
    """60 s and 60.5 s differ by 0.8 %: both are named, neither is called better than the other."""
    points = [("fifo", 1, 0, 100.0), ("las", 1, 0, 60.5), ("srtf", 1, 0, 60.0)]
    assert said(comparison(points), MEAN) == (
        "srtf is lowest with 60.0 s, level (within 1 %) with las, 40 % below fifo (1.67 min)."
    )


@pytest.mark.parametrize(
    ("fifo", "srtf", "words"),
    [
        ((100.0, 101.0, 102.0), (10.0, 10.5, 11.0), "do not overlap"),
        ((100.0, 150.0, 200.0), (90.0, 140.0, 190.0), "intervals overlap"),
    ],
)
def test_intervals_are_spoken_of(
    comparison: Callable[..., Comparison], fifo: Sequence[float], srtf: Sequence[float], words: str
) -> None:
    """101 +- 2.5 and 10.5 +- 1.2 are apart; 150 +- 124 and 140 +- 124 are not."""
    points = [
        (policy, 1, seed, mean)
        for policy, means in (("fifo", fifo), ("srtf", srtf))
        for seed, mean in enumerate(means)
    ]
    made = comparison(points)
    assert words in said(made, MEAN)
    assert "means over 3 seeds" in said(made, "Certainty")


def test_one_seed_is_called_one_seed(comparison: Callable[..., Comparison]) -> None:
    """Nothing is claimed to be certain from single runs."""
    points = [("fifo", 1, 0, 100.0), ("srtf", 1, 0, 60.0)]
    assert "may be chance" in said(comparison(points), "Certainty")


def test_two_seeds_have_no_intervals(comparison: Callable[..., Comparison]) -> None:
    """An interval takes three; without any, a difference may be chance."""
    points = [("fifo", 1, 0, 100.0), ("fifo", 1, 1, 110.0), ("srtf", 1, 0, 60.0)]
    assert said(comparison(points), "Certainty").startswith("Each row has fewer than 3 seeds: there are no")


def test_parts_that_work_against_each_other_are_times(
    run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """Under srtf b waits 9 s less but has 3 s of overheads: 3 s and -1 s of 2 s of the mean."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fifo, srtf = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("fifo", "srtf")
    )
    table = pq.read_table(srtf / "jobs.parquet")
    changed = {"queueing_s": [0.0] * 3, "overhead_s": [0.0, 3.0, 0.0], "jct_s": [10.0, 15.5, 4.0]}
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, srtf / "jobs.parquet")
    runs = [read_run(fifo), read_run(srtf)]
    runs[1].summary["jct_s"]["mean"] = 29.5 / 3
    assert (
        "Of the 2.00 s between them, queueing makes 3.00 s and overheads (lost work included) make "
        "\u22121.00 s; communication makes less than 1 %."
    ) in said(compare(runs), "Why")


def test_many_cases_are_counted(comparison: Callable[..., Comparison]) -> None:
    """6 clusters: srtf best on 5, fifo on 1; the widest gap, 60 %, is named with its place."""
    means = {"fifo": (100.0,) * 6, "srtf": (90.0, 80.0, 40.0, 70.0, 60.0, 150.0)}
    points = [
        (policy, racks, 0, mean) for policy, row in means.items() for racks, mean in enumerate(row, start=1)
    ]
    assert said(comparison(points), MEAN) == (
        "Of 6 cases that differ, lowest is srtf at 5, fifo at 1; "
        "the widest gap is srtf 60 % below fifo, at 3 racks."
    )


def test_reasons_are_where_the_time_went(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Under srtf b waits 0 s instead of 9 s: the mean falls by 3 s, all of it queueing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fifo, srtf = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("fifo", "srtf")
    )
    table = pq.read_table(srtf / "jobs.parquet")
    for name, values in (("queueing_s", [0.0, 0.0, 0.0]), ("jct_s", [10.0, 12.5, 4.0])):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, srtf / "jobs.parquet")
    runs = [read_run(fifo), read_run(srtf)]
    runs[1].summary["jct_s"]["mean"] = 26.5 / 3
    assert said(compare(runs), "Why") == (
        "The mean JCT is 8.83 s under srtf and 11.83 s under fifo. Queueing is 25 % of it under fifo and "
        "0.0 % under srtf. Of the 3.00 s between them, queueing makes practically all; communication and "
        "overheads (lost work included) make less than 1 % each."
    )


def test_computing_may_be_a_reason(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Twice the GPUs: each job computes for half as long, and runs so much shorter; b's queueing stays.

    The mean falls by (5 + 5 + 2) / 3 = 4 s, all of it computing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    slow, fast = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("slow", "fast")
    )
    table = pq.read_table(fast / "jobs.parquet")
    halved = {name: table[name].to_pylist() for name in ("compute_s", "running_s", "jct_s")}
    saved = [each / 2 for each in halved["compute_s"]]
    for name, values in halved.items():
        less = pa.array([value - gain for value, gain in zip(values, saved, strict=True)])
        table = table.set_column(table.column_names.index(name), name, less)
    pq.write_table(table, fast / "jobs.parquet")
    runs = [read_run(slow), read_run(fast)]
    runs[1].summary["jct_s"]["mean"] = runs[0].summary["jct_s"]["mean"] - 4
    assert "Of the 4.00 s between them, computing makes practically all;" in said(compare(runs), "Why")


def test_the_first_sentence_says_who_and_where(comparison: Callable[..., Comparison]) -> None:
    """At 1 rack srtf; at 2 racks las and srtf are level; at 3 racks nobody stands out."""
    means = {"fifo": (200.0, 90.0, 40.0), "las": (150.0, 50.1, 40.0), "srtf": (100.0, 50.0, 40.1)}
    points = [
        (policy, racks, 0, mean) for policy, row in means.items() for racks, mean in enumerate(row, start=1)
    ]
    assert said(comparison(points), "In short") == (
        "At 1 rack: srtf has the lowest mean JCT; at 2 racks: srtf and las have the lowest mean JCT; "
        "at 3 racks: the policy hardly changes the mean JCT."
    )


def test_what_intervals_leave_open_is_not_called_settled(comparison: Callable[..., Comparison]) -> None:
    """150 +- 124 and 140 +- 124: lower in the mean, and said to be open."""
    points = [("fifo", 1, seed, 100.0 + 50 * seed) for seed in range(3)]
    points += [("srtf", 1, seed, 90.0 + 50 * seed) for seed in range(3)]
    assert said(comparison(points), "In short") == (
        "srtf has the lowest mean JCT (not settled: the 95 % interval overlaps with another's)."
    )


def test_one_row_has_nothing_to_compare(comparison: Callable[..., Comparison]) -> None:
    """No best of one."""
    assert "nothing to compare" in said(comparison([("fifo", 1, 0, 1.0)]), "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (0.05, "under 0.1 s"), (9.0, "9.00 s"), (89.0, "89.0 s"), (90.0, "1.50 min"),
     (5400.0, "1.50 h"), (-600.0, "-10.0 min"), (1e6, "278 h")],
)  # fmt: skip
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    """Seconds up to 1.5 min, minutes up to 1.5 h, hours from there."""
    assert duration(seconds) == text


def test_per_cents() -> None:
    """A decimal below 10 %, none above."""
    assert [per_cent(part) for part in (0.0, 0.011, 0.0994, 0.46, 1.56)] == [
        "0.0 %",
        "1.1 %",
        "9.9 %",
        "46 %",
        "156 %",
    ]


@pytest.mark.parametrize(
    ("longer", "shorter", "texts"),
    [
        (13655.4, 7584.6, ("3.79 h", "2.11 h", "1.68 h")),  # 1.686 h apart, but 3.79 - 2.11 = 1.68
        (43200.0, 7200.0, ("12.00 h", "2.00 h", "10.00 h")),
        (6915.0, 6780.0, ("1.921 h", "1.883 h", "0.038 h")),  # not 1.92, 1.88 and 0.04
        (9.0, 8.0, ("9.00 s", "8.00 s", "1.00 s")),
    ],
)
def test_a_difference_is_that_of_what_is_said(
    longer: float, shorter: float, texts: tuple[str, str, str]
) -> None:
    """Who subtracts the two numbers of a sentence gets the third."""
    assert apart(longer, shorter) == texts


def test_what_the_best_costs_the_slowest_is_said(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """The best in the mean has a longest job of 200 s, 25 % longer than that of fifo; p99 is the same."""
    runs = []
    for policy, mean_s, max_s in (("fifo", 100.0, 160.0), ("srtf", 60.0, 200.0)):
        runs.append(read_run(run_folder(tmp_path / policy, {"policy": {"name": policy}, "seed": 0})))
        runs[-1].summary["jct_s"] |= {"mean": mean_s, "p99": 150.0, "max": max_s}
    assert said(compare(runs), "Trade-off") == (
        "The longest JCT is 3.33 min under srtf, 25 % above that under fifo (2.67 min)."
    )
    for run in runs:
        run.summary["jct_s"]["max"] = 200.0
    rows = [digest(group) for group in compare(runs).groups]
    assert "Trade-off" not in dict(findings(compare(runs), contest(compare(runs)), rows))
