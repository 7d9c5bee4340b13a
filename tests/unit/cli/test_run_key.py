"""Equal keys, equal results; different inputs, different keys."""

from pathlib import Path

from artist.data import program_version
from artist.run.key import code_digest, run_key

CONFIG = {"seed": 0, "policy": {"_target_": "a.B", "x": 1.0}, "network": {"model": {}, "cache": None}}


def test_settings_without_effect_on_results_do_not_change_the_key() -> None:
    """Folders of results and answers are no part of the simulation."""
    key = run_key(CONFIG)
    assert run_key({**CONFIG, "output": {"dir": "elsewhere"}, "hydra": {}}) == key
    assert run_key({**CONFIG, "network": {"model": {}, "cache": "elsewhere"}}) == key
    assert run_key(dict(reversed(CONFIG.items()))) == key


def test_settings_that_change_results_change_the_key() -> None:
    """Every value, and the name that the summary gives to the policy."""
    others = [run_key({**CONFIG, "seed": 1}), run_key({**CONFIG, "network": {"model": {"x": 1}}})]
    assert len({run_key(CONFIG), run_key(CONFIG, policy="fifo"), *others}) == 4


def test_the_contents_of_files_count(tmp_path: Path) -> None:
    """Of files that the configuration names anywhere, and of those that a part says it reads."""
    named, other = tmp_path / "trace.csv", tmp_path / "policy.py"
    config = {**CONFIG, "workload": {"path": [str(named)]}}
    keys = [run_key(config)]
    named.write_text("1")
    keys.append(run_key(config))
    named.write_text("22")
    keys += [run_key(config), run_key(config, files=[other])]
    other.write_text("1")
    keys.append(run_key(config, files=[other]))
    assert len(set(keys)) == 5


def test_the_version_differs_between_checkouts() -> None:
    """A number for people and a digest of the code, so that an edited program runs its sweeps anew."""
    number, digest = program_version().split("+")
    assert number
    assert len(digest) == 8


def test_the_code_digest_leaves_the_configuration_out(tmp_path: Path) -> None:
    """It tells code and inputs apart, wherever they lie; settings are compared as settings."""
    digests = []
    for place in ("a", "b"):
        (tmp_path / place / "mine").mkdir(parents=True)
        policy = tmp_path / place / "mine" / "policy.py"
        policy.write_text("1")
        digests.append(code_digest(CONFIG, files=[policy]))
    assert digests[0] == digests[1] == code_digest({**CONFIG, "seed": 1}, files=[policy])
    policy.write_text("2")
    assert code_digest(CONFIG, files=[policy]) not in digests
