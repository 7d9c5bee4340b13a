"""Bad input ends before the clock starts: two lines, exit code 2, never a traceback."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from artist import simulate
from artist.errors import InputError, RunError
from artist.run.parts import part

Refused = Callable[..., str]
HEADER = "job_id,submit_s,gpus,duration_s,iterations,compute_s,model\n"


def trace(text: str) -> str:
    """Write a trace and return the override that asks for it."""
    Path("trace.csv").write_text(text)
    return "workload.path=trace.csv"


@pytest.mark.parametrize("text", ["", HEADER])
def test_an_empty_trace_is_refused(refused: Refused, text: str) -> None:
    """Nothing to simulate is no result of zero jobs."""
    assert "trace.csv" in refused(trace(text))


@pytest.mark.parametrize(
    ("row", "field", "expected"),
    [
        ("a,0,two,100,,,ResNet50", "gpus", "two"),
        ("a,0,-2,100,,,ResNet50", "gpus", "-2"),
        ("a,5,2,-100,,,ResNet50", "duration_s", "-100"),
        ("a,nan,2,100,,,ResNet50", "submit_s", "nan"),
        ("a,0,2,inf,,,ResNet50", "duration_s", "inf"),
    ],
    ids=["wrong type", "negative GPUs", "negative time", "NaN", "infinite"],
)
def test_a_bad_number_in_a_trace_is_refused(refused: Refused, row: str, field: str, expected: str) -> None:
    """File, row and field are named, and the value found."""
    message = refused(trace(f"{HEADER}ok,0,1,10,,,ResNet50\n{row}\n"))
    assert "trace.csv" in message
    assert field in message
    assert expected in message
    assert "line 3" in message


def test_a_duplicate_job_is_refused(refused: Refused) -> None:
    """Two jobs of one name would be one row of the results."""
    row = "twin,0,1,10,,,ResNet50\n"
    assert "twin" in refused(trace(HEADER + row + row))


def test_an_unknown_model_is_refused(refused: Refused) -> None:
    """A model without a profile has no communication to price; the near miss is named."""
    message = refused(trace(f"{HEADER}a,0,1,10,,,ResNet5\n"))
    assert "'ResNet5'" in message
    assert "ResNet50" in message


def test_a_job_larger_than_the_cluster_is_refused(refused: Refused) -> None:
    """It would wait for ever: 2 racks x 8 machines x 8 GPUs = 128 < 129."""
    message = refused(trace(f"{HEADER}big,0,129,10,,,ResNet50\n"))
    assert "big" in message
    assert "129" in message
    assert "128" in message


def test_a_trace_that_is_not_there_is_refused(refused: Refused) -> None:
    """The path is named."""
    assert "nowhere.csv" in refused("workload.path=nowhere.csv")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("clustr.racks=2", ["clustr", "did you mean 'cluster'?"]),
        ("cluster.rack=2", ["cluster.rack", "did you mean 'racks'?"]),
        ("policy.intervl_s=60", ["policy.intervl_s", "did you mean 'interval_s'?"]),
        ("+policy.intervl_s=60", ["policy.intervl_s", "did you mean 'interval_s'?"]),
        ("policy=tiresia", ["policy", "'tiresia'", "did you mean 'tiresias'?"]),
        ("topology=dgx_h100", ["topology", "did you mean 'dgx_h100_3tier'?"]),
        ("policy.placement_low_skew=best_fir", ["policy.placement_low_skew", "did you mean 'best_fit'?"]),
        ("polcy=fifo", ["polcy", "did you mean 'policy'?"]),
        ("hydra/launcher=jobli", ["hydra/launcher", "did you mean 'joblib'?"]),
        ("network.system.endpoint_dely_ns=3", ["network.system", "did you mean 'endpoint_delay_ns'?"]),
    ],
)
def test_an_unknown_name_is_refused_with_the_near_one(
    refused: Refused, override: str, told: list[str]
) -> None:
    """Unknown options, choices and overrides say what was probably meant."""
    message = refused(override)
    for words in told:
        assert words in message


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("cluster.racks=two", ["cluster.racks", "'two'", "integer"]),
        ("cluster.racks=-1", ["cluster.racks", "-1", "greater than 0"]),
        ("cluster.racks=2.5", ["cluster.racks", "2.5", "integer"]),
        ("cluster.machines=many", ["cluster.machines", "'many'", "integer or a list"]),
        ("seed=-1", ["seed", "-1"]),
        ("seed=nan", ["seed", "nan"]),
        ("policy.interval_s=-1", ["policy.interval_s", "-1", "greater than"]),
        ("policy.interval_s=nan", ["policy.interval_s", "nan", "finite"]),
        ("overheads.restart_s=-3", ["overheads.restart_s", "-3"]),
        ("overheads.on_stop=forget", ["overheads.on_stop", "'forget'", "'keep'"]),
        ("stop.time_s=0", ["stop.time_s", "0", "greater than 0"]),
        ("stop.jobs=[5,3]", ["stop", "first < last"]),
        ("stop.jobs=5", ["stop.jobs", "a list such as [0, 10]"]),
        ("cluster.events=[3]", ["cluster.events", "allowed: a path or null\n"]),
        ("cluster.failures=none", ["cluster.failures", "allowed: null for no failures, llama3"]),
        ("cluster.failures={}", ["cluster.failures", "allowed: null for no failures, llama3"]),
        ("cluster.prices=[]", ["cluster.prices", "name: value} or null\n"]),
        ("cluster.power=[]", ["cluster.power", "name: value} or null\n"]),
        ("cluster.shares=[]", ["cluster.shares", "'largest' or a path or null\n"]),
        ("cluster.machines=[]", ["cluster.machines", "an integer or at least 1 item or null\n"]),
        (
            "performance.sensitivity=true",
            ["performance.sensitivity", "True", "synergy, coda, a path, or null"],
        ),
        ("performance.measured_with=request", ["sensitivity=synergy (or coda, or a file)", "with=share"]),
        ("cluster.racks=1000000000", ["cluster.racks", "100000"]),
        ("cluster.racks=50000", ["400000 machines are too many", "at most 100000"]),
        ("policy._target_=os.system", ["policy", "cannot be made", "os.system"]),
        ("+policy._partial_=3", ["policy", "cannot be made", "_partial_"]),
        ("stop.jobs=[5,9]", ["stop.jobs", "[5, 9]", "8, the number of jobs"]),
        ("output.rates=perhaps", ["output.rates", "'perhaps'"]),
        ("output.resources=perhaps", ["output.resources", "'perhaps'"]),
        ("output.name=a/b", ["output.name", "'a/b'"]),
        ("output.dir=null", ["output.dir", "None"]),
        ("network.system.endpoint_delay_ns=-3", ["network.system.endpoint_delay_ns", "-3"]),
        ("network.system.preset=machine", ["network.system.preset", "did you mean 'machines'?"]),
        ("cluster.machine_type=vax", ["'vax'", "dgx_h100"]),
        ("policy=3", ["group"]),
        ("policy.placement_low_skew=null", ["policy.placement_low_skew", "None", "spread"]),
        ("policy.placement_low_skew={a: 1}", ["policy.placement_low_skew", "{'a': 1}", "_target_"]),
        (
            "policy.placement_low_skew={_target_: collections.Counter}",
            ["policy.placement_low_skew", "Counter", "with a method `choose`"],
        ),
        (
            "policy.fill={_target_: artist.policies.parts.fill.Shares, whole: 1, parts: 2}",
            [
                "policy.fill",
                "Shares",
                "inherits artist.policies.parts.fill.Fill, with a method `fill`",
            ],
        ),
        (
            "policy.fill={_target_: matplotlib.patches.Rectangle, xy: [0, 0], width: 1, height: 1}",
            ["policy.fill", "Rectangle", "inherits artist.policies.parts.fill.Fill"],
        ),
        ("policy.placement_low_skew={_target_: nowhere.Chooser}", ["placement_low_skew._target_", "nowhere"]),
        ("cluster.racks=${nope}", ["cluster.racks", "nope"]),
        ("policy._target_=nowhere.Policy", ["policy._target_", "nowhere"]),
        ("network.model._target_=nowhere.Model", ["network.model._target_", "nowhere"]),
        ("workload.path=???", ["workload.path"]),
        ("a=[1", ["command line", "a=[1"]),
        ("--frobnicate", ["command line", "--frobnicate"]),
        ("--config-dir=nowhere", ["--config-dir", "nowhere"]),
        ("hydra.searchpath=[nowhere]", ["hydra.searchpath: no such folder", "nowhere", "a folder"]),
        ("workload.window.start=true", ["workload.window.start", "True", "a number"]),
        ("workload.min_gpus=true", ["workload.min_gpus", "True", "an integer"]),
        ("overheads.start_s=true", ["overheads.start_s", "True", "a number"]),
        ("workload.first=1e308", ["workload.first", "1e+308", "allowed: an integer"]),
    ],
)
def test_a_bad_value_is_refused(refused: Refused, override: str, told: list[str]) -> None:
    """The field, the value found and the allowed values are named."""
    message = refused(override)
    for words in told:
        assert words in message


@pytest.mark.parametrize(
    "inner", ["policy=tiresias policy.", "policy=network_aware policy@policy.of=tiresias policy.of."]
)
def test_a_truth_value_is_no_number_of_a_part(refused: Refused, inner: str) -> None:
    """Also in a policy inside another: pydantic would take true as 1."""
    message = refused(*f"{inner}skew_threshold=true".split())
    assert "skew_threshold: wrong value\n  found True; allowed: a number\n" in message


def test_an_empty_list_is_refused_in_plain_words(refused: Refused) -> None:
    """Whoever writes YAML has heard neither of Python's lists nor of validation."""
    message = refused("policy=synergy", "policy.memory_points_gib=[]")
    assert "policy.memory_points_gib" in message
    assert "allowed: at least 1 item\n" in message


