"""Machines in several pools from the command line: what their runs have more, and other runs do not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.results.folder import read_run

Artist = Callable[..., Any]

TWO = (
    "topology=v100_t4_pools",
    "cluster={racks: null, machines: [{type: v100_8gpu, count: 2, pool: training}, "
    "{type: t4_8gpu, count: 2, pool: inference}], machines_per_rack: null}",
)


def test_runs_of_two_pools_record_machines_by_pool(artist: Artist) -> None:
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


def machines(training: str, inference: str) -> str:
    """Return the setting for a machine in each of two pools."""
    kinds = (("v100_8gpu", training), ("t4_8gpu", inference))
    listed = ", ".join(f"{{type: {kind}, count: 1, pool: {pool}}}" for kind, pool in kinds)
    return f"cluster.machines=[{listed}]"


@pytest.mark.parametrize("policy", ["fifo", "pollux"])
def test_a_pool_that_no_machine_is_in_is_refused(refused: Callable[..., str], policy: str) -> None:
    """All machines would serve: with a misspelt `pool`, or where the cluster spells its pools otherwise."""
    given = f"policy={policy}", "topology=v100_t4_pools"
    message = refused(*given, machines("training", "inference"), "policy.pool=trainning")
    assert message.startswith("policy.pool: no machine is in this pool")
    assert "found 'trainning'; allowed: inference, training" in message
    message = refused(*given, machines("Training", "inference"), "policy.pool=training")
    assert "found 'training'; allowed: Training, inference" in message


def test_the_pool_of_a_policy_within_another_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    """`policy.pool` is no field of network_aware; an unknown pool, and one that is too small for a job."""
    given = "policy=network_aware", "policy@policy.of=fifo", "topology=v100_t4_pools"
    message = refused(*given, machines("Training", "inference"), "policy.of.pool=training")
    assert message.startswith("policy.of.pool: no machine is in this pool")
    trace = tmp_path / "large.csv"
    trace.write_text("job_id,submit_s,gpus,duration_s\na,0,16,100\n")
    message = refused(
        *given,
        machines("training", "inference"),
        "workload=csv",
        f"workload.path={trace}",
        "policy.of.pool=training",
        tiny=False,
    )
    assert message.endswith("or policy.of.pool=''\n")


def test_a_cluster_without_pools_needs_none(artist: Artist) -> None:
    """All machines serve, whatever the policy calls its pool."""
    assert artist("policy=lyra_fifo").code == 0


@pytest.mark.parametrize(
    ("policy", "pools", "told"),
    [
        ("lyra", ("training", "inference"), []),
        ("lyra_no_loans", ("training", "inference"), []),
        ("lyra_no_loans", ("training", "training"), []),
        ("lyra", ("training", "training"), ["no machine is in pool 'inference', so none is loaned"]),
        (
            "lyra",
            ("training", "Inference"),
            ["'Inference' are not used; it knows pools training, inference, on_loan", "none is loaned"],
        ),
        ("lyra", ("Training", "inference"), ["machines in pool 'Training' are for training"]),
        ("lyra", ("default", "inference"), []),
        ("lyra", ("training", "default"), ["machines in pool 'default' are not used", "none is loaned"]),
    ],
)
def test_lyra_warns_of_pools_that_it_does_not_use(
    artist: Artist, policy: str, pools: tuple[str, str], told: list[str]
) -> None:
    """One line for each such pool, and one where nothing can be loaned; none for pools as it knows them."""
    given = "topology=v100_t4_pools", "signals=inference"
    result = artist(f"policy={policy}", *given, machines(*pools))
    assert result.code == 0
    assert result.err.count("policy Lyra: ") == len(told)
    for words in told:
        assert words in result.err
