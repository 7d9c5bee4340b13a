"""Runs of the golden workload under each preset, once a session, as folders that the command would write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from artist.app.composing import register_topologies
from artist.data import data_path
from artist.run.point import Request, run_point

HERE = Path(__file__).parent
POLICIES = sorted(path.stem for path in data_path("conf").joinpath("policy").glob("*.yaml"))
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
    "output.rates=true",
)

# Sub-arrays by what was seen two hours ago, not yesterday.
PACE = dict.fromkeys(
    ("coda", "coda_no_tuning", "coda_no_eliminator", "coda_halving"), ("policy.review_s=7200",)
)

SENSITIVE = ("performance.sensitivity=synergy",)  # for presets that divide CPUs and memory

LYRA = (  # pools and a series to lend by; jobs of all kinds: fungible, elastic, heterogeneous, with workers
    "topology=v100_t4_pools",
    "network.system.preset=papers",
    "cluster.machines=["
    "{type: v100_8gpu, count: 2, pool: training}, {type: t4_8gpu, count: 10, pool: inference}]",
    "signals=file",
    f"signals.path={HERE / 'inference.csv'}",
    "signals.ahead=[inference]",
    f"workload.path={HERE / 'lyra.csv'}",
    "performance.mixed_types=sum",
    "overheads.on_stop=lose_all",
)

CODA = (  # GPU jobs that need CPUs, by user, and CPU-only jobs, some of which draw much memory bandwidth
    "topology=pcie_10g",
    "network.system.preset=papers",
    "cluster.machines=6",
    f"workload.path={HERE / 'coda.csv'}",
    "performance.sensitivity=coda",
    "performance.measured_with=request",
    "overheads.cpu_on_stop=lose_all",
)

# On slow links, which the network of the others, that of a paper's program, is too fast to share.
CONTENDED = (
    "topology=cloud_ethernet",
    "topology.oversubscription.rack=8",
    "performance.contention=mean_field",
)

OWN = {"network_aware": CONTENDED, "cassini": CONTENDED, "lyra": LYRA, "coda": CODA}
OWN |= dict.fromkeys(("synergy", "cpu_tuned"), SENSITIVE)

Run = Callable[..., Path]


@pytest.fixture(scope="session")
def run_under(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function from a preset and overrides to the folder of its run of the golden workload."""
    register_topologies()
    scratch = tmp_path_factory.mktemp("golden")
    frames: dict[tuple[str, ...], DictConfig] = {}
    runs: dict[tuple[str, ...], int] = {}

    def run(policy: str, *overrides: str) -> Path:
        own = [one for one in overrides if one.startswith("policy.")]
        overrides = tuple(one for one in overrides if one not in own)
        overrides = (*overrides, *next((more for start, more in OWN.items() if policy.startswith(start)), ()))
        if overrides not in frames:
            frames[overrides] = composed("config", *SETTING, f"network.cache={scratch / 'cache'}", *overrides)
        frame = frames[overrides]
        frame.policy = composed(f"policy/{policy}", *PACE.get(policy, ()), *own).policy
        config: Any = OmegaConf.to_container(frame, resolve=True)
        config["output"]["dir"] = str(scratch)
        folder = scratch / f"{policy}-{runs.setdefault((policy, *overrides, *own), len(runs))}"
        outcome = run_point(Request(config, policy, folder))
        assert outcome.status in ("finished", "kept"), outcome.message
        return folder

    return run


@pytest.fixture(scope="session", params=POLICIES)
def policy(request: pytest.FixtureRequest) -> str:
    """Return each preset; what is asked of one stands together, so that it runs once."""
    name: str = request.param
    return name


def composed(name: str, *overrides: str) -> DictConfig:
    """Return a configuration, unresolved; Hydra itself is left as it was, since other tests start it."""
    with initialize_config_dir(str(data_path("conf")), version_base="1.3"):
        return compose(name, list(overrides))
