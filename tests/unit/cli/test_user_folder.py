"""A user's own parts: one file and one YAML in a folder of hers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