SINGLE, INNER = "policy=muri_l", "policy=network_aware policy@policy.of=muri_l"


@pytest.mark.parametrize(
    ("overrides", "first", "replacement"),
    [
        (f"{SINGLE} policy.most_jobs=2", "policy.most_jobs: unknown option", "max_jobs"),
        (f"{SINGLE} +policy.most_jobs=2", "policy.most_jobs: unknown option", "max_jobs"),
        (f"{INNER} policy.of.most_jobs=2", "policy.of.most_jobs: unknown option", "max_jobs"),
        ("--config-dir old policy=option", "policy.most_jobs: unknown option", "max_jobs"),
        ("policy=muri_l_2", "policy: no such choice", "policy=muri_l_events policy.max_jobs=2"),
        ("--config-dir old policy=preset", "preset.yaml: no such file", "policy=tiresias_open policy.on_ev"),
        ("policy.fill=tune", "policy.fill: no such part", "policy=cpu_tuned policy@policy.of=NAME"),
        (f"{INNER} policy.of.fill=opt", "policy.of.fill: no such part", "policy=cpu_tuned"),
        ("policy=synergy policy.lowered=in_order", "policy.lowered: unknown option", "none; scripts/valid"),
        ("policy=themis_gavel policy.compat=true", "policy.compat: unknown option", "policy=themis_muri"),
        ("performance.stall=step", "performance.stall: unknown option", "none; scripts/validation/synergy_p"),
        ("performance.whole_iterations_s=300", "whole_iterations_s: unknown option", "none; scripts/valid"),
        ("experiment=synergy_golden", "experiment: no such choice", "none; scripts/validation/agreement_s"),
        ("performance.sensitivity=old.yaml", "m.most_beyond: unknown field", "max_beyond"),
    ],
)
def test_a_setting_of_an_earlier_version_is_refused_with_its_replacement(
    refused: Refused, overrides: str, first: str, replacement: str
) -> None:
    """On the command line, of an inner policy, in a preset of the user's own, in a file, and from Python."""
    Path("old/policy").mkdir(parents=True)
    Path("old/policy/option.yaml").write_text("defaults: [muri_l, _self_]\nmost_jobs: 2\n")
    Path("old/policy/preset.yaml").write_text("defaults: [tiresias_360, _self_]\n")
    Path("old.yaml").write_text("models: {m: {most_beyond: 0.1}}\n")
    message = refused(*overrides.split())
    assert first in message
    assert f"allowed: {replacement}" in message
    if not overrides.startswith("--"):
        with pytest.raises(RunError, match=re.escape(f"allowed: {replacement}")):
            simulate(overrides.split())


