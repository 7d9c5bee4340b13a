"""Schedules of the golden workload under every preset, as small text: any change of a result shows as a diff.

After a change that is meant, `pytest tests/golden --update-golden` writes the files anew; read the diff.
"""

from itertools import combinations
from pathlib import Path

import pytest

from artist.data import data_path

HERE = Path(__file__).parent
POLICIES = sorted(path.stem for path in data_path("conf").joinpath("policy").glob("*.yaml"))
TIMES = ["first_start_s", "finish_s", "queueing_s", "exposed_comm_s", "sharing_s", "lost_s"]
COUNTS = ["preemptions", "evictions", "migrations", "resizes"]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_schedule_is_as_it_was(policy, jobs_under, update_golden):
    """Three days on three racks of two machines of eight GPUs."""
    jobs = jobs_under(policy)
    text = jobs.to_csv(columns=["job_id", *TIMES, *COUNTS], index=False, float_format="%.3f")
    golden = HERE / f"{policy}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_no_two_presets_have_the_same_schedule():
    """A preset that schedules as another does is not guarded by its file."""
    schedules = {policy: (HERE / f"{policy}.txt").read_bytes() for policy in POLICIES}
    assert [pair for pair in combinations(POLICIES, 2) if schedules[pair[0]] == schedules[pair[1]]] == []
