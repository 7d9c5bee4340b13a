"""Inputs once accepted silently or blamed on another setting: now refused at their field, or accepted."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from artist.app.arguments import words
from artist.app.outputs import check_outputs
from artist.data import data_path
from artist.errors import InputError

Artist = Callable[..., Any]
Refused = Callable[..., str]
TINY = data_path("traces", "tiny.csv").read_text(encoding="utf-8")


def write(path: str, text: str | bytes) -> str:
    """Write a file of the user's and return its path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- the command line


@pytest.mark.parametrize(
    ("word", "taken"),
    [
        ("workload.path=Bücher.csv", 'workload.path="Bücher.csv"'),
        ("workload.path=a.csv,Bücher.csv", 'workload.path=a.csv,"Bücher.csv"'),
        ("nccl=[ü.log, b.log]", 'nccl=["ü.log", b.log]'),
        ("workload.path='ü,a.csv'", "workload.path='ü,a.csv'"),
        ("workload.path=a#1.csv", 'workload.path="a#1.csv"'),
        ("policy.fill={_target_: a.B, x: 1}", "policy.fill={_target_: a.B, x: 1}"),
        ("~policy", "~policy"),
        ("seed=range(0,2)", "seed=range(0,2)"),
    ],
)
def test_names_outside_hydras_grammar_are_quoted(word: str, taken: str) -> None:
    """Its grammar knows ASCII letters and a few marks; what is quoted, or needs no quotes, stays as it is."""
    assert words([word]) == [taken]


