"""Who gains and who pays: hand-worked means of groups, their table and their sentence."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.report.page.gains_table import gains_table
from artist.report.words.gains import who_pays
from artist.results.compare import compare
from artist.results.gains import MIN_JOBS, gains
from artist.results.run import Run
from artist.results.scenarios import contest

HOUR = 3600.0
RED, BLUE = 20, 30  # jobs of the accounts


@pytest.fixture
def run(tmp_path):
    """Return a maker of runs: 20 jobs of red on 1 GPU and 30 of blue on 8, of an hour each."""

    def make(policy, red_h, blue_h, *, seed=0, finished=RED + BLUE, **columns):
        folder = tmp_path / f"{policy}-{seed}"
        folder.mkdir()
        wait_s = [red_h * HOUR] * RED + [blue_h * HOUR] * BLUE
        table = {
            "gpus": [1] * RED + [8] * BLUE,
            "vc": [""] * (RED + BLUE),
            "user": ["ann"] * (RED + BLUE),
            "account": ["red"] * RED + ["blue"] * BLUE,
            "queueing_s": wait_s,
            "jct_s": [wait + HOUR for wait in wait_s],
            "ideal_s": [HOUR] * (RED + BLUE),
        }
        pq.write_table(pa.table(table | columns), folder / "jobs.parquet")
        of_all = {"jobs": RED + BLUE, "finished": finished, "stopped_by": "finished"}
        config = {"policy": {"_target_": policy}}
        return Run(folder, {"policy": policy, "seed": seed, **of_all}, config)

    return make


def of(*runs):
    """Return comparison, contest and gains of runs."""
    comparison = compare(runs)
    competing = contest(comparison)
    return comparison, competing, gains(comparison, competing)


def test_means_of_each_group_against_the_baseline(run):
    """Red waits 4 h under fifo and 1 under srtf, blue 2 and 3.5: -3 and +1.5 h.

    JCT / ideal is (4 + 1) / 1 = 5 and 2 for red, 3 and 4.5 for blue. Red's jobs are those of 1 GPU, blue's of
    8, so each mean stands for two groups; blue pays most and is first. Users are one, so they are no groups.
    """
    _, _, found = of(run("fifo", 4, 2), run("srtf", 1, 3.5))
    assert [gain.name for gain in found] == [
        "account blue",
        "jobs of 5-8 GPUs",
        "account red",
        "jobs of 1 GPU",
    ]
    blue, _, red, _ = found
    assert (blue.jobs, blue.wait_s, blue.slowdown, blue.change_s) == (
        30,
        (2 * HOUR, 3.5 * HOUR),
        (3, 4.5),
        1.5 * HOUR,
    )
    assert (red.jobs, red.wait_s, red.slowdown, red.seen_s) == (20, (4 * HOUR, HOUR), (5, 2), None)
    assert [(gain.pays, gain.gains) for gain in (blue, red)] == [(True, False), (False, True)]


def test_the_sentence_names_who_gains_and_who_pays(run):
    """At most two groups each, owners before sizes."""
    _, competing, found = of(run("fifo", 4, 2), run("srtf", 1, 3.5))
    assert who_pays(found, competing) == (
        "Compared with fifo: under srtf, account red waits 3.00 h less and jobs of 1 GPU wait 3.00 h less; "
        "account blue waits 1.50 h longer and jobs of 5-8 GPUs wait 1.50 h longer."
    )


def test_nobody_waits_longer_where_all_gain(run):
    """Red 1 h less; blue 0.5 % longer, which is no change."""
    _, competing, found = of(run("fifo", 4, 2), run("srtf", 3, 2.01))
    assert who_pays(found, competing).endswith("jobs of 1 GPU wait 60.0 min less; nobody waits longer.")
    _, competing, found = of(run("las", 4, 2), run("sjf", 4, 2))
    assert who_pays(found, competing) == (
        "Compared with las: under sjf, no group's mean wait changes by more than 1 %."
    )


def test_variants_are_in_their_order_and_named_without_their_policy(run):
    """A baseline is said once: b and a of one sweep, in its order, under two policies."""
    runs = []
    for name, policy, wait_h in (("b", "fifo", 4), ("a", "srtf", 5), ("c", "las", 4)):
        made = run(policy, wait_h, wait_h)
        runs.append(replace(made, config=made.config | {"variant": name}, order={"variant": ("b", "a", "c")}))
    comparison, competing, found = of(*reversed(runs))
    assert comparison.keys == ("policy", "variant")
    assert [group.label for group in comparison.groups] == ["b", "a", "c"]
    assert competing.baseline == (0, 0, 0)
    assert who_pays(found, competing) == (
        "Compared with b: under a, nobody waits less; account blue waits 60.0 min longer and "
        "jobs of 1 GPU wait 60.0 min longer, and so do 2 other groups. "
        "Under c, no group's mean wait changes by more than 1 %."
    )


def test_equal_changes_of_two_scenarios_are_said_once(run):
    """Red waits 3 h less under srtf at both loads: one sentence, without a load."""
    runs = []
    for load in (1, 2):
        for policy, wait_h in (("fifo", 4), ("srtf", 1)):
            made = run(policy, wait_h, 2, seed=load)
            runs.append(replace(made, config=made.config | {"workload": {"load": load}}))
    _, competing, found = of(*runs)
    text = who_pays(found, competing)
    assert text.startswith("Compared with fifo: under srtf, account red waits 3.00 h less")
    assert text.count("3.00 h less and") == 1


def test_replicates_are_pooled(run):
    """Blue waits 2 h in both runs of fifo, 3 and 5 in those of srtf: 4 in the mean."""
    runs = [run("fifo", 4, 2, seed=s) for s in (0, 1)] + [run("srtf", 1, 3 + 2 * s, seed=s) for s in (0, 1)]
    assert of(*runs)[2][0].wait_s == (2 * HOUR, 4 * HOUR)


def test_only_jobs_with_a_known_wait_count_on_a_trace_with_real_starts(run):
    """Red: 20 jobs that waited 1 h; of blue's 30 half have no known start, and 15 are too few."""
    seen = {"seen_queueing_s": [HOUR] * RED + [2 * HOUR, None] * (BLUE // 2)}
    _, _, found = of(run("fifo", 4, 2, **seen), run("srtf", 1, 3, **seen))
    assert [(gain.name, gain.jobs, gain.seen_s) for gain in found] == [
        ("account red", 20, HOUR),
        ("jobs of 1 GPU", 20, HOUR),
    ]
    assert BLUE // 2 < MIN_JOBS <= RED


def test_a_short_job_counts_as_one_of_ten_seconds(run):
    """Ideal 1 s, JCT 3601 s: slowdown 360.1, not 3601; without a wait 1 s / 10 s counts as 1."""
    short = {"ideal_s": [1.0] * 50, "jct_s": [HOUR + 1] * RED + [1.0] * BLUE}
    _, _, found = of(run("fifo", 1, 0, **short), run("srtf", 1, 0, **short))
    assert {gain.name: gain.slowdown[1] for gain in found}["account red"] == pytest.approx(360.1)
    assert {gain.name: gain.slowdown[1] for gain in found}["account blue"] == 1


def test_rows_with_unfinished_jobs_and_traces_without_names_have_no_gains(run):
    """Means over fewer jobs do not compare; sizes alone pay nothing."""
    assert of(run("fifo", 4, 2), run("srtf", 1, 3, finished=49))[2] == []
    none = {"account": [""] * (RED + BLUE)}
    assert of(run("las", 4, 2, **none), run("sjf", 1, 3, **none))[2] == []


def test_the_table_has_a_row_per_group(run):
    """Waits in h: blue 2.000, 3.500, +1.500; slowdown 4.5, half as much again as 3."""
    comparison, _, found = of(run("fifo", 4, 2), run("srtf", 1, 3.5))
    table = gains_table(comparison, found)
    assert [column.name for column in table.columns] == [
        *("row", "jobs_of", "jobs", "baseline", "wait", "change", "baseline_slowdown", "slowdown")
    ]
    assert [cell.text for cell in table.rows[0]] == [
        *("srtf", "account blue", "30", "2.000", "3.500", "+1.500", "3.00", "4.50")
    ]
    assert table.rows[0][-1].apart == pytest.approx(0.5)
    assert table.texts[0] == "srtf account blue"
    assert gains_table(comparison, []) is None
