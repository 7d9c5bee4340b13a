"""Figures and sentences on GPU jobs beside CPU jobs (those on paper: `kinds_run`)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_hex

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.errors import InputError
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.report.words.job_types import job_types
from artist.report.words.notes import comparison_notes
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.job_types import read_interference
from artist.results.run import Run
from artist.results.scenarios import contest

Make = Callable[..., Run]
NAMES = {"kinds_in_use", "kinds_waiting", "kinds_queueing", "user_tails", "cores_changed"}


def drawn(runs: Sequence[Run]) -> dict[str, Drawing]:
    """Return the figures of runs by name."""
    comparison = compare(runs)
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison))}


def said(runs: Sequence[Run], baseline: str | None = None) -> dict[str, str]:
    """Return the sentences on job types by topic."""
    comparison = compare(runs)
    return dict(job_types(comparison, contest(comparison, baseline)))


def points(line: Any) -> tuple[list[float], list[float]]:
    """Return the points of a line."""
    return np.ravel(line.get_xdata()).tolist(), np.ravel(line.get_ydata()).tolist()


def told(over_10min: float, mean_s: float = 60.0, within_3min: float = 0.9, **more: Any) -> dict[str, Any]:
    """Return a summary's fields on long waits of GPU jobs and waits of CPU jobs."""
    gpu = {"jobs": 2, "at_once": 1 - over_10min, "over_10min": over_10min}
    cpu = {"jobs": 2, "within_3min": within_3min, "queueing_s": {"mean": mean_s}}
    return {"gpu": gpu, "cpu": cpu, **more}


def test_runs_of_gpu_jobs_alone_have_none_of_it(paper_run: Run) -> None:
    """No figure, no sentence, no note on columns."""
    assert not NAMES & set(drawn([paper_run]))
    assert said([paper_run]) == {}
    comparison = compare([paper_run])
    notes = comparison_notes(comparison, contest(comparison))
    assert not [note for note in notes if "CPU jobs" in note]


def test_each_resource_in_use_has_a_panel(kinds_run: Make) -> None:
    """At 5 s: 4 of 4 GPUs are held, 3 used, 1 starves; 6 and 4 of 10 cores; 90 of 100 bytes/s. A row a line.

    Held come from the timeline, with its own times 0, 2, 6, 10 and 22.5 s: on all times of both tables.
    """
    figure = drawn([kinds_run("coda"), kinds_run("fifo")])["kinds_in_use"].draw(WIDTH_IN)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "GPUs active", "GPUs used", "GPUs starved", "CPUs of GPU jobs", "CPUs of CPU jobs",
        "memory bandwidth",
    ]  # fmt: skip
    assert [len(axes.get_lines()) for axes in figure.axes] == [2] * 6
    at_5 = [dict(zip(*points(axes.get_lines()[0]), strict=True))[5.0] for axes in figure.axes]
    assert at_5 == pytest.approx([100, 75, 25, 60, 40, 90])
    assert [axes.get_ylim()[0] for axes in figure.axes] == [0] * 6


def test_jobs_that_wait_are_counted_by_kind(kinds_run: Make) -> None:
    """One GPU job from 5 to 10 s; two CPU jobs then, and one more until 20 s. Each on its own axis."""
    drawing = drawn([kinds_run("coda")])["kinds_waiting"]
    gpu, cpu = drawing.draw(WIDTH_IN).axes
    assert [axes.get_title(loc="left") for axes in (gpu, cpu)] == ["GPU jobs waiting", "CPU jobs waiting"]
    counts = [dict(zip(*points(axes.get_lines()[0]), strict=True)) for axes in (gpu, cpu)]
    assert [[count[t] for t in (0.0, 5.0, 10.0)] for count in counts] == [[0, 1, 0], [0, 2, 1]]
    assert gpu.get_ylim()[1] < cpu.get_ylim()[1]
    assert "axes of the panels differ" in drawing.caption


def test_lines_of_queueing_begin_at_the_jobs_that_start_at_once(kinds_run: Make) -> None:
    """Half of the GPU jobs, and half of the CPU jobs; the rest waited 100 s and 5 s. A dot marks the half."""
    axes = drawn([kinds_run("coda")])["kinds_queueing"].draw(WIDTH_IN).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["GPU jobs", "CPU jobs"]
    for item, waited in zip(axes, (100.0, 5.0), strict=True):
        line, dot = item.get_lines()
        x, y = points(line)
        assert (x[0], y[0], x[1], y[1]) == (5.0, 0.5, waited, 1.0)  # the axis begins at the shortest wait
        assert points(dot) == ([5.0], [0.5])