def test_a_tilde_is_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell expands it after `workload.path=`, since that is no name of a variable."""
    monkeypatch.setenv("HOME", "/home/ann")
    assert words(["workload.path=~/a.csv", "csv=a~b"]) == ['workload.path="/home/ann/a.csv"', 'csv="a~b"']


def test_a_trace_of_any_name_is_read(artist: Artist) -> None:
    """The name comes through Hydra as it was written, in runs and in sweeps."""
    write("Bücher & Co.csv", TINY)
    assert artist("workload.path=Bücher & Co.csv", "output.dir=Läufe").code == 0
    assert len(list(Path("Läufe").rglob("summary.json"))) == 1
    assert artist("-m", "workload.path=Bücher & Co.csv", "policy=fifo,srtf").code == 0


@pytest.mark.parametrize("group", ["policy", "+policy", "topology", "hydra/launcher"])
def test_a_list_is_no_choice_of_a_group(refused: Refused, group: str) -> None:
    """Hydra takes `policy=[fifo]`, and the results name no policy."""
    message = refused(f"{group}=[fifo]")
    assert message.startswith(f"{group.lstrip('+')}: a group takes the name of one choice")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "net.yml",
            "topology: [Switch]\nnpus_count: [8]\nbandwidth: [450]\nlatency: [500]\n",
            "of ASTRA-sim 2.x",
        ),
        ("topology.conf", "SwitchName=a Nodes=g[1-4]\n", "Slurm's topology.conf"),
        (
            "mine.yaml",
            data_path("topologies", "pcie_10g.yaml").read_text(),
            "--config-dir FOLDER topology=mine",
        ),
    ],
)
def test_a_file_is_no_choice_of_a_topology(refused: Refused, name: str, text: str, told: str) -> None:
    """Formats of other programs are named; a topology has its place in a folder."""
    write(name, text)
    assert told in refused(f"topology={name}")


@pytest.mark.parametrize("override", ["policy@x=", "policy@x=fifo", "policy@=fifo"])
def test_a_group_stays_in_its_place(refused: Refused, override: str) -> None:
    """Hydra has packages, `group@package=choice`, and speaks of its defaults list."""
    place = override.partition("=")[0]
    message = f"{place}: a group has its place in the configuration\n  allowed: policy=NAME\n"
    assert refused(override) == message


@pytest.mark.parametrize("override", ["~nosuch", "~workload.nosuch"])
def test_deleting_a_missing_field_names_it(refused: Refused, override: str) -> None:
    """A command may delete several fields."""
    assert refused("~policy.seed", override).startswith(f"{override}: nothing to delete")


def test_a_package_that_is_not_there_is_refused(refused: Refused) -> None:
    """Hydra says one line, and leaves with the code of a policy that failed."""
    told = "package 'nosuch' not found in config\n  allowed: what `artist --cfg job` shows"
    assert refused("-c", "job", "-p", "nosuch").startswith(told)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("+hydra.callbacks.own={_target_: hydra.experimental.callback.Callback}", "hydra.callbacks: has no"),
        ("+hydra.job.env_set.A=1", "hydra.job.env_set: has no effect on a sweep\n  found {'A': '1'};"),
        ("hydra.job.chdir=true", "hydra.job.chdir: has no effect"),
        ("hydra.output_subdir=own", "hydra.output_subdir: has no effect"),
        ("hydra.sweeper.max_batch_size=2", "hydra.sweeper.max_batch_size: has no effect"),
        ("+hydra.launcher.max_batch_size=2", "hydra.launcher.max_batch_size: unknown option"),
    ],
)
@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_settings_of_hydra_that_a_sweep_does_not_heed_are_refused(
    refused: Refused, launcher: str, override: str, told: str
) -> None:
    """Points are run without its sweeper, its callbacks and its launchers."""
    message = refused("-m", "seed=0,1", f"hydra/launcher={launcher}", override)
    assert message.startswith(told)


def test_one_run_has_no_launcher(refused: Refused) -> None:
    """Without -m it would run here, whatever the launcher, and not say so; nothing is left behind."""
    message = refused("hydra/launcher=joblib")
    assert message.startswith("hydra/launcher")
    assert "-m" in message
    assert not Path("runs").exists()


def test_a_folder_named_by_hand_holds_one_configuration(artist: Artist) -> None:
    """The same run again is kept; that of another policy was answered with the table of the first."""
    assert artist("policy=fifo", "hydra.run.dir=mine").code == 0
    assert artist("policy=fifo", "hydra.run.dir=mine").code == 0
    other = artist("policy=srtf", "hydra.run.dir=mine")
    assert (other.code, other.out) == (2, "")
    assert "mine: holds the run of another configuration" in other.err


def test_points_that_fail_alike_are_not_all_named(artist: Artist) -> None:
    """Of nine seeds on a trace that is not there five are named, four counted; the reason is told once."""
    err = artist("-m", "workload.path=nowhere.csv", "seed=range(0,9)").err
    assert err.count("failed: ") == 5
    assert "... and 4 more" in err
    assert err.count("nowhere.csv: no such file") == 1


@pytest.mark.parametrize("there", [True, False])
def test_a_result_in_a_folder_that_may_not_be_written_to_is_refused(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """Also where the file is there and may be written: it is replaced by one that is made beside it."""
    if there:
        Path("a.csv").touch()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).resolve() != Path.cwd())
    with pytest.raises(InputError, match=r"^csv: .*cannot be written"):
        check_outputs([("csv", Path("a.csv"))], ())


# --- files of the user's


def test_an_experiment_without_its_package_line_is_refused(refused: Refused) -> None:
    """Hydra would put its fields below `experiment`, and `unknown option` blames the command line."""
    write("mine/experiment/own.yaml", "seed: 5\n")
    message = refused("--config-dir=mine", "experiment=own")
    assert "allowed: `# @package _global_` as its first line" in message


def test_a_file_of_another_encoding_is_named(refused: Refused) -> None:
    """Hydra's own message has the byte, and no file."""
    write("mine/topology/own.yaml", "source: Zürich\n".encode("latin-1"))
    message = refused("--config-dir=mine", "topology=own")
    assert "mine/topology/own.yaml: not a text file" in message
    assert "allowed: UTF-8" in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("defaults: [nosuch]\n", ["policy/own.yaml", "policy/nosuch", "without .yaml"]),
        ("defaults: [own, _self_]\n", ["policy/own.yaml: inherits itself"]),
    ],
)
def test_a_file_with_a_missing_base_is_refused(refused: Refused, text: str, told: list[str]) -> None:
    """A base that does not exist, and a file that is its own."""
    write("mine/policy/own.yaml", text)
    message = refused("--config-dir=mine", "policy=own")
    assert all(event in message for event in told)


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        (3, "topology own, fabric: wrong value\n  found 3; allowed: a mapping such as {name: value}"),
        (
            {"machine": 3},
            "topology own, fabric.machine: wrong value\n  found 3; allowed: a list such as [a, b]",
        ),
        ({"machin": []}, "topology own, fabric.machin: unknown field"),
    ],
)
def test_a_wrong_topology_is_named(refused: Refused, fabric: object, told: str) -> None:
    """Its name, the field, and no word of Python's; a misspelt field before the one that it leaves out."""
    raw = yaml.safe_load(data_path("topologies", "dgx_h100_3tier.yaml").read_text(encoding="utf-8"))
    write("mine/topology/own.yaml", yaml.safe_dump(raw | {"name": "own", "fabric": fabric}))
    assert refused("--config-dir=mine", "topology=own").startswith(told)


