"""Busy GPUs can be recounted from events.parquet alone, whatever shares them."""

from pathlib import Path

import pandas as pd
import pytest

from artist.app.cli import main
from artist.results.occupancy import parse_allocation

HOLDS = ("start", "resume", "restart", "retune", "resize", "migrate")


def recounted(events: pd.DataFrame) -> pd.Series:
    """Return the GPUs held after each instant, by time: what jobs have alone, and each group's once."""
    held: dict[str, tuple[str, str | None, str | None]] = {}
    busy = {0.0: 0}
    for at in events.sort_values("seq").itertuples():
        if at.kind in HOLDS:
            held[at.job_id] = (at.allocation, at.group, at.group_gpus)
        elif at.kind in ("stop", "finish"):
            del held[at.job_id]
        else:
            continue
        alone = [allocation for allocation, group, _ in held.values() if group is None]
        shared = {(group, owned) for _, group, owned in held.values() if group is not None}
        texts = [*alone, *(owned for _, owned in shared if owned is not None)]
        busy[at.time_s] = sum(gpus for text in texts for _, gpus in parse_allocation(text))
    return pd.Series(busy)


@pytest.mark.parametrize("policy", ["antman", "muri_l", "gandiva_full policy.quantum_s=3600", "fifo"])
def test_busy_gpus_from_the_events_are_those_of_the_timeline(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 jobs on 32 GPUs at load 2: at every change of either, both say the same.

    A member may hold fewer GPUs than its group owns, as under AntMan; only Fifo forms no group.
    """
    monkeypatch.chdir(tmp_path)
    size = ["workload.jobs=100", "workload.load=2", "workload.load_gpus=32", "cluster.machines=4"]
    assert main([*f"policy={policy}".split(), "workload=muri_vc", *size, "network=zero"]) == 0
    (file,) = tmp_path.glob("runs/*/*/events.parquet")
    events = pd.read_parquet(file).replace({float("nan"): None})
    timeline = pd.read_parquet(file.with_name("timeline.parquet")).set_index("time_s")["busy_gpus"]
    ours = recounted(events)
    times = sorted({*ours.index, *timeline.index})
    assert ours.reindex(times).ffill().tolist() == timeline.reindex(times).ffill().tolist()
    assert events["group"].notna().any() == (policy != "fifo")