def test_replicates_are_pooled_by_kind(kinds_run: Make) -> None:
    """Of two seeds, one in which neither GPU job waits: three of four start at once."""
    idle = [("ann", 2, 2, 6, 0.0, "bert"), ("ann", 1, 8, 3, 0.0, "gpt"), ("bob", 0, 1, 1, 9.0, "")]
    drawing = drawn([kinds_run("coda"), kinds_run("coda", idle, seed=2)])["kinds_queueing"]
    gpu, cpu = drawing.draw(WIDTH_IN).axes
    assert [points(axes.get_lines()[1])[1] for axes in (gpu, cpu)] == [[0.75], [pytest.approx(1 / 3)]]
    assert "pooled" in drawing.caption


def test_users_have_a_point_each(kinds_run: Make) -> None:
    """Of ann's 0 and 100 s the 99th percentile is 99 s, of bob's 0 and 5 s 4.95 s. Bob has CPU jobs only."""
    drawing = drawn([kinds_run("coda"), kinds_run("fifo")])["user_tails"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    coda, fifo, between = axes.get_lines()
    assert points(coda)[1] == pytest.approx([99, 4.95])
    assert points(coda)[0] == pytest.approx([-0.125, 1.875])  # two rows lie a quarter apart
    assert points(fifo)[0] == pytest.approx([0.125, 2.125])
    assert points(between)[0] == [1, 1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["ann", "bob"]
    assert [text.get_text() for text in axes.texts] == ["users with GPU jobs", "CPU jobs only"]
    assert "1 s or less" not in drawing.caption


def test_users_are_in_natural_order_and_short_waits_at_the_edge(kinds_run: Make) -> None:
    """u2 before u10, which never waits; a nameless user is left out; a user of one side has no line."""
    jobs = [("u10", 1, 1, 1, 0.0, ""), ("u2", 1, 1, 1, 70.0, ""), ("", 1, 1, 1, 9.0, "")]
    drawing = drawn([kinds_run("coda", jobs)])["user_tails"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    (line,) = axes.get_lines()
    assert points(line)[1] == [70, 1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["u2", "u10"]
    assert [text.get_text() for text in axes.texts] == ["users with GPU jobs"]
    assert "At the lower edge: 1 s or less." in drawing.caption


def test_percentiles_of_users_are_means_over_replicates(kinds_run: Make) -> None:
    """Ann waits 99 s at the 99th percentile of one seed and 9 s of another: 54 s."""
    runs = [kinds_run("coda"), kinds_run("coda", [("ann", 1, 1, 1, 9.0, "")], seed=2)]
    drawing = drawn(runs)["user_tails"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    assert points(axes.get_lines()[0])[1] == pytest.approx([54, 4.95])
    assert "Means over seeds." in drawing.caption


def test_only_40_users_have_a_point(kinds_run: Make) -> None:
    """Of 43 users 40 have a point."""
    drawing = drawn([kinds_run("coda", [(f"u{i}", 1, 1, 1, 9.0, "") for i in range(43)])])["user_tails"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    assert len(points(axes.get_lines()[0])[0]) == 40
    assert "The last 3 users by name are left out." in drawing.caption


def test_runs_without_users_have_no_such_figure(kinds_run: Make) -> None:
    """Nobody is named."""
    assert "user_tails" not in drawn([kinds_run("coda", [("", 1, 1, 1, 9.0, "")])])


def test_cores_against_those_asked_for(kinds_run: Make) -> None:
    """Of two GPU jobs one has 4 cores more and one 5 fewer: half each. CPU jobs do not count."""
    drawing = drawn([kinds_run("coda"), kinds_run("fifo", kinds={"more_cpus": 0.0, "fewer_cpus": None})])
    (axes,) = drawing["cores_changed"].draw(WIDTH_IN).axes
    bars = {round(bar.get_x() + bar.get_width() / 2): bar for bar in axes.patches if bar.get_height()}
    assert {at: bar.get_height() for at, bar in bars.items()} == {-5: 50, 4: 50}
    assert to_hex(bars[-5].get_facecolor()) != to_hex(bars[4].get_facecolor())
    assert axes.get_title(loc="left") == "coda\n50 / 0 / 50 %"
    assert "Differences beyond" not in drawing["cores_changed"].caption


def test_great_differences_count_as_20(kinds_run: Make) -> None:
    """From 1 to 41 cores: at 20, and the caption says so; all jobs have more."""
    drawing = drawn([kinds_run("coda", [("ann", 8, 1, 41, 0.0, ""), ("bob", 0, 1, 1, 0.0, "")])])
    (axes,) = drawing["cores_changed"].draw(WIDTH_IN).axes
    assert [round(bar.get_x() + bar.get_width() / 2) for bar in axes.patches if bar.get_height()] == [20]
    assert axes.get_title(loc="left") == "coda\n0 / 0 / 100 %"
    assert "Differences beyond 20 count as 20." in drawing["cores_changed"].caption


def test_policies_that_give_the_cpus_asked_for_have_no_such_figure(kinds_run: Make) -> None:
    """No job got more or fewer cores."""
    assert "cores_changed" not in drawn([kinds_run("fifo", kinds={"more_cpus": 0.0, "fewer_cpus": 0.0})])


def test_sizes_of_jobs_leave_cpu_jobs_out(kinds_run: Make) -> None:
    """Ann's job of 1 GPU and hers of 2 to 4: bob's two, of none, do not count as 1."""
    run = kinds_run("coda")
    assert digest(compare([run]).groups[0]).by_demand[:, 0].tolist() == [1, 1, 0, 0, 0, 0]
    assert "CPU jobs" in drawn([run])["jct_by_demand"].caption


def test_some_runs_of_a_sweep_may_lack_it(kinds_run: Make, paper_run: Run) -> None:
    """Beside a run of GPU jobs alone, one line in each panel, and sentences on coda alone."""
    runs = [kinds_run("coda"), paper_run]
    figures = drawn(runs)
    assert set(figures) >= NAMES
    assert [len(axes.get_lines()) for axes in figures["kinds_in_use"].draw(WIDTH_IN).axes] == [1] * 6
    assert "fifo" not in " ".join(said(runs).values())
    (runs[0].folder / "cores.parquet").unlink()
    assert not NAMES & set(drawn(runs))


def test_only_one_of_many_scenarios_is_drawn(kinds_run: Make) -> None:
    """Two clusters: the captions name the one that is shown; sentences are on both."""
    runs = [kinds_run(p, cluster={"racks": r}) for p in ("coda", "fifo") for r in (1, 2)]
    figures = drawn(runs)
    for name in NAMES:
        assert "Shown: 1 rack" in figures[name].caption
    assert said(runs)["Starved GPUs"].startswith("With 1 rack: 25 % of the GPUs starve")
    assert ". With 2 racks: 25 % of" in said(runs)["Starved GPUs"]


def test_damaged_tables_are_refused(kinds_run: Make) -> None:
    """Cores that lack a column, and jobs that lack the cores held."""
    run = kinds_run("coda")
    for name, column in (("cores", "starved_gpus"), ("jobs", "cpus_last")):
        path = run.folder / f"{name}.parquet"
        table = pq.read_table(path)
        pq.write_table(table.drop_columns([column]), path)
        with pytest.raises(InputError, match=rf"columns are missing(.|\n)*{column}"):
            drawn([run])
        pq.write_table(table, path)


def test_long_runs_are_averaged(kinds_run: Make) -> None:
    """With 1000 rows each line has a point a span, and the caption says so."""
    run = kinds_run("coda")
    path = run.folder / "cores.parquet"
    table = pq.read_table(path)
    names = [name for name in table.column_names if name != "time_s"]
    many = {name: pa.array([table[name][i % 3].as_py() for i in range(1000)]) for name in names}
    pq.write_table(pa.table({"time_s": [0.02 * i for i in range(1000)], **many}), path)
    drawing = drawn([run])["kinds_in_use"]
    assert "Each point is a mean over a short span" in drawing.caption
    assert len(points(drawing.draw(WIDTH_IN).axes[1].get_lines()[0])[0]) == 120


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_all_of_it_fits(kinds_run: Make, width_in: float) -> None:
    """Seven rows with long names, of which six are drawn: the layouts hold (warnings are errors here)."""
    figures = drawn([kinds_run(f"a_long_name_of_a_policy_number_{i}") for i in range(7)])
    for name in NAMES:
        figure = figures[name].draw(width_in)
        figure.draw_without_rendering()
        assert figure.get_figwidth() == width_in


# --- words


def test_findings_on_two_policies_cover_each_topic(kinds_run: Make) -> None:
    """Each topic: shares in rising order, what the best costs CPU jobs, who aborts, who changes cores."""
    coda = kinds_run("coda", kinds=told(0.03, 90.0, 0.87, starved=0.008, aborted=131))
    fifo = kinds_run("fifo", kinds=told(0.43, starved=0.143, more_cpus=0.0, fewer_cpus=0.0))
    result = said([coda, fifo])
    assert result == {
        "Starved GPUs": (
            "0.8 % of the GPUs starve while GPU jobs wait under coda and 14 % under fifo. Starved GPUs are "
            "idle because their machine lacks the CPUs for a GPU job that waits."
        ),
        "Waiting GPU jobs": (
            "3.0 % of the GPU jobs wait for more than 10 min under coda and 43 % under fifo; 97 % start at "
            "once under coda."
        ),
        "Waiting CPU jobs": (
            "Under coda, which keeps fewest GPU jobs waiting, CPU jobs pay for it: they wait 1.50 min on "
            "average (60.0 s under fifo) and 87 % of them wait at most 3 min (90 %)."
        ),
        "Aborted CPU jobs": "CPU jobs were stopped 131 times under coda.",
        "CPUs of GPU jobs": (
            "Under coda 50 % of the GPU jobs end with more CPUs than they asked for and 50 % with fewer."
        ),
    }


@pytest.mark.parametrize(
    ("mean_s", "within_3min", "price"),
    [
        (60.5, 0.8995, "CPU jobs do not pay for it"),  # within a second, and 1 %
        (90.0, 0.94, "some CPU jobs pay for it"),  # fewer wait for long, but for longer
        (50.0, 0.80, "some CPU jobs pay for it"),
        (90.0, 0.80, "CPU jobs pay for it"),
    ],
)
def test_waiting_of_cpu_jobs_is_compared_in_mean_and_share(
    kinds_run: Make, mean_s: float, within_3min: float, price: str
) -> None:
    """Against 60 s on average, and 90 % that wait at most 3 min: worse in both, in one, or in neither."""
    coda = kinds_run("coda", kinds=told(0.03, mean_s, within_3min))
    text = said([coda, kinds_run("fifo", kinds=told(0.43))])["Waiting CPU jobs"]
    assert f"keeps fewest GPU jobs waiting, {price}: " in text


@pytest.mark.parametrize(
    ("jct_s", "lost", "price"),
    [
        (3630.0, 0.0, "CPU jobs do not pay for it"),  # 0.8 % longer
        (3700.0, 0.0, "CPU jobs pay for it"),  # 2.8 %
        (3600.0, 0.05, "some CPU jobs pay for it"),  # those that were aborted
        (3700.0, 0.05, "CPU jobs pay for it"),
    ],
)
def test_the_price_for_cpu_jobs_includes_time_and_lost_work(
    kinds_run: Make, jct_s: float, lost: float, price: str
) -> None:
    """They wait as long as under the other policy, where they take an hour and lose nothing."""

    def cpu(jct_s: float, lost: float, over_10min: float) -> dict[str, Any]:
        kinds = told(over_10min, cpu_lost=lost)
        return kinds | {"cpu": kinds["cpu"] | {"jct_s": {"mean": jct_s}}}

    runs = [kinds_run("coda", kinds=cpu(jct_s, lost, 0.03)), kinds_run("fifo", kinds=cpu(3600.0, 0.0, 0.43))]
    text = said(runs)["Waiting CPU jobs"]
    assert f"keeps fewest GPU jobs waiting, {price}: " in text
    took = {3600.0: "60.0 min", 3630.0: "60.5 min", 3700.0: "61.7 min"}[jct_s]
    under = {name: " under fifo" * (f": {name}" in text) for name in ("they take", "5.0 %")}
    assert f"they take {took} on average (60.0 min{under['they take']})" in text
    assert (f"5.0 % of their work is lost (0.0 %{under['5.0 %']})" in text) == bool(lost)
    worse = text.partition("; besides, ")[0] if " pay for it: " in text and "not pay" not in text else ""
    assert ("they take" in worse, "is lost" in worse) == (jct_s == 3700.0, bool(lost))
    assert "they wait" not in worse


def test_without_a_gain_for_gpu_jobs_no_price_is_reported(kinds_run: Make) -> None:
    """Coda and slow keep as many GPU jobs waiting, so CPU jobs are not compared with slow's, but fifo's."""
    runs = [kinds_run("coda", kinds=told(0.03)), kinds_run("slow", kinds=told(0.03, 600.0))]
    assert "Waiting CPU jobs" not in said(runs)
    assert "(60.0 s under fifo)" in said([*runs, kinds_run("fifo", kinds=told(0.43))])["Waiting CPU jobs"]


def test_the_price_is_against_the_baseline(kinds_run: Make) -> None:
    """Drf (20 s) is the baseline here; without one it is coda itself, so the worst, fifo (60 s), is told."""
    runs = [
        kinds_run("coda", kinds=told(0.03, 90.0)),
        kinds_run("drf", kinds=told(0.2, 20.0)),
        kinds_run("fifo", kinds=told(0.43)),
    ]
    assert "(60.0 s under fifo)" in said(runs)["Waiting CPU jobs"]
    assert "(20.0 s under drf)" in said(runs, "policy=drf")["Waiting CPU jobs"]


def test_only_the_extremes_of_many_policies_are_named(kinds_run: Make) -> None:
    """Five policies, shares 0 to 0.4."""
    runs = [kinds_run(f"p{i}", kinds=told(0.1 * i, starved=0.1 * i)) for i in range(5)]
    assert said(runs)["Starved GPUs"].startswith(
        "0.0 % of the GPUs starve while GPU jobs wait under p0 and 40 % under p4, the least and the most "
        "under 5 policies."
    )


def test_replicates_are_averaged(kinds_run: Make) -> None:
    """Of 0.1 and 0.2, 15 %; 131 and 132 stops are 131.5; a share, or all, that one seed lacks is not told."""
    runs = [
        kinds_run("coda", seed=seed, kinds=told(0.03, starved=0.1 * seed, aborted=130 + seed))
        for seed in (1, 2)
    ]
    assert said(runs)["Starved GPUs"].startswith("15 % of the GPUs starve")
    assert said(runs)["Aborted CPU jobs"] == "CPU jobs were stopped 131.5 times on average under coda."
    lacking = {"kinds": runs[1].summary["kinds"] | {"starved": None}}
    assert "Starved GPUs" not in said([runs[0], replace(runs[1], summary=runs[1].summary | lacking)])
    assert said([runs[0], replace(runs[1], summary=runs[1].summary | {"kinds": None})]) == {}


def test_the_used_fraction_of_held_gpus_is_reported(kinds_run: Make) -> None:
    """45 % under fifo, 67 % under coda; nothing of a policy whose runs do not say."""
    used = (("coda", 0.67), ("fifo", 0.45), ("las", None))
    runs = [kinds_run(name, kinds=told(0.1, gpu_utilization_active=share)) for name, share in used]
    assert said(runs)["Held GPUs used"].startswith(
        "45 % of the GPUs that jobs hold are used under fifo and 67 % under coda. Used are GPUs while"
    )
    assert "Held GPUs used" not in said([kinds_run("drf", kinds=told(0.1))])


def test_time_lost_to_memory_bandwidth_is_reported(kinds_run: Make) -> None:
    """8 % and 20 % of the time; GPU jobs lose 1.5 % of theirs under off and nothing under coda."""
    runs = [
        kinds_run(name, kinds=told(0.1, over_threshold=part)) for name, part in (("coda", 0.08), ("off", 0.2))
    ]
    comparison = compare(runs)
    competing = contest(comparison)

    def sentence(interference: dict[int, float]) -> str:
        return dict(job_types(comparison, competing, interference))["Memory bandwidth"]

    drawn_for = (
        "On machines with GPU jobs more than 75 % of the memory bandwidth is drawn for 8.0 % of the time "
        "under coda and 20 % under off"
    )
    assert sentence({}) == sentence({0: 0.0, 1: 0.0}) == f"{drawn_for}."
    assert sentence({0: 0.0, 1: 0.015}) == (
        f"{drawn_for}; interference by other jobs takes 0.0 % of the time of GPU jobs under coda and 1.5 % "
        "under off."
    )
    assert "Memory bandwidth" not in said([kinds_run("las", kinds=told(0.1, over_threshold=0.0))])


def test_interference_is_that_of_gpu_jobs(kinds_run: Make) -> None:
    """Each job ran for 10 s of the run on paper: 1 + 2 s of two GPU jobs' 20 s, and not bob's CPU jobs."""
    run = kinds_run("coda")
    path = run.folder / "jobs.parquet"
    table = pq.read_table(path)
    for name, values in (("interference_s", [1.0, 2.0, 9.0, 9.0]), ("running_s", [10.0] * 4)):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, path)
    assert read_interference([run, run]) == pytest.approx(0.15)
    pq.write_table(table.slice(2), path)
    assert read_interference([run]) is None


def test_a_panel_of_nothing_has_its_line_at_the_bottom(kinds_run: Make) -> None:
    """If no GPU starves the axis ends at 1 %, and not around 0."""
    run = kinds_run("coda")
    path = run.folder / "cores.parquet"
    table = pq.read_table(path)
    none = pa.array([0] * len(table))
    pq.write_table(table.set_column(table.column_names.index("starved_gpus"), "starved_gpus", none), path)
    assert drawn([run])["kinds_in_use"].draw(WIDTH_IN).axes[2].get_ylim() == (0, 1)


def test_no_gpu_starves(kinds_run: Make) -> None:
    """Under none of the policies."""
    runs = [kinds_run(name, kinds=told(0.1, starved=0.0)) for name in ("coda", "fifo")]
    assert said(runs)["Starved GPUs"].startswith("No GPU starves under coda and fifo. ")


def test_policies_without_waiting_gpu_jobs_are_named(kinds_run: Make) -> None:
    """There is no time over which the GPUs that starve could be counted; nothing is said if that is all."""
    coda = kinds_run("coda", kinds=told(0.0, starved=0.0, gpu_active_queued=None))
    fifo = kinds_run("fifo", kinds=told(0.4, starved=0.2))
    assert said([coda, fifo])["Starved GPUs"].startswith(
        "20 % of the GPUs starve while GPU jobs wait under fifo. No GPU job waits under coda. Starved GPUs"
    )
    assert "Starved GPUs" not in said([coda])


def test_only_the_most_different_of_many_scenarios_are_named(kinds_run: Make) -> None:
    """Five clusters, shares apart by 1 to 5 %: the first is left out."""
    runs = [
        kinds_run(name, kinds=told(share, starved=share), cluster={"racks": r})
        for r in range(1, 6)
        for name, share in (("coda", 0.1), ("fifo", 0.1 + 0.01 * r))
    ]
    text = said(runs)["Waiting GPU jobs"]
    assert "1 rack:" not in text
    assert all(f"ith {r} racks:" in text for r in range(2, 6))


def test_its_columns_are_explained(kinds_run: Make) -> None:
    """The notes say over what starved GPUs are counted."""
    comparison = compare([kinds_run("coda")])
    assert any("GPUs starved" in note for note in comparison_notes(comparison, contest(comparison)))


def test_gpu_jobs_without_cpus_are_reported(kinds_run: Make) -> None:
    """2 and 3 jobs of two seeds under tiresias, none under coda; nothing is said where jobs need no CPUs."""
    held = (("tiresias", 0, 2), ("tiresias", 1, 3), ("coda", 0, 0), ("coda", 1, 0))
    runs = [kinds_run(name, seed=seed, kinds=told(0.1, without_cpus=jobs)) for name, seed, jobs in held]

    def notes(**needs: object) -> list[str]:
        bare = [
            {key: run.summary[key] for key in run.summary if key != "relative_throughput"} for run in runs
        ]
        comparison = compare(
            [replace(run, summary=item | needs) for run, item in zip(runs, bare, strict=True)]
        )
        return [
            comparison_note
            for comparison_note in comparison_notes(comparison, contest(comparison))
            if "held no CPUs" in comparison_note
        ]

    assert notes() == []
    (note,) = notes(relative_throughput={"mean": 0.5})
    assert "of their speed meanwhile: tiresias (3); of several runs, the largest number." in note
