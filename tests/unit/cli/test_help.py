"""`artist --help`: one screen; groups, choices and settings with the comments of conf/."""

import re
from pathlib import Path

import pytest
import yaml
from hydra._internal.hydra import Hydra

from artist.app.help import help_text, narrow
from artist.data import data_path
from tests.unit.cli.conftest import Artist


def test_help_is_one_screen_and_composes_nothing(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part that config.yaml chooses has its line, at most 80 columns wide; Hydra is not asked."""
    monkeypatch.setattr(Hydra, "compose_config", None)
    monkeypatch.setenv("COLUMNS", "80")
    result = artist("--help", tiny=False)
    lines = result.out.splitlines()
    assert result.code == 0
    assert len(lines) < 40
    assert max(map(len, lines)) <= 80
    groups = re.findall(r"^  - (\w+): ", data_path("conf", "config.yaml").read_text(), re.MULTILINE)
    assert [group for group in groups if not re.search(rf"^  {group} ", result.out, re.MULTILINE)] == []


def test_a_group_lists_its_choices(artist: Artist) -> None:
    """Each with the first sentence of its file; `artist list policies` says the same."""
    listed = artist("list", "policies", tiny=False).out
    assert listed == artist("--help", "policy", tiny=False).out
    assert listed.startswith("policy: the scheduler; tiresias unless chosen\n")
    assert re.search(r"^  dally_manual +Dally with fixed timers$", listed, re.MULTILINE)
    assert re.search(r"^  dgx_h100_3tier +NVIDIA DGX H100 machines: ", help_text(["topology"]), re.MULTILINE)


def test_every_choice_has_a_sentence() -> None:
    """Of all shipped groups."""
    groups = [path.name for path in data_path("conf").iterdir() if path.is_dir() and path.name != "hydra"]
    for group in [*groups, "topology"]:
        bare = re.findall(r"^  (\w+) *$", help_text([group]), re.MULTILINE)
        assert bare == [], group


def test_a_choice_shows_its_settings_and_those_that_it_begins_from() -> None:
    """`tiresias_open` is `tiresias` with two thresholds: these once, the others below."""
    own, parent = help_text(["policy=tiresias_open"], width=200).split("\n# as policy=tiresias\n")
    assert own.endswith("thresholds_gpu_s: [3250, 7200]\n")
    assert "skew_threshold: 0.3 # largest tensor / model size" in parent
    assert "thresholds_gpu_s" not in parent
    assert help_text(["policy=fifo,srtf"]) == help_text(["policy=fifo"]) + "\n" + help_text(["policy=srtf"])


def test_settings_outside_groups_and_of_a_command_line() -> None:
    """`performance` is no group; `cluster.racks=8` on a command line asks for the group."""
    assert help_text(["performance"], width=200).startswith("performance:\n  packing_interference: 0  # ")
    assert help_text(["cluster.racks=8"]) == help_text(["cluster"])


FILES = sorted(path for path in data_path("conf").rglob("*.yaml") if "hydra" not in path.parts)


@pytest.mark.parametrize("width", [60, 80])
def test_comments_fit_the_width_and_settings_stay(width: int) -> None:
    """Of every shipped file: what is wider is a value, a command or one word; the YAML is the same."""
    for path in [*FILES, *data_path("topologies").glob("*.yaml")]:
        text = path.read_text(encoding="utf-8")
        shown = narrow(text, width)
        assert yaml.safe_load(shown) == yaml.safe_load(text), path
        wide = [line for line in shown.splitlines() if len(line) > width and not re.match(r" *#  ", line)]
        prose = (line for line in wide if re.match(r" *# [^\s@]", line) or re.search(r"[^ #] +# ", line))
        assert [line for line in prose if len(line.split()) > 2 and "_convert_" not in line] == [], path


def test_settings_are_as_wide_as_the_terminal(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns, 14 of these 18 lines were wider; at 200 a comment is beside its setting."""
    monkeypatch.setenv("COLUMNS", "80")
    narrow_lines = artist("--help", "policy=dally", tiny=False).out.splitlines()
    assert max(map(len, narrow_lines)) <= 80
    monkeypatch.setenv("COLUMNS", "200")
    wide = artist("--help", "policy=dally", tiny=False).out
    assert len(wide.splitlines()) < len(narrow_lines)
    assert re.search(r"^discard: age # waits that do not count: ", wide, re.MULTILINE)


def test_own_parts_are_listed(artist: Artist, tmp_path: Path) -> None:
    """FOLDER/policy/mine.yaml beside the shipped ones."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "mine.yaml").write_text("# Mine: the best. And more.\n_target_: mine.Mine\n")
    listed = artist("--config-dir", str(tmp_path), "--help", "policy", tiny=False).out
    assert re.search(r"^  mine +Mine: the best$", listed, re.MULTILINE)


@pytest.mark.parametrize(
    ("topic", "near"),
    [("polcy", "policy"), ("policy=daly", "policy=dally"), ("x=1", "topology, cluster, workload")],
)
def test_an_unknown_topic(artist: Artist, topic: str, near: str) -> None:
    """Refused with what is near, else with all topics."""
    result = artist("--help", topic, tiny=False)
    assert result.code == 2
    assert result.err.startswith(f"--help: no such topic\n  found '{topic}'; allowed: ")
    assert near in result.err
