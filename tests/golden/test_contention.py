"""Contention changes nothing where jobs do not meet: the same schedules, files and all."""

import pandas as pd
import pytest

FILES = ("events.parquet", "timeline.parquet")
LONE = ("topology=cloud_ethernet", "workload.first=1")


@pytest.mark.parametrize("way", ["mean_field", "packets"])
@pytest.mark.parametrize(("policy", "setting"), [("tiresias", ()), ("fifo", ()), ("fifo", LONE)])
def test_jobs_that_share_no_link_run_as_without_contention(run_under, policy, setting, way):
    """All links of the golden fabric are as many as their members; and a job alone meets no other.

    Whoever asks for contention gets one more column of jobs, the slowdown, which is 1.
    """
    without, beside = (
        run_under(policy, *setting, f"performance.contention={value}") for value in ("none", way)
    )
    for name in FILES:
        assert (without / name).read_bytes() == (beside / name).read_bytes()
    jobs, more = (pd.read_parquet(folder / "jobs.parquet") for folder in (without, beside))
    assert (more.pop("contention_slowdown").dropna() == 1).all()
    pd.testing.assert_frame_equal(jobs, more, check_exact=True)