def test_a_topology_that_is_a_list_is_named(refused: Refused) -> None:
    """Of its file the user knows the name; the field of the configuration she may never have seen."""
    write("mine/topology/own.yaml", "- a\n- b\n")
    assert refused("--config-dir=mine", "topology=own").startswith(
        "topology own: not a mapping\n  found ['a'"
    )


@pytest.mark.parametrize("setting", ["cluster.machine_type=vax", "cluster.machines=[{type: vax, count: 1}]"])
def test_the_field_of_an_unknown_machine_type_is_named(refused: Refused, setting: str) -> None:
    """It is wrong, and the topology, which has no such type, is not."""
    field = setting.partition("=")[0]
    assert refused(setting).startswith(f"{field}, topology dgx_h100_3tier: unknown machine type")


@pytest.mark.parametrize("target", ["math.pi", "artist.policies"])
def test_a_target_that_cannot_be_called_is_refused(refused: Refused, target: str) -> None:
    """A number, and a module whose class was forgotten."""
    told = f"policy._target_: not a class\n  found '{target}'; allowed: module.Class"
    assert refused(f"policy._target_={target}").startswith(told)


def test_effects_are_a_list(refused: Refused) -> None:
    """OmegaConf speaks of its own classes."""
    message = refused("performance.effects={a: 1}")
    assert message == "performance.effects: wrong value\n  found 'dict'; allowed: a list such as [a, b]\n"


@pytest.mark.parametrize(
    "override", ["cluster.events=no.csv", "signals.path=no.csv", "overheads.table=no.csv"]
)
def test_a_missing_file_is_named_by_its_role(refused: Refused, override: str) -> None:
    """Whoever misspells the file of machine failures has no trace to look for."""
    message = refused("signals=file", "signals.path=no.csv", override)
    assert message.startswith("no.csv: no such file")
    assert "trace" not in message


@pytest.mark.parametrize(
    ("arguments", "allowed"), [("self, view, extra", "decide(self, view)"), ("self", "decide(self, view)")]
)
def test_a_policy_of_other_arguments_is_refused(refused: Refused, arguments: str, allowed: str) -> None:
    """Before the clock starts; when it is called, the engine looks guilty."""
    write("mine/own.py", f"class Own:\n    def decide({arguments}):\n        return None\n")
    write("mine/policy/own.yaml", "_target_: own.Own\n")
    message = refused("--config-dir=mine", "policy=own")
    assert message.startswith("policy: `decide` takes other arguments")
    assert allowed in message


def test_a_job_that_fits_only_the_whole_cluster(refused: Refused) -> None:
    """12 GPUs, 8 in each of two pools: under a policy of one pool it would wait until the run is stuck."""
    write("big.csv", "job_id,submit_s,gpus,duration_s,model\na,0,1,60,VGG16\nbig,0,12,60,VGG16\n")
    pools = ",".join(f"{{type: dgx_h100,count: 1,pool: {name}}}" for name in ("training", "inference"))
    message = refused("workload.path=big.csv", "policy=lyra_fifo", f"cluster.machines=[{pools}]")
    assert message.startswith("job 'big': it can never fit pool training")
    assert "found '12 GPUs'; allowed: 1..8 GPUs; leave such jobs out" in message


