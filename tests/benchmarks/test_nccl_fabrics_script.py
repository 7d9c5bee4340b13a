"""Measured fabrics fitted again to the runs that they come from."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import nccl_fabrics
import pytest
import yaml
from nccl_fabrics import Refitted
from nccl_published import read_list, read_published

from artist.data import data_path
from netmodels.api import MeasuredRun, load_topology
from netmodels.nccl.fit import fit_nccl
from netmodels.nccl.parameters import nccl_of

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "measured"
FABRICS: dict[str, list[str]] = read_list()["fabrics"]
RUNS = tuple(
    MeasuredRun(name, "all_reduce", machines, 4, ((8, 20.0), (2**30, 1e4)), source="a page : a file")
    for name, machines in (("a", 1), ("b", 2))
)


def numbers_of(section: Mapping[str, object], within: str = "") -> dict[str, float]:
    """Return the numbers of a section by name, those of tiers as `rack.step_us`."""
    results: dict[str, float] = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            results.update(numbers_of(value, f"{within}{name}."))
        elif isinstance(value, int | float):
            results[within + name] = float(value)
    return results


def refitted() -> Refitted:
    """Return a shipped fabric fitted to two made-up runs."""
    fabric = load_topology(data_path("topologies", "alps_gh200.yaml")).fabric
    return Refitted("alps_gh200", RUNS, fit_nccl(RUNS, nccl_of(replace(fabric, nccl=None))), None)


def test_a_section_is_read_back_from_a_topology_file() -> None:
    """Rounded to three digits and written as YAML, the parameters come back when the file is read."""
    result = refitted()
    content = yaml.safe_load(data_path("topologies", "alps_gh200.yaml").read_text("utf-8"))
    read = load_topology({**content, **yaml.safe_load(result.section)}).fabric.nccl
    assert read is not None
    assert nccl_fabrics.section_of(read) == nccl_fabrics.section_of(result.fitted.nccl)
    assert "network" not in nccl_fabrics.section_of(read)  # as the rack's, which a file need not say
    assert "\n#   a page: all-reduce on 1, 2 machines\n" in result.section


def test_absent_limits_are_left_out() -> None:
    """A rack without shared ports has no `rack_gb_s`, which a file could not say as 0."""
    section = nccl_fabrics.section_of(refitted().fitted.nccl)
    assert "rack_gb_s" not in numbers_of(section)


def test_a_file_keeps_one_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written twice, the section stands once, below what the file had; the rest is as before."""
    path = tmp_path / "alps_gh200.yaml"
    path.write_text("name: alps_gh200\n", "utf-8")
    monkeypatch.setattr(nccl_fabrics, "data_path", lambda kind, name: tmp_path / name)
    for _ in range(2):
        nccl_fabrics.write(refitted())
    assert path.read_text("utf-8") == f"name: alps_gh200\n\n{refitted().section}\n"


def test_every_measured_fabric_prices_as_nccl_by_default() -> None:
    """A fabric in the list has a file; without a setting of the user, collectives are NCCL's."""
    for name in FABRICS:
        assert load_topology(data_path("topologies", f"{name}.yaml")).fabric.system.collectives == "nccl"


def test_a_fabric_is_fitted_to_runs_that_were_seen() -> None:
    """Runs kept aside and unhealthy runs must not be in a shipped figure."""
    listed = read_list()
    seen = {name for kind in listed["seen"].values() for name in kind}
    assert all({*runs} <= seen for runs in FABRICS.values())


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published runs are not part of the project")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("alps_gh200", "polaris_a100") else name
        for name in FABRICS
    ],
)
def test_shipped_sections_equal_the_fit(name: str) -> None:
    """Whoever changes the model or the fit writes the files again: nccl_fabrics.py FOLDER --write.

    Within 2 %, as other versions of the optimiser stop elsewhere in a flat valley.
    """
    result = nccl_fabrics.refit(read_published(REFERENCE), name, FABRICS[name])
    assert result.shipped is not None
    shipped, again = (nccl_fabrics.section_of(value) for value in (result.shipped, result.fitted.nccl))
    assert numbers_of(shipped) == pytest.approx(numbers_of(again), rel=0.02)
