"""A user's own parts: one file and one YAML in a folder of hers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artist.results.folder import read_run
from artist.run.user_folder import python_files

Artist = Callable[..., Any]
Refused = Callable[..., str]


def test_a_policy_of_the_user_runs(artist: Artist, mine: Path) -> None:
    """Her YAML joins the group, her module is imported."""
    result = artist(f"--config-dir={mine}", "policy=least")
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1].startswith("least")


def test_her_parameters_are_hers(refused: Refused, mine: Path) -> None:
    """A class without pydantic is checked as well: by its signature."""
    message = refused(f"--config-dir={mine}", "policy=least", "+policy.most=3")
    assert "policy: unknown option" in message
    assert "max_gpus" in message


def test_the_name_of_a_shipped_file_is_refused(refused: Refused, mine: Path) -> None:
    """Hydra alone would take the shipped fifo and say nothing."""
    (mine / "policy" / "fifo.yaml").write_text("_target_: least.Least\n")
    message = refused(f"--config-dir={mine}", "policy=least")
    assert "fifo.yaml" in message


def test_the_name_of_a_shipped_topology_is_refused(refused: Refused, mine: Path) -> None:
    """Topologies are a group too, although their files lie elsewhere."""
    (mine / "topology").mkdir()
    (mine / "topology" / "dgx_h100_3tier.yaml").write_text("name: x\n")
    assert "dgx_h100_3tier.yaml" in refused(f"--config-dir={mine}", "policy=least")


def test_a_module_that_another_one_hides_is_refused(refused: Refused, mine: Path) -> None:
    """`json` is Python's own; a class of the user's json.py would never be found."""
    (mine / "json.py").write_text("class Mine:\n    def decide(self, view): ...\n")
    (mine / "policy" / "hidden.yaml").write_text("_target_: json.Mine\n")
    assert "hidden by another module `json`" in refused(f"--config-dir={mine}", "policy=hidden")


PARTS = '''"""An order and a chooser."""
from artist.policies.parts.placement import Spread


class Longest:
    knows_durations = True

    def __init__(self, sign):
        self.sign = sign

    def key(self, jobs):
        return self.sign * jobs.remaining_ns


class Blind(Longest):
    knows_durations = False


class Everywhere:
    def choose(self, free, demand, among):
        return Spread().choose(free, demand, among)
'''


def mean_jct(result: Any) -> str:
    """Return the last line of the table without the policy's name."""
    assert result.code == 0, result.err
    return str(result.out.splitlines()[-1].split()[1:])


def test_an_order_of_the_user_ranks(artist: Artist, mine: Path) -> None:
    """Least remaining time first is srtf, whoever wrote it; the most first (-1) is not.

    It looks at durations; that it says so reaches the policy, or the run would end with an error.
    """
    (mine / "parts.py").write_text(PARTS)
    shipped, least, most = (
        mean_jct(artist(f"--config-dir={mine}", "policy=srtf", "cluster.machines=1", order))
        for order in (
            "policy.order=srtf",
            "policy.order={_target_: parts.Longest, sign: 1}",
            "policy.order={_target_: parts.Longest, sign: -1}",
        )
    )
    assert shipped == least != most


def test_an_order_that_reads_undeclared_knowledge_is_refused(artist: Artist, mine: Path) -> None:
    """Nobody looks at durations by accident: fifo does not know them, and the order does not declare them."""
    (mine / "parts.py").write_text(PARTS)
    result = artist(f"--config-dir={mine}", "policy=fifo", "policy.order={_target_: parts.Blind, sign: 1}")
    assert "knows_durations" in result.err


def test_a_chooser_of_the_user_places(artist: Artist, mine: Path) -> None:
    """Hers spreads, as the shipped one does; consolidated jobs would not communicate over racks."""
    (mine / "parts.py").write_text(PARTS)
    hers, shipped, other = (
        mean_jct(artist(f"--config-dir={mine}", "policy=fifo", "cluster.machines=2", placement))
        for placement in (
            "policy.placement={_target_: parts.Everywhere}",
            "policy.placement=spread",
            "policy.placement=consolidate",
        )
    )
    assert hers == shipped != other


def test_a_preset_of_the_user_inherits_a_shipped_one(artist: Artist, mine: Path) -> None:
    """Her YAML has the lines that differ; the results give the name of her preset."""
    (mine / "policy" / "patient.yaml").write_text("defaults: [dally, _self_]\nmachine_timer_h: 20\n")
    result = artist(f"--config-dir={mine}", "policy=patient", "--cfg=job", "--package=policy")
    assert "machine_timer_h: 20\nrack_timer_h: 24\n" in result.out
    result = artist(f"--config-dir={mine}", "policy=patient")
    assert result.out.splitlines()[-1].startswith("patient ")


