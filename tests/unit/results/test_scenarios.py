"""Competing rows, and their baselines."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.errors import InputError
from artist.results.compare import Comparison, compare
from artist.results.folder import read_run
from artist.results.scenarios import contest

Maker = Callable[..., Path]


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Compare runs of (policy, racks)."""

    def make(points: Sequence[tuple[Any, int]]) -> Comparison:
        folders = []
        for i, (policy, racks) in enumerate(points):
            named = {"name": policy} if isinstance(policy, str) else policy
            config = {"policy": named, "seed": 0, "cluster": {"racks": racks}}
            folders.append(run_folder(tmp_path / str(i), config))
        return compare([read_run(folder) for folder in folders])

    return make


def test_policies_compete_at_each_cluster_size(comparison: Callable[..., Comparison]) -> None:
    """Rows are fifo 1, fifo 2, srtf 1, srtf 2: two scenarios, in each of which fifo is the baseline."""
    result = contest(comparison([(policy, racks) for policy in ("fifo", "srtf") for racks in (1, 2)]))
    assert [(scenario.name, scenario.rows) for scenario in result.scenarios] == [
        ("1 rack", (0, 2)),
        ("2 racks", (1, 3)),
    ]
    assert result.contenders == ("fifo", "fifo", "srtf", "srtf")
    assert result.baseline == (0, 1, 0, 1)
    assert result.scenario_of(3).name == "2 racks"


def test_missing_settings_are_named_only_to_separate_scenarios(run_folder: Maker, tmp_path: Path) -> None:
    """Racks or a name tell scenarios apart, so the missing ones are not told; racks alone would not do."""

    def names(clusters: Sequence[dict[str, Any]]) -> list[str]:
        runs = []
        for policy in ("fifo", "srtf"):
            for cluster in clusters:
                config = {"policy": {"name": policy}, "cluster": cluster, "seed": 0}
                runs.append(read_run(run_folder(tmp_path / f"{policy}{cluster}", config)))
        return [scenario.name for scenario in contest(compare(runs)).scenarios]

    three = [{"racks": 1, "name": None}, {"racks": 2, "name": None}, {"racks": None, "name": "small"}]
    assert names(three) == ["1 rack", "2 racks", "small"]
    assert names([{"racks": 2}, {"racks": None}]) == ["2 racks", "number of racks none"]


def test_settings_of_a_policy_compete_too(comparison: Callable[..., Comparison]) -> None:
    """The placement belongs to the policy: one scenario of two contenders that bear it in their names."""
    points = [({"name": "fifo", "placement": placement}, 1) for placement in ("best", "random")]
    result = contest(comparison(points))
    assert [scenario.rows for scenario in result.scenarios] == [(0, 1)]
    assert result.contenders == ("fifo, placement best", "fifo, placement random")


def test_without_competing_policies_all_rows_compete(comparison: Callable[..., Comparison]) -> None:
    """One policy on three clusters: there would be three scenarios of one row, so clusters compete."""
    result = contest(comparison([("fifo", racks) for racks in (1, 2, 3)]))
    assert [scenario.rows for scenario in result.scenarios] == [(0, 1, 2)]
    assert result.contenders == ("fifo, 1 rack", "fifo, 2 racks", "fifo, 3 racks")
    assert result.baseline == (0, 0, 0)


def test_rows_with_long_names_are_spoken_of_by_letter(
    run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """Labels of more than 36 characters have letters in tables and figures; sentences use them too."""
    configs = [
        {"policy": {"name": "fifo"}, "seed": 1, "topology": {"path": f"/d/{'a' * 40}{i}"}} for i in range(2)
    ]
    compared = compare([read_run(run_folder(tmp_path / str(i), config)) for i, config in enumerate(configs)])
    assert contest(compared).contenders == ("A (fifo)", "B (fifo)")


@pytest.mark.parametrize(
    ("wanted", "baseline"),
    [
        ("policy=srtf", (2, 3, 2, 3)),  # in each scenario its own
        ("policy=srtf,cluster.racks=2", (3, 3, 3, 3)),  # one for all
        ("racks=2", (1, 1, 1, 1)),  # a key by its last word; the first that matches
    ],
)
def test_a_baseline_by_name(
    comparison: Callable[..., Comparison], wanted: str, baseline: tuple[int, ...]
) -> None:
    """The row's own scenario comes first, then any."""
    points = [(policy, racks) for policy in ("fifo", "srtf") for racks in (1, 2)]
    assert contest(comparison(points), wanted).baseline == baseline


def test_settings_of_a_policy_are_held_against_their_like(comparison: Callable[..., Comparison]) -> None:
    """Both policies near and far, fifo named: srtf near is held against fifo near, far against far."""
    policies = [{"name": name, "placement": where} for name in ("fifo", "srtf") for where in ("far", "near")]
    result = contest(comparison([(policy, 1) for policy in policies]), "policy=fifo")
    assert (result.baseline, result.asked) == ((0, 1, 0, 1), True)


def test_a_scenario_without_the_default_baseline_has_its_own(comparison: Callable[..., Comparison]) -> None:
    """FIFO was not run on 2 racks: the first row there is the baseline, not fifo on another cluster."""
    result = contest(comparison([("fifo", 1), ("srtf", 1), ("srtf", 2), ("tiresias", 2)]))
    assert result.baseline == (0, 0, 2, 2)


@pytest.mark.parametrize("wanted", ["policy", "colour=red", "policy=las", "policy=fifo,racks=7"])
def test_a_baseline_that_is_none_is_refused(comparison: Callable[..., Comparison], wanted: str) -> None:
    """No value, an unknown key, an unknown value, and two values that do not meet."""
    with pytest.raises(InputError, match="--baseline"):
        contest(comparison([("fifo", 1), ("srtf", 2)]), wanted)
