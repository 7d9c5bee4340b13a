"""The experiments that ship: every point of every sweep is a sound configuration."""

from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path

import hydra
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf, open_dict

from artist.app.composing import register_topologies
from artist.app.sweep import with_variants
from artist.data import data_path
from artist.report.claims.evaluate import roles
from artist.report.claims.evidence import fits, flat, is_of
from artist.report.claims.schema import read_claims
from artist.run.build import build, check_config, input_files
from netmodels.fabric.system import PRESETS

GROUPS = {path.name for path in data_path("conf").iterdir() if path.is_dir()} | {"topology"}
NAMES = sorted(path.stem for path in data_path("conf", "experiment").glob("*.yaml"))


@cache
def chosen(*choices):
    """Return the configuration that choices of groups make, unresolved, and what it sweeps over."""
    register_topologies()
    with hydra.initialize_config_dir(str(data_path("conf")), version_base="1.3"):
        config = hydra.compose("config", list(choices), return_hydra_config=True)
    params = OmegaConf.to_container(config.hydra.sweeper.params) if config.hydra.sweeper.params else {}
    with open_dict(config):
        del config["hydra"]
    return config, params


def compose(*overrides):
    """Return a resolved configuration; values are set last, as on the command line, but faster."""
    choices = [text for text in overrides if text.partition("=")[0].partition("@")[0] in GROUPS]
    config, params = chosen(*choices)
    config = deepcopy(config)
    values = [override for override in overrides if override not in choices]
    for parse_override in OverridesParser.create().parse_overrides(values):
        OmegaConf.update(config, parse_override.key_or_group, parse_override.value())
    return OmegaConf.to_container(config, resolve=True), params


def swept(params):
    """Return the overrides of each swept key."""
    parsed = OverridesParser.create().parse_overrides([f"{key}={value}" for key, value in params.items()])
    results = []
    for override in parsed:
        values = (
            override.sweep_string_iterator()
            if override.is_sweep_override()
            else [override.get_value_element_as_str()]
        )
        results.append([f"{override.get_key_element()}={value}" for value in values])
    return results


def corners(params, *, thorough):
    """Return overrides for the last values of all swept keys, or for all combinations of first and last."""
    points = list(product(*(dict.fromkeys((values[0], values[-1])) for values in swept(params))))
    return points if thorough else [points[-1]]


JOB_FILE = """\
job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time,resource_time_0,resource_time_1,resource_time_2
0,8,0,10,gpt2,4370,437,0.6,419,49
1,1,500,10,a2c,5170,517,514,14,0
2,1,900,10,dqn,4900,490,446,8,0
3,8,999,10,vgg16,2140,214,82,75,66
"""


VENUS_FILE = """\
job_id,arrival_s,service_sec,gpu_count
0,0,60,8
1,1210000,600,1
2,1220000,60,16
3,1230000,6000,8
4,1240000,60,64
"""
FILES = {
    "muri_testbed": JOB_FILE,
    "muri_traces": JOB_FILE,
    "contention_venus": VENUS_FILE,
    "contention_measured": VENUS_FILE,
}
MURI_TRACES = [f"trace{number}.csv" for number in (1, 2, 3, 4)]


def named(name, folder, file="jobs.csv"):
    """Return the overrides that choose an experiment, and its file if it needs one."""
    if name not in FILES:
        return [f"experiment={name}"]
    (folder / file).write_text(FILES[name])
    return [f"experiment={name}", f"workload.path={folder / file}"]


@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_every_sweep_can_be_built(name, tmp_path, request):
    """Policies, workloads and fabrics exist and fit each other; with --slow at all ends."""
    given = named(name, tmp_path)
    given += ["stop.jobs=[1,4]"] * (FILES.get(name) == VENUS_FILE)
    given += ["workload.days=2"] * name.startswith(("coda_", "lyra_"))  # of 30, and 15
    raw, params = compose(*given)
    points = corners(params, thorough=request.config.getoption("--slow"))
    points = with_variants(points, raw["variant"], OverridesParser.create())
    for point in points:
        raw, _ = compose(*given, *point)
        assert len(build(check_config(raw)).jobs) > 3


