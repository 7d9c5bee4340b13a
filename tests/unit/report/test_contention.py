"""Figures and sentences on runs whose jobs share links, and none on runs whose jobs do not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.errors import InputError
from artist.report.contents import report_files
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.report.page.grouped_tables import links_table
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.fairness import fairness_by_run
from artist.results.folder import read_run
from artist.results.links import read_slowdowns, top_contended
from artist.results.run import Run
from artist.results.scenarios import contest

USES = {
    "machine_use": [0.1, 0.35, 0.4, 0],
    "machine_highest": [0.2, 0.7, 0.8, 0],
    "machine_contended": [0, 0.25, 0, 0],
    "rack_use": [0, 0.3, 0.5, 0],
    "rack_highest": [0, 0.3, 0.5, 0],
    "rack_contended": [0, 0, 0, 0],
}

TEXT = "jobs on the same links slow each other while they send at the same time"


@pytest.fixture
def shared_run(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Run]:
    """Return a maker of runs of a, b and c (see conftest): contention made a 25 % longer, and c 0.05 %.

    Ports of m0 and m1 and the uplink of rack 0; m1's is contended for `crowded` of the run, m0's for a tenth.
    """

    def make(
        policy: str,
        *,
        seed: int = 1,
        crowded: float = 0.4,
        slowdown: float = 1.25,
        topology: tuple[str, int] = ("mine", 1),
    ) -> Run:
        name, ratio = topology
        config = {
            "policy": {"name": policy},
            "seed": seed,
            "topology": {"name": name, "oversubscription": {"rack": ratio}},
            "performance": {"contention": "packets"},
        }
        folder = run_folder(tmp_path / f"{policy}-{seed}-{name}-{ratio}", config)
        jobs = pq.read_table(folder / "jobs.parquet")
        slower = pa.array([slowdown, None, 1.0005])
        pq.write_table(jobs.append_column("contention_slowdown", slower), folder / "jobs.parquet")
        pq.write_table(pa.table({"time_s": [0.0, 4.0, 10.0, 22.5], **USES}), folder / "tiers.parquet")
        links = {
            "tier": ["machine"] * 4 + ["rack"] * 2,
            "rack": [0] * 6,
            "machine": ["m0", "m0", "m1", "m1", None, None],
            "way": ["in", "out"] * 3,
            "capacity_gbit_s": [100.0] * 4 + [400.0] * 2,
            "use": [0.2, 0.2, 0.5, 0.5, 0.3, 0.3],
            "contended": [0.1, 0.1, crowded, crowded, 0.0, 0.0],
        }
        pq.write_table(pa.table(links), folder / "links.parquet")
        run = read_run(folder)
        more = {
            "contention": {"slowdown": 1.125, "jobs": 1.0},
            "setting": {"Network model": {"contention": TEXT}},
        }
        return replace(run, summary=run.summary | more)

    return make


def drawn(comparison: Comparison) -> dict[str, Drawing]:
    """Return the figures of a comparison by name."""
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison))}


def page(comparison: Comparison, tmp_path: Path) -> str:
    """Return the page of a comparison."""
    fair = [fairness_by_run(group) for group in comparison.groups]
    files = report_files(
        comparison, contest(comparison), None, [], tmp_path, [], fair, list(map(digest, comparison.groups))
    )
    return files["report.html"].decode()


def test_without_contention_nothing_is_reported(paper_run: Run, tmp_path: Path) -> None:
    """No figure, no table, no column, no sentence."""
    comparison = compare([paper_run])
    assert not {"link_use", "contention"} & set(drawn(comparison))
    text = page(comparison, tmp_path)
    for word in ("ontention", "contended", "links"):
        assert word not in text.partition("<nav>")[0]
    assert "Most contended links" not in text


def test_use_of_links_over_time(shared_run: Callable[..., Run]) -> None:
    """Three panels a tier, in per cent; a tier without contention keeps its panel, so that rows line up."""
    figure = drawn(compare([shared_run("fifo"), shared_run("srtf")]))["link_use"].draw(WIDTH_IN)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    uses = ("mean use", "highest use", "contended")
    assert titles[:3] == [f"ports of machines: {use}" for use in uses]
    assert titles[3:] == [f"uplinks of racks: {use}" for use in uses]
    line = figure.axes[1].get_lines()[0]
    assert np.ravel(line.get_xdata()).tolist() == [0, 4, 10, 22.5]
    assert np.ravel(line.get_ydata()).tolist() == pytest.approx([20, 70, 80, 0])
    assert [len(axes.get_lines()) for axes in figure.axes] == [2] * 6


def test_slowdown_by_contention(shared_run: Callable[..., Run]) -> None:
    """Of the two jobs that ran one lost less than 0.1 %; the other, half of them, took 25 % longer."""
    figure = drawn(compare([shared_run("fifo"), shared_run("srtf")]))["contention"].draw(NARROW_IN)
    line = figure.axes[0].get_lines()[0]
    assert np.ravel(line.get_xdata()).tolist() == pytest.approx([0.1, 25])
    assert np.ravel(line.get_ydata()).tolist() == [50, 0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fifo", "srtf"]


def test_long_names_of_panels_are_wrapped(shared_run: Callable[..., Run]) -> None:
    """47 characters, where one line has room for 42, or 45: on a second one, nothing is left out."""
    names = [
        ("cloud_ethernet_of_the_lab", 4),
        ("cloud_ethernet_of_the_lab", 8),
        ("v100_100g_ethernet_of_2017", 8),
    ]
    runs = [shared_run(policy, topology=name) for policy in ("fifo", "srtf") for name in names]
    for width_in in (WIDTH_IN, NARROW_IN):
        figure = drawn(compare(runs))["contention"].draw(width_in)
        titles = [axes.get_title(loc="left") for axes in figure.axes if axes.axison]
        assert [title.replace("\n", " ") for title in titles] == [
            f"{name}, {ratio}:1 oversubscription" for name, ratio in names
        ]
        assert {title.count("\n") for title in titles} == {1}


def test_without_a_slowed_job_the_figure_has_a_note(shared_run: Callable[..., Run]) -> None:
    """Empty axes would look like a mistake."""
    figure = drawn(compare([shared_run("fifo", slowdown=1.0)]))["contention"].draw(WIDTH_IN)
    assert [text.get_text() for text in figure.axes[0].texts] == ["no job was slowed"]
    assert figure.axes[0].get_ylim() == (0, 1)


def test_rows_without_contention_are_left_out(shared_run: Callable[..., Run], paper_run: Run) -> None:
    """One line a panel; and jobs of replicates are pooled."""
    runs = [shared_run("srtf", seed=seed) for seed in (1, 2)]
    contention = drawn(compare([paper_run, *runs]))
    assert [len(axes.get_lines()) for axes in contention["link_use"].draw(WIDTH_IN).axes] == [1] * 6
    assert len(contention["contention"].draw(WIDTH_IN).axes[0].get_lines()) == 1
    assert read_slowdowns(runs).tolist() == [1.25, 1.0005] * 2


def test_the_most_contended_links(shared_run: Callable[..., Run]) -> None:
    """Means over replicates, 40 and 20 % of the time for m1; the uplink never was. Both ways are one."""
    links = top_contended([shared_run("fifo"), shared_run("fifo", seed=2, crowded=0.2)], 10)
    assert [(link.name, link.gbit_s) for link in links] == [("port of m1", 100), ("port of m0", 100)]
    assert [link.contended for link in links] == pytest.approx([0.3, 0.1])
    assert [link.use for link in links] == pytest.approx([0.5, 0.2])
    assert top_contended([shared_run("las")], 1)[0].name == "port of m1"


def test_the_table_of_links(shared_run: Callable[..., Run]) -> None:
    """In per cent; a line between rows of the comparison; no table where no link was contended."""
    table = links_table({name: top_contended([shared_run(name)], 10) for name in ("fifo", "srtf")})
    assert table is not None
    shown = [[cell.text for cell in row] for row in table.rows]
    assert shown[:2] == [
        ["fifo", "port of m1", "100", "40.0", "50.0"],
        ["fifo", "port of m0", "100", "10.0", "20.0"],
    ]
    assert table.breaks == {2}
    assert links_table({"fifo": []}) is None


def test_the_page_has_them(shared_run: Callable[..., Run], tmp_path: Path) -> None:
    """Figures, table, columns, and what was assumed."""
    text = page(compare([shared_run("fifo"), shared_run("srtf")]), tmp_path)
    for words in (
        "Use of links",
        "Slowdown by contention",
        "Most contended links",
        "port of m1",
        "Slowed by contention:",
        TEXT,
    ):
        assert words in text, words


@pytest.mark.parametrize("name", ["tiers", "links"])
def test_a_damaged_file_is_refused(shared_run: Callable[..., Run], tmp_path: Path, name: str) -> None:
    """It is named, with what to do."""
    run = shared_run("fifo")
    (run.folder / f"{name}.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(InputError, match=rf"{name}\.parquet.*\n.*delete it and run again"):
        page(compare([run]), tmp_path)
