"""Sensitivities of the user's own: which models, and what is wrong with a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artist.errors import InputError
from artist.performance.formulas.input_rate import Sensitivity
from artist.run.sensitivity import read_sensitivities
from netmodels.profiles.profile import profile_names

GIB = 2**30
SETTING = "performance.sensitivity=own.yaml"
Refused = Callable[..., str]


@pytest.mark.parametrize("table", ["synergy", "coda"])
def test_every_model_that_ships_has_a_sensitivity(table: str) -> None:
    """A job of any of them may run, whichever table is chosen."""
    assert sorted(read_sensitivities(Path(table))) == sorted(profile_names())


def test_a_model_is_known_by_every_name_that_traces_use() -> None:
    """`res18` is ResNet18, whose data set is ImageNet's 140 GiB."""
    models = read_sensitivities(Path("synergy"))
    assert models["res18"] is models["ResNet18"]
    assert models["res18"].dataset_bytes == 140 * GIB


def test_a_file_changes_the_models_that_it_names() -> None:
    """GNMT was measured on another GPU; its points come in any order, its processes need less."""
    path = Path("own.yaml")
    path.write_text(
        "gpu_speed: 0.5\nmodels:\n  gnmt_v2:\n    throughput: {4: 2, 1: 0.5}\n    dataset_gib: 3\n"
        "    uncached: 0.1\n    process_gib: {machine: 1, gpu: 0.5}\n    source: mine\n"
    )
    models, shipped = read_sensitivities(path), read_sensitivities(Path("synergy"))
    assert models["GNMT"] == Sensitivity((1, 4), (0.5, 2), 0.5, 3 * GIB, 0.1, GIB, GIB // 2)
    assert models["M5"] == shipped["M5"]
    assert shipped["GNMT"] == Sensitivity((0.25,), (1,), 0.25, 0, None, 10 * GIB, 10 * GIB)


def test_the_machine_side_of_a_model_is_read_in_bytes() -> None:
    """2.5 GB/s are 2.5e9 bytes/s for each GPU; what `synergy` does not say is nothing at all."""
    path = Path("own.yaml")
    path.write_text(
        "gpu_speed: 1\nmodels:\n  GNMT:\n    throughput: {2: 1}\n    beyond: 0.02\n    max_beyond: 0.1\n"
        "    across: 3\n    memory_bandwidth_gb_s: 2.5\n    bandwidth_loss: 0.4\n    pcie_greedy: true\n"
        "    gpu_utilization: 0.9\n    process_gib: {machine: 0, gpu: 0}\n"
    )
    models = read_sensitivities(path)
    assert models["GNMT"] == Sensitivity(
        (2,),
        (1,),
        beyond=0.02,
        max_beyond=0.1,
        across=3,
        memory_bandwidth_bytes_per_s=2_500_000_000,
        bandwidth_loss=0.4,
        pcie_greedy=True,
    )
    m5 = models["M5"]
    assert (m5.beyond, m5.across, m5.memory_bandwidth_bytes_per_s, m5.bandwidth_loss) == (0, 0, 0, 0)
    assert not m5.pcie_greedy


def test_a_file_may_be_based_on_the_table_of_coda() -> None:
    """Its GNMT replaces that of `coda`; BAT draws 1e9 bytes/s a GPU there, and nothing in `synergy`."""
    path = Path("own.yaml")
    path.write_text("base: coda\ngpu_speed: 1\nmodels:\n  GNMT: {throughput: {2: 1}}\n")
    models, shipped = read_sensitivities(path), read_sensitivities(Path("coda"))
    assert models["BAT"] == shipped["BAT"]
    assert models["BAT"].memory_bandwidth_bytes_per_s == 10**9
    assert (models["GNMT"].cpus, models["GNMT"].throughput) == ((2,), (1,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "gpu_speed: 1\ngpu_speed: 2\nmodels: {GNMT: {throughput: {1: 1}}}",
            ["own.yaml", "twice: gpu_speed"],
        ),
        (
            "gpu_speed: 1\nmodels: {M5: {throughput: {1: 1, 1: 2}}}",
            ["same key twice: 1", "line 2, column 34"],
        ),
        (
            "base: cdoa\ngpu_speed: 1\nmodels: {M5: {throughput: {1: 1}}}",
            ["base", "'cdoa'", "'synergy' or 'coda'"],
        ),
        ("[1]", ["own.yaml", "[1]"]),
        ("a: [", ["own.yaml", "not YAML"]),
        ("models: {GNMT: {throughput: {1: 1}}}", ["own.yaml, gpu_speed", "field missing"]),
        ("gpu_speed: 1\nmodels: {}", ["own.yaml, models", "allowed: at least 1 item"]),
        ("gpu_speed: fast\nmodels: {GNMT: {throughput: {1: 1}}}", ["gpu_speed", "'fast'", "number"]),
        ("gpu_speed: 1\nmodels: {GMT: {throughput: {1: 1}}}", ["models.GMT", "did you mean 'GNMT'?"]),
        ("gpu_speed: 1\nmodels: {GNMT: {troughput: {1: 1}}}", ["troughput", "did you mean 'throughput'?"]),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {}}}", ["models.GNMT.throughput", "at least 1"]),
        (
            "gpu_speed: 1\nmodels: {GNMT: {throughput: {0: 1}}}",
            ["GNMT.throughput.0", "wrong number of CPUs", "greater than 0"],
        ),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {a: 1}}}", ["throughput.a: wrong number of CPUs", "'a'"]),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {1: -1}}}", ["throughput.1: wrong value", "than 0"]),
        ("", ["own.yaml: the sensitivity file is empty", "gpu_speed, and models"]),
        ("gpu_speed: 1\nmodels: {GNMT: 5}", ["models.GNMT", "allowed: a mapping such as {name: value}"]),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {1: .nan}}}", ["GNMT.throughput.1", "finite"]),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 2, 2: 1}}}", ["models.GNMT", "must not fall"]),
        (
            "gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 1}, uncached: 1}}",
            ["models.GNMT", "uncached needs dataset_gib"],
        ),
        (
            "gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 1}, process_gib: {machine: -1}}}",
            ["GNMT.process_gib.machine", "-1", "greater than or equal to 0"],
        ),
        (
            "gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 1}, beyond: 1}}",
            ["GNMT.beyond", "less than 1"],
        ),
        ("gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 1}, across: 1.5}}", ["GNMT.across", "integer"]),
        (
            "gpu_speed: 1\nmodels: {GNMT: {throughput: {1: 1}, pcie_greedy: 1}}",
            ["GNMT.pcie_greedy", "true or false"],
        ),
        (
            "gpu_speed: 1\nmodels: {res18: {throughput: {1: 1}}, ResNet18: {throughput: {1: 1}}}",
            ["the same model twice", "'ResNet18'"],
        ),
    ],
)
def test_a_bad_file_is_refused(text: str, told: list[str]) -> None:
    """File, field, the value found and the allowed values are named."""
    Path("own.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        read_sensitivities(Path("own.yaml"))
    for words in told:
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("own.yaml", "no such file"),
        ("synergi", "did you mean 'synergy'?; or a file"),
        ("x" * 300, "performance.sensitivity: no such table"),  # too long for a file
    ],
)
def test_a_file_that_is_not_there_is_refused(name: str, told: str) -> None:
    """A word without a dot or slash is the name of a table, anything else a file."""
    with pytest.raises(InputError) as error:
        read_sensitivities(Path(name))
    assert told in str(error.value)


