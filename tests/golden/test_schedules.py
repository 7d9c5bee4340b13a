"""Schedules of the tiny trace under every policy, as small text: any change of a result shows as a diff.

After a change that is meant, `pytest tests/golden --update-golden` writes the files anew; read the diff.
"""

from pathlib import Path

import pandas as pd
import pytest

from artist.app.cli import main
from artist.data import data_path

HERE = Path(__file__).parent
POLICIES = sorted(path.stem for path in data_path("conf").joinpath("policy").glob("*.yaml"))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_schedule_of_the_tiny_trace_is_as_it_was(policy, tmp_path, monkeypatch, update_golden):
    """Eight jobs on one machine of eight GPUs and one of another rack, 2 s of restart delay."""
    monkeypatch.chdir(tmp_path)
    code = main(
        [
            f"policy={policy}",
            "workload=csv",
            f"workload.path={data_path('traces', 'tiny.csv')}",
            "cluster.machines=1",
            "overheads.resume_s=1",
            "overheads.restart_s=2",
            "network.cache=null",
        ]
    )
    assert code == 0
    (parquet,) = tmp_path.glob("runs/*/*/jobs.parquet")
    columns = ["job_id", "first_start_s", "finish_s", "queueing_s", "exposed_comm_s", "lost_s", "preemptions"]
    text = (
        pd.read_parquet(parquet, columns=columns).to_string(index=False, float_format="{:.6f}".format) + "\n"
    )
    golden = HERE / f"{policy}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text