def preset_of(name):
    """Return the preset of `network.system` that an experiment's file names, or one that it inherits from."""
    raw = OmegaConf.load(data_path("conf", f"experiment/{name}.yaml"))
    bases = [base for base in raw.get("defaults", []) if base in NAMES]
    return OmegaConf.select(raw, "network.system.preset") or next(map(preset_of, bases), None)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_names_the_preset_of_its_network(name):
    """Another default does not change what an experiment is."""
    assert preset_of(name) in PRESETS


@pytest.mark.parametrize("topology", ["dally_paper", "dgx_h100_3tier"])
def test_an_experiment_runs_on_another_fabric(topology):
    """The calibration that ships follows the topology; its file is an input of the run."""
    raw, _ = compose("experiment=dally_batch", f"topology={topology}")
    assert data_path("traces", f"calibrated/dally_table1/{topology}.yaml") in input_files(raw)


@pytest.mark.parametrize(
    ("name", "size"),
    [("base_schedulers", 1000)]
    + [(f"muri_{value}", 992) for value in ("known", "unknown", "design", "noise")],
)
def test_experiments_in_steady_state_measure_a_window(name, size):
    """Jobs before the window fill the cluster, a tenth of it or more; half as many or more come after it."""
    raw, params = compose(f"experiment={name}")
    first, last = raw["stop"]["jobs"]
    assert last - first == size
    assert first > size / 10
    assert raw["workload"]["jobs"] - last >= size / 2
    assert params.get("arrivals", "trace") == "trace"


@pytest.mark.parametrize("name", ["muri_batch", "muri_busy", "muri_types", "dally_poisson"])
def test_experiments_without_a_steady_state_are_measured_whole(name):
    """All at once, or more than the cluster serves: every job counts, 992, or 411 over a week."""
    raw, _ = compose(f"experiment={name}")
    assert raw["stop"] == {"jobs": None, "time_s": None}
    assert raw["workload"]["jobs"] == (411 if name == "dally_poisson" else 992)


@pytest.mark.parametrize(
    ("paper", "points"),
    [
        ("muri", 50),
        pytest.param("synergy", 50, marks=pytest.mark.slow),
        pytest.param("lyra", 50, marks=pytest.mark.slow),
        ("coda", 30),
        pytest.param("dally", 50, marks=pytest.mark.slow),
    ],
)
def test_no_claim_takes_runs_of_two_kinds_for_one(paper, points, tmp_path):
    """All experiments of a paper reported together: no two configurations fit one place, or one bar."""
    kinds = kinds_of(paper, tmp_path)
    assert len(kinds) > points
    file = read_claims(paper)
    for claim in (
        claim.under(reading) for claim in claims_of(file) for reading in file.readings.values() or [{}]
    ):
        taken = [role for facts in kinds for role in roles(claim, facts)]
        assert len(taken) == len(set(taken)), claim.says
    for figure, policy, where, _ in bars_of(file):
        assert sum(is_of(policy, facts) and fits(where, facts) for facts in kinds) <= 1, (figure, where)


def claims_of(file):
    """Return the claims of which settings select the runs; for an overhead it is also the tier of a job."""
    return [claim for claim in file.claims if claim.metric != ("overhead",)]


