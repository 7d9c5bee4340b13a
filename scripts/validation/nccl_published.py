"""Published runs of nccl-tests in ../shared, by traces/measured/nccl_runs.yaml; data sheets of machines."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from artist.data import data_path
from artist.errors import InputError
from netmodels.api import Dimension, Fabric, MeasuredRun, NcclCollective

Row = Mapping[str, str]

COLLECTIVES: dict[str, NcclCollective] = {
    "all_reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter",
    "all_gather": "all_gather",
    "alltoall": "all_to_all",
    "sendrecv": "send_receive",
}
DOMAINS = {"GB200 NVL72 (CoreWeave)": 18}  # trays of 4 GPUs in one NVLink domain, which counts as the machine

# Bandwidth of a GPU inside its machine by its vendor, Gb/s each way; a switch stands for any full wiring.
_INSIDE_GBIT_S = {
    "NVLink2 (cube mesh)": 1200,  # V100 data sheet: 300 GB/s both ways
    "NVLink3 (4 GPUs, all-to-all)": 2400,  # A100 data sheet: 600 GB/s both ways
    "NVSwitch (NVLink3)": 2400,
    "NVLink4": 3600,  # H100 data sheet: 900 GB/s both ways
    "NVLink4 (4 GPUs)": 3600,
    "NVSwitch (NVLink4)": 3600,
    "NVSwitch (NVLink4, NVLS)": 3600,
    "NVLink (4 GH200)": 3600,
    "NVLink (4 GH200, all-to-all)": 3600,
    "NVSwitch (NVLink5)": 7200,  # B200 data sheet: 1.8 TB/s both ways
    "NVLink5 NVL72 rack": 7200,
    "Infinity Fabric": 3584,  # MI300X data sheet: 7 links of 128 GB/s both ways
    "PCIe": 80,  # PCIe 3.0 x16 through an Intel CPU by NCCL's constants, as in pcie_10g
    "-": 3600,  # one GPU a machine: unused
}
# A ring's step by NCCL's tuning tables: 0.6 us on NVLink, 1.0 on PCIe, 2.7 on the network; 20 on
# EFA by the tuner of AWS's plugin (github.com/aws/aws-ofi-nccl @16fe0e11a84b, include/nccl_ofi_tuner.h).
_NVLINK_NS, _PCIE_NS, _NETWORK_NS, _EFA_NS = 300.0, 500.0, 1350.0, 10_000.0
_EFA_MACHINES = ("p3dn.24xlarge", "p4d.24xlarge", "p4de.24xlarge")


@dataclass(frozen=True, slots=True)
class Series:
    """Machines of one kind with equal settings: runs on one and two predict those on more.

    Parameters
    ----------
    name, family
        Its name, and the machines that it belongs to.
    fitted, predicted
        Names of runs.
    borrowed
        Whether its run on two machines has other settings or another version.
    apart
        Why it is reported apart; empty if it is not.
    """

    name: str
    family: str
    fitted: tuple[str, ...]
    predicted: tuple[str, ...]
    borrowed: bool = False
    apart: str = ""


@dataclass(frozen=True)
class Published:
    """All published runs that are used.

    Parameters
    ----------
    rows
        Row of each run, by name.
    runs
        The runs, by name.
    seen, unseen
        Names of the runs that the form was made with, and of those kept aside.
    series
        Which runs predict which.
    """

    rows: Mapping[str, Row]
    runs: Mapping[str, MeasuredRun]
    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    series: tuple[Series, ...]

    @cached_property
    def nominal(self) -> dict[str, Fabric | None]:
        """The fabric of each run by its machine's nominal figures; None where the network's are unknown."""
        return {name: nominal_fabric(self.rows[name]) for name in self.runs}

    @cached_property
    def priors(self) -> dict[str, Fabric]:
        """The same, with one port of 400 Gb/s a GPU where the network's figures are unknown."""
        return {name: fabric or self._assumed(name) for name, fabric in self.nominal.items()}

    def _assumed(self, name: str) -> Fabric:
        ports = 400 * int(self.rows[name]["gpus_per_machine"])
        fabric = nominal_fabric({**self.rows[name], "nic_gbit_s_total": str(ports)})
        assert fabric is not None
        return fabric


def read_list() -> dict[str, Any]:
    """Return the list of runs used and left out."""
    text = data_path("traces", "measured/nccl_runs.yaml").read_text("utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def read_published(folder: Path) -> Published:
    """Return the runs of a folder with nccl.csv and nccl_runs.csv.

    Raises
    ------
    OSError
        If a file is missing.
    InputError
        If a run of the list is missing.
    """
    listed = read_list()
    seen, unseen = (
        tuple(name for kind in listed[part].values() for name in kind) for part in ("seen", "unseen")
    )
    with (folder / "nccl_runs.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["run"]: row for row in csv.DictReader(file)}
    points: dict[str, list[tuple[int, float]]] = {}
    with (folder / "nccl.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            points.setdefault(row["run"], []).append((int(row["bytes"]), float(row["time_us"])))
    for name in (*seen, *unseen):
        if name not in rows or name not in points:
            lacking = "nccl_runs.csv" if name not in rows else "nccl.csv"
            raise InputError("a run is missing", where=str(folder / lacking), allowed=f"a row of {name}")
    runs = {name: measured_run(rows[name], sorted(points[name])) for name in (*seen, *unseen)}
    series = tuple(
        Series(**{**entry, "fitted": tuple(entry["fitted"]), "predicted": tuple(entry["predicted"])})
        for entry in listed["series"]
    )
    return Published(rows, runs, seen, unseen, series)


def measured_run(row: Row, points: Sequence[tuple[int, float]]) -> MeasuredRun:
    """Return a run from its row and its (bytes, us)."""
    together = DOMAINS.get(row["machine_kind"], 1)
    return MeasuredRun(
        name=row["run"],
        collective=COLLECTIVES[row["collective"]],
        machines=int(row["machines"]) // together,
        gpus_per_machine=int(row["gpus_per_machine"]) * together,
        points=tuple(points),
        source=row["source"],
        settings=f"NCCL {row['nccl'] or 'unknown'}; {row['settings']}",
    )


def nominal_fabric(row: Row) -> Fabric | None:
    """Return the fabric by data sheets, GPUs sharing their machine's ports; None if these are unknown."""
    gpus, ports = int(row["gpus_per_machine"]), row["nic_gbit_s_total"]
    if not ports and int(row["machines"]) > 1:
        return None
    inside_ns = _PCIE_NS if row["intra_link"] == "PCIe" else _NVLINK_NS
    machine = Dimension("switch", inside_ns, _INSIDE_GBIT_S[row["intra_link"]] / 8)
    share_gbit_s = float(ports or 0) / gpus or 1.0  # one machine: unused
    network_ns = _EFA_NS if row["machine_kind"] in _EFA_MACHINES else _NETWORK_NS
    network = Dimension("switch", network_ns, share_gbit_s / 8)
    return Fabric(f"nominal {row['machine_kind']}", (machine,), (network,), (network,))
