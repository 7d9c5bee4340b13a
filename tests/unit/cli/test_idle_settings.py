"""Settings of collectives without effect: refused on the command line, noted where a file sets them."""

from collections.abc import Callable
from pathlib import Path

import pytest

import artist

PAPERS = "network.system.preset=papers"
NCCL = ("with collectives=nccl", "network.system.collectives=astra_sim; or leave it out")


@pytest.mark.parametrize("name", ["network.system.chunks=4", "+network.system.chunks=4"])
@pytest.mark.parametrize("topology", ["dgx_h100_3tier", "hgx_h100_ib400"])
def test_a_setting_that_nccls_collectives_lack_is_refused(
    refused: Callable[..., str], name: str, topology: str
) -> None:
    """NCCL's collectives, of the default preset or of a measured fabric with any preset, have no chunks."""
    preset = () if topology == "dgx_h100_3tier" else (PAPERS,)
    message = refused(name, f"topology={topology}", *preset)
    assert message.startswith(f"network.system.chunks: no effect {NCCL[0]}")
    assert f"found 4; allowed: {NCCL[1]}" in message


@pytest.mark.parametrize(
    ("overrides", "field", "allowed"),
    [
        (("network.system={transport: packets}",), "transport: no effect with collectives=nccl", NCCL[1]),
        (("network.system.endpoint_delay_ns=10",), "endpoint_delay_ns: no effect with coll", NCCL[1]),
        (
            ("network=zero", "network.system.bucket_cap_mb=1"),
            "bucket_cap_mb: no effect with network=zero",
            "=",
        ),
        (
            (PAPERS, "network.system.queue_order=issue"),
            "queue_order: no effect with collective_queue=one",
            "network.system.collective_queue=per_dimension; or leave it out",
        ),
    ],
)
def test_a_setting_without_effect_names_the_one_that_gives_it_one(
    refused: Callable[..., str], overrides: tuple[str, ...], field: str, allowed: str
) -> None:
    """Whether it is set by itself or with others, and whatever takes its effect away."""
    message = refused(*overrides)
    assert f"network.system.{field}" in message
    assert allowed in message


def test_a_sweep_over_a_setting_without_effect_is_refused(artist: Callable) -> None:
    """Both points would be the same run; beside `papers`, where it has an effect, two of four are."""
    swept = artist("-m", "network.system.transport=ideal,packets")
    assert (swept.code, swept.out) == (2, "")
    both = artist("-m", f"{PAPERS},machines", "network.system.transport=ideal,packets")
    assert both.code == 1
    assert "2 run now, 0 kept, 2 failed" in both.err
    assert "network.system.transport: no effect with collectives=nccl" in both.err


@pytest.mark.parametrize(
    "overrides",
    [
        ("network.system.chunks=null",),
        ("network.system.bucket_cap_mb=10",),
        (PAPERS, "network.system.transport=queueing"),
        ("network.system.collectives=astra_sim", "network.system.chunks=4"),
        ("network=zero", "network.profiles=dally_table1", "topology=dally_code"),
        ("network=zero", "network.profiles=dally_table1"),
    ],
)
def test_what_has_an_effect_or_none_to_have_is_not_noted(
    artist: Callable, overrides: tuple[str, ...]
) -> None:
    """Among them profiles that were fitted under `papers`, of which `network=zero` uses nothing."""
    result = artist(*overrides)
    assert result.code == 0
    assert "means nothing" not in result.err
    assert "calibrated" not in result.err


def test_a_setting_of_a_file_is_noted(artist: Callable) -> None:
    """An experiment made for `papers` runs with `machines`, too: its form across machines is left out."""
    folder = Path("mine/experiment")
    folder.mkdir(parents=True)
    settings = "network: {system: {preset: papers, across_machines: hierarchical}}"
    (folder / "old.yaml").write_text(f"# @package _global_\n{settings}\n")
    mine = ("--config-dir", "mine", "experiment=old")
    assert "means nothing" not in artist(*mine).err
    result = artist(*mine, "network.system.preset=machines")
    assert result.code == 0
    assert "network.system.across_machines means nothing with collectives=nccl" in result.err


@pytest.mark.parametrize(
    ("topology", "preset", "noted"),
    [
        ("hgx_h100_ib400", "papers", True),
        ("hgx_h100_ib400", "machines", False),
        ("dally_code", "machines", True),
        ("dgx_h100_3tier", "papers", False),
    ],
)
def test_a_preset_that_the_topology_overrules_is_noted(
    artist: Callable, topology: str, preset: str, noted: bool
) -> None:
    """Measured fabrics state NCCL's collectives, those of Dally ASTRA-sim's, whatever the preset."""
    result = artist(f"topology={topology}", f"network.system.preset={preset}")
    assert result.code == 0
    note = f"network.system.preset={preset} means nothing with topology={topology}, which states collectives="
    assert (note in result.err) == noted


def test_python_refuses_as_the_command_does() -> None:
    """`artist.simulate` takes the same overrides."""
    with pytest.raises(artist.RunError, match=r"network\.system\.chunks: no effect"):
        artist.simulate(["network.system.chunks=2"])
