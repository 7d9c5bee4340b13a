"""Refit the measured fabrics of topologies/ to published runs of nccl-tests in ../shared.

    python scripts/validation/nccl_fabrics.py ../shared/reference/measured [--write]

prints, for each fabric that traces/measured/nccl_runs.yaml names, the `nccl:` section that the fit gives, its
error, and whether the file has the same. `--write` puts the section at the end of the file.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nccl_published import Published, read_list, read_published

from artist.data import data_path
from artist.entry import script
from netmodels.api import MeasuredRun, NcclFabric, load_topology
from netmodels.nccl.fit import Fitted, fit_nccl
from netmodels.nccl.parameters import nccl_of

_HEAD = "# Fitted to published runs of nccl-tests"
_DIGITS = 3  # significant ones: runs differ by more


@dataclass(frozen=True, slots=True)
class Refitted:
    """A measured fabric fitted again.

    Parameters
    ----------
    name
        The topology's name.
    runs
        Runs that it is fitted to.
    fitted
        The outcome.
    shipped
        Parameters in its file.
    """

    name: str
    runs: tuple[MeasuredRun, ...]
    fitted: Fitted
    shipped: NcclFabric | None

    @property
    def section(self) -> str:
        """The `nccl:` section of its file, with runs and error."""
        sources: dict[str, dict[str, list[int]]] = {}
        for run in self.runs:
            of_source = sources.setdefault(run.source.split(" : ")[0].removesuffix("()").strip(), {})
            of_source.setdefault(run.collective.replace("_", "-"), []).append(run.machines)
        fitted = self.fitted
        lines = [
            f"{_HEAD} (traces/measured/nccl_runs.yaml) by scripts/validation/nccl_fabrics.py:",
            *(f"#   {source}: {_machines_by_collective(runs)}" for source, runs in sources.items()),
            f"# Off by {fitted.median:.0%} in the median and {fitted.p90:.0%} at the 90th percentile.",
            "nccl:",
        ]
        return "\n".join((*lines, *_yaml(section_of(self.fitted.nccl), 1)))


def section_of(nccl: NcclFabric) -> dict[str, object]:
    """Return the parameters as a file has them: rounded, without absent ones."""
    section = _rounded(asdict(nccl))
    if section.get("network") == section["rack"]:  # the default of a file
        del section["network"]
    return section


def _rounded(values: Mapping[str, object]) -> dict[str, object]:
    rounded: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            rounded[name] = _rounded(value)
        elif isinstance(value, float) and value:
            rounded[name] = float(f"{value:.{_DIGITS}g}")
    return rounded


def _yaml(values: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = ", ".join(f"{key}: {figure:g}" for key, figure in value.items())
            yield f"{'  ' * depth}{name}: {{{inner}}}"
        else:
            yield f"{'  ' * depth}{name}: {value:g}"


def _machines_by_collective(runs: Mapping[str, Sequence[int]]) -> str:
    return "; ".join(
        f"{collective} on {', '.join(map(str, sorted(set(machines))))} machines"
        for collective, machines in runs.items()
    ).replace(" on 1 machines", " on 1 machine")


def refit(published: Published, name: str, runs: Sequence[str]) -> Refitted:
    """Return a fabric fitted to some runs, from its nominal figures."""
    fabric = load_topology(data_path("topologies", f"{name}.yaml")).fabric
    chosen = tuple(published.runs[run] for run in runs)
    return Refitted(name, chosen, fit_nccl(chosen, nccl_of(replace(fabric, nccl=None))), fabric.nccl)


def write(refitted: Refitted) -> None:
    """Write the section at the end of the fabric's file, in place of the one there."""
    path = data_path("topologies", f"{refitted.name}.yaml")
    kept = path.read_text("utf-8").split(f"\n{_HEAD}")[0].rstrip()
    path.write_text(f"{kept}\n\n{refitted.section}\n", "utf-8")


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print or write the sections; return 0, or 2 if the folder lacks a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="into the files of topologies/")
    chosen = parser.parse_args(argv)
    published = read_published(chosen.folder)
    for name, runs in read_list()["fabrics"].items():
        refitted = refit(published, name, runs)
        alike = refitted.shipped is not None and section_of(refitted.shipped) == section_of(
            refitted.fitted.nccl
        )
        print(
            f"{refitted.name}: the file has {'the same' if alike else 'other figures'}\n{refitted.section}\n"
        )
        if chosen.write:
            write(refitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
