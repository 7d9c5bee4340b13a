"""Runs of the golden workload under each preset, built in this process."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from artist.app.cli import register_topologies
from artist.data import data_path
from artist.recording.columns import job_tables
from artist.run.build import build, check_config

HERE = Path(__file__).parent
SETTING = (
    "topology=dally_code",
    "cluster.machines=6",
    "cluster.machines_per_rack=2",
    f"cluster.events={HERE / 'machines.csv'}",
    "workload=csv",
    f"workload.path={HERE / 'workload.csv'}",
    "overheads.start_s=1",
    "overheads.resume_s=5",
    "overheads.restart_s=20",
    "overheads.migrate_s=30",
    "overheads.resize_s=7",
    "overheads.retune_s=2",
)

# Timers that run out while other jobs hold a machine's GPUs, so that a renewal has something to decide.
PACE = dict.fromkeys(
    ("dally_manual_keep", "dally_manual_nearer"), ("policy.machine_timer_h=1", "policy.rack_timer_h=2")
)


@pytest.fixture(scope="session")
def jobs_under(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pd.DataFrame]:
    """Return how to run the golden workload under a preset: jobs.parquet as it would be written."""
    register_topologies()
    frame = composed("config", *SETTING, f"network.cache={tmp_path_factory.mktemp('cache')}")

    def run(policy: str) -> pd.DataFrame:
        frame.policy = composed(f"policy/{policy}", *PACE.get(policy, ())).policy
        config = OmegaConf.to_container(frame, resolve=True)
        assert isinstance(config, dict)
        result = build(check_config(config)).run(())
        return pd.concat([table.to_pandas() for table in job_tables(result)])

    return run


def composed(name: str, *overrides: str) -> DictConfig:
    """Return a configuration, unresolved; Hydra itself is left as it was, since other tests start it."""
    with initialize_config_dir(str(data_path("conf")), version_base="1.3"):
        return compose(name, list(overrides))