@pytest.mark.parametrize(
    ("kind", "machines", "use", "policy", "refuses"),
    [
        ("t4_8gpu", 1, 0, "lyra", True),
        ("t4_8gpu", 2, 0, "lyra", True),  # 16 idle GPUs, but of another type than those for training
        ("v100_8gpu", 1, 1, "lyra", True),
        ("v100_8gpu", 1, 0, "lyra", False),
        ("v100_8gpu", 1, 0, "lyra_no_loans", True),
    ],
)
def test_a_job_too_large_for_training_and_loans_is_refused(
    artist: Artist, kind: str, machines: int, use: int, policy: str, refuses: bool
) -> None:
    """12 GPUs, 8 V100 in each pool: it runs if those of inference are V100 too, idle, and may be borrowed."""
    write("big.csv", "job_id,submit_s,gpus,duration_s,model\na,0,1,60,VGG16\nbig,0,12,60,VGG16\n")
    write("use.csv", f"time_s,inference\n0,{use}\n600,{use}\n")
    theirs = f"{{type: {kind}, count: {machines}, pool: inference}}"
    pools = f"{{type: v100_8gpu, count: 1, pool: training}}, {theirs}"
    given = f"policy={policy}", "topology=v100_t4_pools", f"cluster.machines=[{pools}]"
    signals = "signals=file", "signals.path=use.csv", "signals.ahead=[inference]"
    headroom = () if policy == "lyra_no_loans" else ("policy.headroom=0",)
    result = artist("workload.path=big.csv", *given, *signals, *headroom)
    assert result.code == 2 * refuses, result.err
    if refuses:
        told = "job 'big': it can never fit the machines for training and those that they borrow\n"
        allowed = "1..8 GPUs; leave such jobs out (workload.max_gpus), or let more machines serve"
        assert result.err == f"{told}  found '12 GPUs'; allowed: {allowed}\n"


def test_relative_homes_are_left_to_the_shell() -> None:
    """`~` inside a word is a letter like others: of backup files, and of short names."""
    assert os.path.expanduser("a~") == "a~"
    assert words(["csv=a.csv~"]) == ['csv="a.csv~"']


# --- files of YAML that are traps

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)
_TRAPS = {
    _BOMB: "aliases that repeat more than 10,000 values",
    "a: &a [*a]\n": "aliases that repeat more than 10,000 values",
    "a: " + "[" * 5_000: "nested more than 100 levels deep",
    "a: 1\na: 2\n": "the same key twice: a",
    "? \n: 2\n": "a key without a name",
    "5\n": "not a mapping",
    "a: " + "9" * 5_000: "Exceeds the limit",
}


@pytest.mark.parametrize("group", ["policy", "topology", "workload"])
@pytest.mark.parametrize("text", _TRAPS, ids=list(range(len(_TRAPS))))
def test_a_trap_in_yaml_is_refused_at_once(refused: Refused, group: str, text: str) -> None:
    """Lists of 9 aliases, seven levels above 9 values, are 43 million values, which OmegaConf would copy."""
    write(f"mine/{group}/trap.yaml", text)
    message = refused("--config-dir=mine", f"{group}=trap")
    assert f"mine/{group}/trap.yaml" in message
    assert _TRAPS[text] in message


def test_aliases_that_repeat_little_are_kept(artist: Artist) -> None:
    """fifo_backfill with `on_events` as an alias of `backfill`: an alias is not a trap in itself."""
    write("mine/policy/alias.yaml", "defaults: [fifo, _self_]\nbackfill: &yes true\non_events: *yes\n")
    assert artist("--config-dir=mine", "policy=alias").code == 0


# --- fields of earlier versions


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["policy=lyra", "policy.skip=true"], "allowed: backfill, its new name"),
        (
            ["policy=network_aware", "policy@policy.of=fifo", "policy.of.skip=true"],
            "allowed: backfill, its new name",
        ),
        (["policy=dally", "policy.skip=true"], "allowed: auto_tune, machine_timer_h"),
        (["workload.skip=3"], "allowed: path"),
    ],
)
def test_a_new_name_is_named_where_it_exists(refused: Refused, given: list[str], told: str) -> None:
    """Lyra's `skip` is `backfill` now; Dally's policy and a workload never had either."""
    assert told in refused(*given)


def test_a_name_that_is_not_utf_8_is_refused(refused: Refused) -> None:
    """A Latin-1 name of a trace would stand in the run's configuration, which no report could read."""
    assert "command line: not text in UTF-8" in refused("workload.path=B\udcfccher.csv")