HELPED = """
from helper import SIGN
from least import Least


class Helped(Least):
    sign = SIGN
"""


def test_runs_depend_on_the_modules_of_the_user_that_they_use(artist: Artist, mine: Path) -> None:
    """Neither another module nor a test changes a run; the module of a class does, and what that imports."""
    (mine / "helper.py").write_text("SIGN = 1\n")
    (mine / "helped.py").write_text(HELPED)
    (mine / "policy" / "helped.yaml").write_text("defaults: [least]\n_target_: helped.Helped\n")
    sweep = ("-m", f"--config-dir={mine}", "policy=helped,least,fifo", "cluster.machines=2")
    assert "3 run now, 0 kept" in artist(*sweep).err
    (mine / "unrelated.py").write_text("import helped\n")
    (mine / "test_least.py").write_text("def test(): pass\n")
    assert "0 run now, 3 kept" in artist(*sweep).err
    (mine / "helper.py").write_text("SIGN = -1\n")
    again = artist(*sweep).err
    assert "mine/helper.py: changed since the sweep before; runs that use it are new\n" in again
    assert "1 run now, 2 kept" in again


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("import a\nimport json\n", ["a.py", "mine.py"]),
        ("from a import b\n", ["a.py", "mine.py"]),
        ("def late():\n    import package.part\n", ["mine.py", "package/__init__.py", "package/part.py"]),
        ("import bare.part\n", ["bare/part.py", "mine.py"]),
        ("import circle\n", ["circle.py", "mine.py"]),
        ("import importlib\n", None),
        ("part = __import__('a')\n", None),
        ("this is not Python\n", ["mine.py"]),
        ("", ["mine.py"]),
    ],
)
def test_the_modules_of_a_run_follow_imports(tmp_path: Path, source: str, used: list[str] | None) -> None:
    """Packages whole, also without `__init__`; every module where a name may be computed (None)."""
    others = ["a.py", "bare/part.py", "other.py", "package/__init__.py", "package/part.py"]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "circle.py").write_text("import mine\n")
    (tmp_path / "mine.py").write_text(source)
    files = python_files([tmp_path], {"policy": {"order": [{"_target_": "mine.Order"}]}})
    found = [path.relative_to(tmp_path).as_posix() for path in files]
    assert found == (sorted([*others, "circle.py", "mine.py"]) if used is None else used)


def test_the_command_of_a_run_names_the_folder(artist: Artist, mine: Path) -> None:
    """Of a sweep and of one run: without it, the command that a report prints ends in `no such choice`."""
    assert artist(f"--config-dir={mine}", "policy=least").code == 0
    (alone,) = (path.parent for path in Path("runs").rglob("summary.json"))
    assert read_run(alone).command[:2] == ("artist", "--config-dir=mine")
    assert artist("-m", f"--config-dir={mine}", "policy=least", "seed=1,2").code == 0
    point = next(Path("runs/sweeps").rglob("summary.json")).parent
    assert read_run(point).command[:3] == ("artist", "-m", "--config-dir=mine")


def test_an_unknown_choice_names_the_option_for_ones_own(refused: Refused) -> None:
    """`policy=least` without the folder that holds it."""
    assert refused("policy=least").rstrip().endswith("your own: --config-dir FOLDER")


READERS = """
from pathlib import Path


class Stall:
    part = "input_stall_ns"
    input_files = (Path("stall.txt"),)

    def ns(self, spec, allocation, cluster, compute_ns):
        return int(Path("stall.txt").read_text())


class Mine:
    knows_durations = False
    input_files = (Path("sign.txt"),)

    def key(self, jobs):
        return jobs.job * int(Path("sign.txt").read_text())
"""


@pytest.mark.parametrize("file", ["stall.txt", "sign.txt"])
def test_a_file_that_an_effect_or_an_order_reads_is_part_of_the_run_key(artist, mine, file):
    """A sweep keeps what was run while the file says the same; with another content it is another run."""
    (mine / "reads.py").write_text(READERS)
    Path("stall.txt").write_text("5")
    Path("sign.txt").write_text("1")
    sweep = ("-m", f"--config-dir={mine}", "policy=sjf", "policy.order={_target_: reads.Mine}", "seed=0")
    sweep += ("performance.effects=[{_target_: reads.Stall}]",)
    assert "1 run now, 0 kept" in artist(*sweep).err
    assert "0 run now, 1 kept" in artist(*sweep).err
    Path(file).write_text("-1" if file == "sign.txt" else "7")
    assert "1 run now, 0 kept" in artist(*sweep).err
