"""A user's own parts: one file and one YAML in a folder of hers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    assert "most_gpus" in message


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