def test_a_refusal_ends_the_command(refused: Refused) -> None:
    """Before the clock starts, with the file and the field."""
    Path("own.yaml").write_text("gpu_speed: 1\nmodels: {GMT: {throughput: {1: 1}}}")
    assert "own.yaml, models.GMT: unknown model" in refused(SETTING)


def test_contents_of_the_file_are_part_of_the_run_key(artist: Callable[..., object]) -> None:
    """A run with other sensitivities is another run, in another folder, though the setting is the same."""
    for cpus in (1, 2):
        text = f"gpu_speed: 1\nmodels: {{ResNet18: {{throughput: {{{cpus}: 1, 90: 9}}}}}}"
        Path("own.yaml").write_text(text)
        artist(SETTING)
    assert len({path.parent.name.rpartition("-")[2] for path in Path("runs").glob("*/*/summary.json")}) == 2


@pytest.mark.parametrize(
    ("settings", "vain"),
    [
        (["policy=synergy"], "policy.mechanism=tune"),
        (["policy=cpu_tuned", "policy@policy.of=srtf"], "policy.mechanism=tune"),
        (["policy=srtf", "estimates=optimistic_profiling"], "estimates=optimistic_profiling"),
        (
            ["policy=synergy_opt", "estimates=optimistic_profiling"],
            "policy.mechanism=opt, estimates=optimistic_profiling",
        ),
        (["policy=coda"], "policy.allocator=tuned"),
        (["policy=coda_no_tuning"], ""),
        (["policy=synergy_proportional"], ""),
        (["policy=srtf"], ""),
        (["policy=synergy", "performance.sensitivity=synergy"], ""),
    ],
)
def test_mechanisms_without_cpu_needs_are_warned_about(
    artist: Callable[..., Any], settings: list[str], vain: str
) -> None:
    """Tune where no job needs CPUs or memory is a slip, so the run tells it; the share needs none."""
    result = artist("cluster.machines=2", *settings)
    assert result.code == 0, result.err
    assert ("performance.sensitivity is null" in result.err) is bool(vain)
    assert not vain or f"nothing is gained by {vain}\n" in result.err
