"""The page of runs that are held against their site: first screen, table, figures."""

import re
from html import unescape
from pathlib import Path

import pytest

from artist import simulate
from artist.report.command import main
from artist.report.figures.seen import at_a_glance, drawings, over_time
from artist.report.page.grouped_tables import seen_table
from artist.report.words.seen import seen_answers, seen_glance, seen_note
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.run import Run
from artist.results.seen import held

# On one machine of 8 GPUs strict FIFO gives these waits: c, which would have fitted, waited for b, b for a.
TRACE = """\
job_id,submit_s,gpus,duration_s,started_s,vc,model
a,0,6,1000,0,x,ResNet50
b,100,4,600,1000,x,ResNet50
c,200,2,300,1000,y,ResNet50
d,4000,8,100,4000,y,ResNet50
"""
SETTINGS = (
    "workload=csv",
    "policy=fifo",
    "network=zero",
    "cluster.machines=1",
    "cluster.machines_per_rack=2",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Return the runs of the site as it was, under FIFO and first fit, and with a machine more."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "site.csv").write_text(TRACE)
    given = [*SETTINGS, f"workload.path={folder / 'site.csv'}", f"output.dir={folder / 'runs'}"]
    more = ("policy.backfill=none", "policy.backfill=first_fit", "cluster.more=1")
    return [simulate([*given, one]) for one in more]


@pytest.fixture(scope="module")
def comparison(runs: list[Run]) -> Comparison:
    """Return the three runs as rows: with a machine more, first fit, strict FIFO."""
    return compare(runs)


def test_the_first_screen_answers_two_questions(comparison: Comparison) -> None:
    """Waits met 0, 900, 800, 0: mean 425 s = 7.08 min, as strict FIFO's; nothing waits on two machines."""
    believe, what_if = seen_answers(held(comparison))
    assert believe == (
        "Can I believe it?",
        "Yes (fifo, no backfill): users waited 7.08 min on average, and 7.08 min in the simulation, 1.00 "
        "times as long (4 jobs). The mean is within 30 % for both virtual clusters.",
    )
    assert what_if == ("What if?", "Instead of 7.08 min on average, jobs wait 0 s with 1 more machine.")


def test_without_a_what_if_the_first_screen_has_its_command(runs: list[Run]) -> None:
    """The run's own arguments, and the setting."""
    question, answer = seen_answers(held(compare(runs[:1])))[1]
    assert question == "What if?"
    assert answer.startswith("Not run yet; for 10 more machines: `artist -m workload=csv policy=fifo")
    assert answer.endswith(" cluster.more=0,10`")


def test_the_small_table_names_who_gains(comparison: Comparison) -> None:
    """90 % of 0, 0, 800, 900 wait up to 870 s; first fit starts c at once: 225 s on average, 47 % less."""
    heads, rows = seen_glance(held(comparison))
    assert heads[1:4] == ("mean wait", "90 % wait up to", "wait over 10 min")
    assert rows == [
        ("met by users", "7.08 min", "14.5 min", "50 %", "", ""),
        ("today: fifo, no backfill (8 GPUs)", "7.08 min", "14.5 min", "50 %", "", ""),
        ("1 more machine (16 GPUs)", "0 s", "0 s", "0.0 %", "100 % shorter", "less: both virtual clusters"),
        ("fifo, first fit", "3.75 min", "10.5 min", "25 %", "47 % shorter", "less: y"),
    ]
    assert "mean wait is 0.0 % off" in seen_note(held(comparison))


def test_the_table_has_the_rows_by_group(comparison: Comparison) -> None:
    """All jobs, virtual clusters, sizes, three runs each, in s; y met 400 and waits 0 under first fit."""
    table = seen_table(comparison)
    names = [row[0].text for row in table.rows]
    assert names == [name for name in ("all jobs", "VC x", "VC y", "GPUs: 2-7", "GPUs: 8") for _ in range(3)]
    at = {column.name: number for number, column in enumerate(table.columns)}
    of_y = {row[1].text: row for row in table.rows if row[0].text == "VC y"}
    assert [of_y["fifo, first fit"][at[name]].value for name in ("jobs", "seen", "simulated", "ratio")] == [
        2,
        400,
        0,
        0,
    ]
    assert table.breaks == {3, 6, 9, 12}


def test_the_first_picture_is_of_todays_queue(comparison: Comparison) -> None:
    """In the first hour b and c wait 900 + 800 of 3,600 s, on the site and in the run; without a title."""
    figure = over_time([held(comparison).today], "queue", height_in=1.3)
    (axes,) = figure.axes
    assert [line.get_ydata()[0] for line in axes.lines] == pytest.approx([1700 / 3600] * 2)
    assert axes.get_title("left") == ""
    drawing = at_a_glance(held(comparison).today)
    assert drawing.caption == "Waiting jobs by hour: on the site, and simulated (fifo, no backfill)."
    assert drawing.draw(9.0).get_size_inches().tolist() == figure.get_size_inches().tolist()


def test_further_pictures_have_a_panel_per_row(comparison: Comparison) -> None:
    """Queue, busy GPUs and waits; a single row's queue is at the top already."""
    digests = [digest(group) for group in comparison.groups]
    figures = {drawing.name: drawing.draw(9.0) for drawing in drawings(digests)}
    assert list(figures) == ["seen_queue", "seen_busy", "seen_waits"]
    assert [len(figure.axes) >= 3 for figure in figures.values()] == [True] * 3
    busy = [axes.lines[0].get_ydata()[0] for axes in figures["seen_busy"].axes[:3]]
    assert busy == pytest.approx([9000 / 3600] * 3)  # 6 x 1,000 + 4 x 600 + 2 x 300 GPU-seconds met
    waits = figures["seen_waits"].axes[0].lines[0]
    assert waits.get_xdata().tolist() == [1, 1, 800, 900]  # none is drawn at 1 s
    assert [drawing.name for drawing in drawings(digests[:1])] == ["seen_busy", "seen_waits"]


def test_the_page_begins_with_answers_picture_and_table(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this order; nothing about completion times before, which are folded, and no doubt about seeds."""
    assert main([*(str(run.folder) for run in runs), "--output", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    places = [
        page.index(text)
        for text in ("Can I believe it?", "What if?", "<figure>", "met by users", "<details>")
    ]
    assert places == sorted(places)
    first = re.sub("<code>.*?</code>", "", page[page.index("<h1>") : page.index("<figure>")])  # the command
    first = unescape(re.sub("<[^>]+>", "", first))
    assert "JCT" not in first
    assert "seed" not in first
    assert "=" not in first  # no dialect of settings
    assert (tmp_path / "seen_today.svg").exists()
    assert "Can I believe it? Yes (fifo, no backfill)" in capsys.readouterr().out


def test_the_user_names_the_row_of_today(runs: list[Run], tmp_path: Path) -> None:
    """First fit is named as the site's rule, though strict FIFO is nearer."""
    folders = [str(run.folder) for run in runs[:2]]
    assert main([*folders, "--output", str(tmp_path), "--baseline", "policy.backfill=first_fit"]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "today: fifo, first fit" in page
    assert "In part (fifo, first fit)" in page


def test_runs_that_all_change_the_machines_say_so(runs: list[Run], tmp_path: Path) -> None:
    """Nothing is believed or doubted, and the page is that of any other run."""
    assert main([str(runs[2].folder), "--output", str(tmp_path)]) == 0
    assert "Unknown: every run here changes" in (tmp_path / "report.html").read_text()
