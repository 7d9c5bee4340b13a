"""Conditions under which runs are made are scenarios, never choices."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.results.compare import compare
from artist.results.folder import read_run
from artist.results.scenarios import contest


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        ("workload", ({"load": 0.9}, {"load": 1.2})),
        ("workload", ({"path": "a.csv"}, {"path": "b.csv"})),
        ("arrivals", ({"jobs_per_hour": 10}, {"jobs_per_hour": 20})),
        ("cluster", ({"failures": None}, {"failures": "rsc1"})),
        ("cluster", ({"events": None}, {"events": "down.csv"})),
        ("signals", ({"peak": 0.8}, {"peak": 0.9})),
    ],
)
def test_rows_under_two_conditions_do_not_compete(
    run_folder: Callable[..., Path], tmp_path: Path, section: str, settings: tuple[object, object]
) -> None:
    """Nobody chooses a load, a trace or failures: two scenarios of one row, and `--choose` refuses them."""
    runs = [
        read_run(run_folder(tmp_path / str(i), {"policy": {"name": "fifo"}, "seed": 0, section: values}))
        for i, values in enumerate(settings)
    ]
    compared = compare(runs)
    assert [scenario.rows for scenario in contest(compared).scenarios] == [(0,), (1,)]
    assert not compared.has_choice
    with pytest.raises(InputError, match="are conditions"):
        compare(runs, [compared.keys[1]])
