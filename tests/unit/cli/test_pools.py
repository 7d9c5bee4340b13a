"""Machines in several pools from the command line: what their runs have more, and other runs do not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from artist.results.folder import read_run

Artist = Callable[..., Any]

TWO = (
    "topology=v100_t4_pools",
    "cluster={racks: null, machines: [{type: v100_8gpu, count: 2, pool: training}, "
    "{type: t4_8gpu, count: 2, pool: inference}], machines_per_rack: null}",
)


def test_runs_of_two_pools_say_who_had_the_machines(artist: Artist) -> None:
    """Nothing is lent: both machines stay, and inference, which needs both at most, is never short."""
    assert artist("policy=fifo", *TWO, "signals=inference").code == 0
    (path,) = Path("runs").rglob("pools.parquet")
    run = read_run(path.parent)
    assert run.summary["inference_short"] == {"server_s": 0, "worst_servers": 0}
    assert run.summary["pools"]["on_loan_held"] is None
    assert run.summary["reclaims"]["machines"] == 0
    pools = run.table("pools")
    assert set(pools["training_gpus"]) == set(pools["inference_gpus"]) == {16}
    assert set(pools["inference_needed"]) <= {1, 2}
    assert set(run.jobs["on_loan_s"]) == {0}


def test_runs_of_one_pool_are_as_they_were(artist: Artist) -> None:
    """Neither a file nor a key nor a column, with a signal of that name, too."""
    assert artist("policy=fifo", "signals=inference").code == 0
    (path,) = Path("runs").rglob("summary.json")
    assert not (path.parent / "pools.parquet").exists()
    assert not {"inference_short", "pools", "reclaims"} & set(json.loads(path.read_text()))
    columns = set(pd.read_parquet(path.parent / "jobs.parquet").columns)
    assert not {"on_loan_s", "min_gpus", "max_gpus"} & columns
