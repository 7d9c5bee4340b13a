"""The report's page in a real browser; skipped where none is installed."""

import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import Visit

WIDTHS = (1200, 390)


def first_cells(document: str) -> list[list[str]]:
    """Return the first two words of each row of the comparison that is not hidden, from above."""
    table = document.partition('id="comparison"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr([^>]*data-text[^>]*)>(.*?)</tr>", table)
    shown = [cells for attributes, cells in rows if " hidden" not in attributes]
    return [re.findall(r"<td[^>]*>([^<]*)", cells)[:2] for cells in shown]


def test_console_errors_would_be_seen(visit: Callable[..., Visit], tmp_path: Path) -> None:
    """A page that fails on purpose: otherwise the next test could not fail."""
    bad = tmp_path / "bad.html"
    bad.write_text("<html><body></body></html>")
    assert "no such function" in "".join(visit(bad, script="throw new Error('no such function')").console)


def test_the_page_loads_without_a_word_on_the_console(visit: Callable[..., Visit], page: Path) -> None:
    """No error, no warning, no missing file; the scenario order is kept until somebody sorts."""
    seen = visit(page)
    assert seen.console == ()
    assert first_cells(seen.document) == [["fifo", "8"], ["srtf", "8"], ["fifo", "16"], ["srtf", "16"]]


def test_an_address_sorts_and_filters(visit: Callable[..., Visit], page: Path) -> None:
    """A link can carry a view: FIFO alone, the larger cluster first; the heading says how it is sorted."""
    seen = visit(page, "#sort=cluster.machines&order=descending&filter=FIFO&columns=all")
    assert first_cells(seen.document) == [["fifo", "16"], ["fifo", "8"]]
    assert re.search(r'data-name="cluster.machines"[^>]*aria-sort="descending"', seen.document)
    assert ">2 of 4 rows<" in seen.document
    assert re.search(r'<table class="data[^"]* all[ "]', seen.document)


def test_clicking_a_heading_sorts_and_typing_filters(visit: Callable[..., Visit], page: Path) -> None:
    """Mean JCT by value, twice; by difference; then 'srtf 8' typed: one row, and the address says so."""
    script = """
    const head = document.querySelector('th[data-name=jct_mean_s]');
    const order = () => Array.from(document.querySelectorAll('#comparison tbody tr')).map(
        (row) => Number(row.cells[head.cellIndex].dataset.v));
    const said = [];
    head.querySelector('[data-by=value]').click(); said.push(order());
    head.querySelector('[data-by=value]').click(); said.push(order());
    head.querySelector('[data-by=difference]').click(); said.push(location.hash);
    const input = document.querySelector('input[type=search]');
    input.value = 'srtf 8'; input.dispatchEvent(new Event('input')); said.push(location.hash);
    say(said);
    """
    seen = visit(page, script=script)
    assert seen.console == ()
    up, down, by_difference, filtered = seen.said
    assert up == sorted(up)
    assert down == up[::-1]
    assert by_difference == "#sort=jct_mean_s&by=difference"
    assert filtered == "#sort=jct_mean_s&by=difference&filter=srtf+8"
    assert first_cells(seen.document) == [["srtf", "8"]]


def test_notes_on_hidden_columns_are_hidden_too(visit: Callable[..., Visit], page: Path) -> None:
    """The note on "GPUs held" is shown only with its column."""
    script = "say(getComputedStyle(document.querySelector('p.note.more')).display);"
    shown = [visit(page, fragment, script).said for fragment in ("", "#columns=all")]
    assert shown == ["none", "block"]


def test_nothing_is_wider_than_the_window(visit: Callable[..., Visit], page: Path) -> None:
    """At a desk and on a phone, all columns shown: only the tables' own boxes scroll sideways."""
    script = "say([window.innerWidth, document.documentElement.scrollWidth]);"
    for width in WIDTHS:
        inner, scroll = visit(page, "#columns=all", script, width).said
        assert inner == width
        assert scroll <= width


def test_a_phone_gets_the_narrow_figures(visit: Callable[..., Visit], page: Path) -> None:
    """The image that is shown at 390 px is drawn for that width: 4.2 in are 403 px, 9 in are 864."""
    script = """
    addEventListener('load', () => say(
        [...document.querySelectorAll('.figures img')].find((image) => image.offsetWidth).naturalWidth));
    """
    assert [visit(page, "", script, width).said for width in WIDTHS] == [864, 403]


def test_screenshots(
    run_browser: Callable[..., subprocess.CompletedProcess[str]], page: Path, tmp_path: Path
) -> None:
    """The browser can paint the page at both widths, and there is something on it: no blank PNG."""
    for width in WIDTHS:
        shot = tmp_path / f"{width}.png"
        run_browser(page.as_uri(), f"--screenshot={shot}", f"--window-size={width},1200")
        data = shot.read_bytes()
        assert struct.unpack(">II", data[16:24]) == (width, 1200)
        assert len(data) > 20_000


SCREENS = {1200: 900, 390: 844}  # width, height


@pytest.mark.parametrize("width", SCREENS)
def test_an_operator_finds_both_answers_on_the_first_screen(
    visit: Callable[..., Visit], site_page: Path, width: int
) -> None:
    """Can I believe it, and what if 10 machines more; at a desk with the picture and the table of waits."""
    script = """
    addEventListener('load', () => say(['.answer', 'figure', '.glance'].map((name) => {
        const part = document.querySelector(name);
        return [part.getBoundingClientRect().bottom, part.innerText];
    })));
    """
    seen = visit(site_page, "", script, width)
    assert seen.console == ()
    (answers, text), (picture, _), (table, _) = seen.said
    assert "Can I believe it? Yes" in text
    assert "jobs wait 17.1 min with 10 more machines" in text.replace("\xa0", " ")
    assert (table if width == max(SCREENS) else answers) <= SCREENS[width]
    assert answers < picture < table


def test_paper_gets_everything(
    run_browser: Callable[..., subprocess.CompletedProcess[str]], site_page: Path, tmp_path: Path
) -> None:
    """A4, details open, tables no wider than the paper, figures in two columns: fewer pages than figures."""
    paper = tmp_path / "page.pdf"
    run_browser(site_page.as_uri(), f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    data = paper.read_bytes()
    assert len(re.findall(rb"/Type /Page\b", data)) < site_page.read_text().count("<figure>")
    assert re.search(rb"/MediaBox \[0 0 59[45]\.\d* 84[12]\.\d*\]", data)


def test_folded_parts_are_open_on_paper_alone(visit: Callable[..., Visit], site_page: Path) -> None:
    """And tables fit into 186 mm, 703 px; afterwards all is as it was."""
    script = """
    const state = () => [document.querySelectorAll('details[open]').length,
        Math.max(...Array.from(document.querySelectorAll('table')).map((table) => table.offsetWidth))];
    const said = [state()];
    for (const name of ['beforeprint', 'afterprint']) { dispatchEvent(new Event(name)); said.push(state()); }
    say([...said, document.querySelectorAll('details').length]);
    """
    before, printed, after, folded = visit(site_page, "", script).said
    assert before[0] == after[0] == 0
    assert printed[0] == folded > 0
    assert printed[1] <= 703 < before[1] == after[1]