def test_contradicting_sizes_are_explained(refused: Refused) -> None:
    """100 machines at 8 to a rack fill 13 racks: not 2."""
    message = refused("cluster.racks=2", "cluster.machines=100")
    assert "100 machines at 8 to a rack fill 13 racks, not 2" in message


def test_a_list_of_machines_has_its_own_types(refused: Refused) -> None:
    """cluster.machine_type beside a list that names types can only be a mistake."""
    message = refused("cluster.machines=[{type: dgx_h100, count: 2}]", "cluster.machine_type=dgx_h100")
    assert "cluster.machine_type" in message


def test_an_unwritable_output_is_refused_before_the_run(refused: Refused) -> None:
    """A folder below a regular file can never be made, whoever asks."""
    Path("file").touch()
    assert "file/runs" in refused("output.dir=file/runs")
    assert "file/runs" in refused("-m", "seed=0,1", "output.dir=file/runs")


def test_several_values_need_a_sweep(refused: Refused) -> None:
    """A comma without -m is a slip that Hydra explains in six lines."""
    assert "-m" in refused("policy=fifo,srtf")


def test_a_sweep_over_experiments_is_refused(refused: Refused) -> None:
    """Hydra would drop the sweeps of both files without a word."""
    assert "experiment" in refused("-m", "experiment=base_schedulers,other")


def test_a_class_that_is_no_policy_is_refused(refused: Refused) -> None:
    """The object of the YAML's `_target_` must be a part of its group."""
    Path("mine/policy").mkdir(parents=True)
    Path("mine/policy/odd.yaml").write_text("_target_: collections.OrderedDict\n")
    assert "decide" in refused("--config-dir=mine", "policy=odd")


