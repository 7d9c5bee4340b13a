"""Schedules of the golden workload under every preset, as small text: any change of a result shows as a diff.

After a change that is meant, `pytest tests/golden --update-golden` writes the files anew; read the diff.
"""

from itertools import combinations
from pathlib import Path

import audit
import pandas as pd
import pytest

from artist.data import data_path

HERE = Path(__file__).parent
POLICIES = sorted(path.stem for path in data_path("conf").joinpath("policy").glob("*.yaml"))
TIMES = ["first_start_s", "finish_s", "queueing_s", "exposed_comm_s", "sharing_s", "lost_s"]
COUNTS = ["preemptions", "evictions", "migrations", "resizes"]


def test_the_schedule_is_as_it_was(policy, run_under, update_golden):
    """Three days on three racks of two machines of eight GPUs."""
    jobs = pd.read_parquet(run_under(policy) / "jobs.parquet")
    text = jobs.to_csv(columns=["job_id", *TIMES, *COUNTS], index=False, float_format="%.3f")
    golden = HERE / f"{policy}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_replayed_events_lead_to_the_written_results(policy, run_under):
    """The auditor replays them: failures, elastic jobs, groups, and changes that cost something."""
    assert audit.audit(run_under(policy)).faults == {}


def test_no_two_presets_have_the_same_schedule():
    """A preset that schedules as another does is not guarded by its file."""
    schedules = {policy: (HERE / f"{policy}.txt").read_bytes() for policy in POLICIES}
    assert [pair for pair in combinations(POLICIES, 2) if schedules[pair[0]] == schedules[pair[1]]] == []


@pytest.mark.parametrize(
    ("preset", "setting"),
    [
        ("srtf", "overheads.on_stop=keep"),
        ("srtf", "overheads.on_stop=lose_all"),
        ("srtf", "overheads={on_stop:lose_since_checkpoint,checkpoint_every_s:600}"),
        ("srtf", "stop.time_s=50000"),
        ("las", "stop.jobs=[20,60]"),
        ("srtf", "output={rates:false,resources:true}"),
        ("srtf", "performance.tuned_jobs=true"),
    ],
)
def test_runs_with_other_settings_are_recounted(preset, setting, run_under):
    """Losses at stops, runs that end early, and runs without rates, whose iterations are left out."""
    audited = audit.audit(run_under(preset, setting))
    assert audited.faults == {}
    assert ("iterations done, by the rates" in audited.compared) == ("rates" not in setting)
