"""`artist.plot` and `artist-report --panel`: plots of the page on axes of one's own."""

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import artist
from artist.report.command import main
from artist.report.figures.plot import PANELS

mpl.use("agg")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> artist.api.Sweep:
    """Return a sweep of two policies over three seeds in which jobs wait."""
    folder = tmp_path_factory.mktemp("plot")
    return artist.sweep(
        [
            "policy=fifo,srtf",
            "seed=0,1,2",
            "workload.jobs=40",
            "cluster.racks=1",
            "cluster.machines_per_rack=4",
            "workload.load=4",
            f"output.dir={folder}",
        ]
    )


@pytest.mark.parametrize("name", PANELS)
def test_axes_go_in_and_come_out(name: str, runs: artist.api.Sweep) -> None:
    """A line or dot for each of two rows; the user's axes are drawn on, and their figure is left alone."""
    axes = Figure().subplots()
    assert PANELS[name](runs, axes, labels={"srtf": "Mine"}) is axes
    texts = axes.get_yticklabels() if name == "means" else axes.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["fifo", "Mine"]
    assert len([line for line in axes.get_lines() if line.get_xdata() is not None]) >= 2


def test_without_axes_there_is_a_new_figure(runs: artist.api.Sweep) -> None:
    """Of pyplot, so that a notebook shows it; a single run and a list of runs are fine too."""
    import matplotlib.pyplot as plt

    assert artist.plot.cdf(runs).figure is plt.gcf()
    assert len(artist.plot.cdf(runs.runs[0]).get_lines()) == 1
    assert len(artist.plot.over_time(list(runs.runs), gauge="busy_gpus").get_lines()) == 2
    plt.close("all")


def test_a_line_of_the_cdf_ends_where_all_jobs_are_done(runs: artist.api.Sweep) -> None:
    """40 jobs of three seeds, pooled: the line of a row rises from 0 to 1 in 120 steps at most."""
    (line, _) = artist.plot.cdf(runs, Figure().subplots()).get_lines()
    x, y = line.get_data()
    assert (y[0], y[-1]) == (0, 1)
    assert x[-1] == max(run.jobs.jct_s.max() for run in runs.runs[:3])
    assert len(x) <= 121


def test_intervals_of_means_are_whole(runs: artist.api.Sweep) -> None:
    """The axis reaches beyond the ends of all intervals."""
    axes = artist.plot.means(runs, Figure().subplots())
    assert max(max(line.get_xdata()) for line in axes.get_lines()) < axes.get_xlim()[1]


def test_wrong_names_are_refused(runs: artist.api.Sweep) -> None:
    """A gauge that nobody records, and nothing to draw."""
    with pytest.raises(ValueError, match="no such gauge: 'queue'"):
        artist.plot.over_time(runs, gauge="queue")
    with pytest.raises(ValueError, match="no runs to draw"):
        artist.plot.cdf([])


def test_panels_for_a_paper(
    runs: artist.api.Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files with embedded TrueType fonts, 3.3 x 2.2 inches: 237.6 x 158.4 points."""
    folder = str(runs.runs[0].folder.parent)
    options = ["--output", str(tmp_path), "--label", "srtf=Mine"]
    assert main([folder, "--panel", "cdf,queue", *options]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cdf.pdf", "queue.pdf"]
    content = (tmp_path / "cdf.pdf").read_bytes()
    assert b"/MediaBox [ 0 0 237.6 158.4 ]" in content
    assert b"/FontFile2" in content
    assert main([folder, "--panel", "means", "--format", "svg", "--size", "84x56mm", *options]) == 0
    assert "Mine" in (tmp_path / "means.svg").read_text()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--panel", "cfd"], "--panel: no such panel\n  found 'cfd'; allowed: cdf, queueing"),
        (["--panel", "cdf", "--size", "3.3"], "--size: no size\n  found '3.3'; allowed: 1 to 40 inches"),
        (["--panel", "cdf", "--size", "0x9in"], "--size: no size"),
        (["--panel", "cdf", "--label", "srtf"], "--label: no label\n  found 'srtf'; allowed: NAME=TEXT"),
        (["--panel", "cdf", "--label", "=A"], "--label: no label\n  found '=A'; allowed: NAME=TEXT"),
        (
            ["--panel", "cdf", "--label", "fairnet=FairNet"],
            "--label: no row with this name\n  found 'fairnet'; allowed: a word of fifo; srtf",
        ),
        (["--panel", ""], "--panel: no such panel"),
        (
            ["--panel", "cdf", "--wide"],
            "no use for an option\n  found '--wide'; allowed: without --panel alone",
        ),
        (
            ["--size", "3.3x2.2cm"],
            "no use for an option\n  found '--size'; allowed: with --panel NAME,... alone",
        ),
        (["--panel", "cdf", "--figure", "muri 9"], "such a page holds nothing else"),
    ],
)
def test_wrong_panels_are_refused(
    options: list[str], said: str, runs: artist.api.Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two lines, before anything is drawn or written."""
    folder = runs.runs[0].folder.parent
    assert main([str(folder), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "report").exists()