def test_functions_that_a_module_imports_are_no_parts(tmp_path: Path) -> None:
    """Hydra refuses `shutil.rmtree` under any name; the folder stays."""
    with pytest.raises(InputError, match=r"'shutil\.rmtree'"):
        part({"_target_": "artist.run.folder.shutil.rmtree", "path": str(tmp_path)}, "policy", ())
    assert tmp_path.is_dir()


def test_a_file_that_is_not_yaml_is_refused(refused: Refused) -> None:
    """File, line and column are named."""
    Path("mine/policy").mkdir(parents=True)
    Path("mine/policy/broken.yaml").write_text("a: 1\n  b: [\n")
    message = refused("--config-dir=mine", "policy=broken")
    assert "broken.yaml, line 2" in message


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("workload.min_gpus=99", "{'min_gpus': 99, 'max_gpus': 64}"),
        ("workload.days=3", "{'load': 0.9, 'days': 3, 'jobs_per_day': None}"),
        ("policy.thresholds_gpu_s=[5,3]", "{'thresholds_gpu_s': [5, 3]}"),
        ("performance.measured_with=request", "{'sensitivity': None, 'measured_with': 'request'}"),
    ],
)
def test_a_rule_between_fields_shows_those_fields(refused: Refused, override: str, expected: str) -> None:
    """Not the whole section, in which nobody finds them."""
    assert f"found {expected}" in refused(override, tiny=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import json\njson.nope\n", "AttributeError: module 'json' has no attribute 'nope'"),
        ("\nimport nosuchmodule\n", "No module named 'nosuchmodule'"),
        ("\nclass Mine(:\n", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_names_its_line(refused: Refused, text: str, told: str) -> None:
    """'No such class' would send its author to look for a misspelt name."""
    Path("mine/policy").mkdir(parents=True)
    Path("mine/bad_module.py").write_text(text)
    Path("mine/policy/bad.yaml").write_text("_target_: bad_module.Mine\n")
    message = refused("--config-dir=mine", "policy=bad")
    assert "its module cannot be imported" in message
    assert told in message
    assert "mine/bad_module.py:2" in message


def test_a_part_that_cannot_be_made_names_its_line(refused: Refused) -> None:
    """An error of its constructor, and where it arose."""
    Path("mine/policy").mkdir(parents=True)
    Path("mine/fails.py").write_text("class Mine:\n    def __init__(self):\n        self.x = [][1]\n")
    Path("mine/policy/bad.yaml").write_text("_target_: fails.Mine\n")
    message = refused("--config-dir=mine", "policy=bad")
    assert "IndexError: list index out of range, at mine/fails.py:3 in __init__" in message


def test_the_variable_is_named_that_sets_the_cache(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who set ARTIST_CACHE in her profile looks for a field of the configuration."""
    monkeypatch.setenv("ARTIST_CACHE", "/proc/nope")
    variable = "network.cache=${oc.env:ARTIST_CACHE}"  # as in the files of ASTRA-sim and ns-3
    assert "ARTIST_CACHE" in refused("policy=fifo", "workload.jobs=5", variable, tiny=False)
    assert refused("policy=fifo", "network.cache=/proc/other").startswith("network.cache")


@pytest.mark.parametrize("name", ["../../x", "'a b'", "a/b", ".hidden", "x/.."])
def test_the_name_of_a_sweep_is_judged_before_its_folder_is_made(refused: Refused, name: str) -> None:
    """It is a path otherwise: `../../x` would write outside of runs/."""
    assert refused("-m", "seed=0,1", f"output.name={name}").startswith("output.name")
    assert list(Path.cwd().iterdir()) == []
    assert not (Path.cwd().parent / "x").exists()


def test_a_file_in_place_of_the_output_is_refused_in_words(refused: Refused) -> None:
    """And not as [Errno 17] or 20."""
    Path("file").touch()
    assert "a file lies where a folder is needed" in refused("output.dir=file")
    assert "a file lies where a folder is needed" in refused("-m", "seed=0,1", "output.dir=file")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("job_id;submit_s;gpus;duration_s\na;0;1;10\n", "not separated by commas"),
        ("job_id,submit_s,gpus,gpus,duration_s\na,0,1,2,10\n", "two columns of one name"),
    ],
)
def test_a_trace_of_another_form_is_refused_for_it(refused: Refused, text: str, told: str) -> None:
    """Pandas would read one column, or rename the second `gpus` to `gpus.1`."""
    message = refused(trace(text))
    assert told in message
    assert "trace.csv, line 1" in message


def test_nothing_is_left_after_a_refusal(refused: Refused) -> None:
    """An empty folder of results would look like a run that was lost."""
    refused("cluster.racks=-1")
    assert not Path("runs").exists()