def kinds_of(paper, tmp_path, without=()):
    """Return the facts of each point of a paper's sweeps that claims read, once for all seeds."""
    kinds = {}
    sweeps = [
        (name, file)
        for name in NAMES
        if name.startswith(f"{paper}_") and name not in without
        for file in (MURI_TRACES if name == "muri_traces" else ["jobs.csv"])
    ]
    for name, file in sweeps:
        given = named(name, tmp_path, file)
        raw, params = compose(*given)
        points = list(product(*(values for values in swept(params) if not values[0].startswith("seed="))))
        for point in with_variants(points, raw["variant"], OverridesParser.create()):
            raw, _ = compose(*given, *(value for value in point if not value.startswith("variant=")))
            chosen = {"policy": "fifo"} | dict(value.split("=", 1) for value in point)
            batch = chosen.get("arrivals") == "batch" or raw["arrivals"]["_target_"].endswith("BatchArrivals")
            together = batch or name in ("muri_table2", "synergy_static")
            together = together or raw["workload"].get("preset") == "dally_batch"
            raw |= {"variant": None, "output": None}
            facts = flat(raw) | {"policy": chosen["policy"], "arrivals": "batch" if together else "spread"}
            kinds[str(sorted(facts.items()))] = facts
    return list(kinds.values())


def test_every_claim_on_drawn_jobs_of_muri_names_their_load():
    """Also of jobs that come all at once: their order, so which jobs they are, hangs on the load."""
    wheres = [
        where
        for claim in read_claims("muri").claims
        for where in (claim.where, claim.against_where, claim.than_where)
        if where and "arrivals" in where
    ]
    assert len(wheres) > 50
    assert all("workload.load" in where for where in wheres)


BEYOND = (
    "muri_network", "synergy_packing", "synergy_consolidation",
    "coda_network", "coda_synergy", "coda_load",
)  # fmt: skip


@pytest.mark.parametrize(
    "paper",
    ["muri", *(pytest.param(name, marks=pytest.mark.slow) for name in ("synergy", "lyra")), "coda", "dally"],
)
def test_every_claim_has_runs(paper, tmp_path):
    """Each number of a claim, and each bar of a figure, comes from one point of the named sweeps."""
    kinds, file = kinds_of(paper, tmp_path, without=BEYOND), read_claims(paper)
    for claim in (claim.under(next(iter(file.readings.values()), {})) for claim in claims_of(file)):
        results = {role for facts in kinds for role in roles(claim, facts)}
        asked = (1 + len(claim.against)) * (1 if claim.than_where is None else 2) * (len(claim.values) or 1)
        assert len(results) == asked, claim.says
    for figure, policy, where, number in bars_of(file):
        taken = sum(is_of(policy, facts) and fits(where, facts) for facts in kinds)
        assert taken == 1 or (taken == 0 and number is None), (figure, policy, where)


def bars_of(file):
    """Return the figure, policy, settings and number of each bar that can be run, and of its divisor."""
    for figure in file.figures:
        for panel in figure.panels:
            for name, policy in panel.bars.items():
                for where, number in zip(panel.groups.values(), panel.paper[name], strict=True):
                    if where is not None:
                        yield figure.name, policy, where, number
                    if where is not None and panel.against is not None:
                        yield figure.name, panel.against, panel.against_where or where, number


def test_the_claims_of_table_1_are_about_the_jobs_of_its_experiment():
    """Six models, in the file that the claims name."""
    raw, _ = compose("experiment=dally_table1")
    file = Path(raw["workload"]["path"])
    wanted = [claim for claim in read_claims("dally").claims if claim.metric == ("overhead",)]
    assert {claim.where["workload.path"] for claim in wanted} == {file.name}
    assert {claim.model for claim in wanted} == {
        line.rsplit(",", 1)[1] for line in file.read_text().splitlines()[1:]
    }


@pytest.mark.parametrize("name", ["muri_batch", "muri_known", "muri_unknown", "muri_busy", "muri_design"])
def test_packed_jobs_slow_down_by_the_factor_of_groups_of_two(name):
    """The measured 1.33 of Muri's groups of two: AntMan's guests would share for free otherwise."""
    performance = compose(f"experiment={name}")[0]["performance"]
    assert 1 + performance["packing_interference"] == pytest.approx(performance["group_slowdown"][0])
