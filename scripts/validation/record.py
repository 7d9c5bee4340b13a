"""Record answers of real ASTRA-sim programs: python scripts/validation/record.py BINARY [BACKEND] >> FILE.

Asks the program about a toy model on a few placements of a fabric with three switches, and prints a JSON line
for each: the placement, the SHA-256 of every file that the program read, its times, ours. The
tests compare our present files and times with tests/astra_sim/recorded/runs.jsonl, which was recorded so.
With --plans it asks about language models with a plan (tests/astra_sim/recorded/plans.jsonl).
"""

import argparse
import hashlib
import json
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

from artist.entry import script
from netmodels.api import (
    Architecture,
    Dimension,
    Fabric,
    Layer,
    Plan,
    Profile,
    Program,
    Shape,
    SystemSettings,
    shape_of,
)
from netmodels.astra_sim.locate import NAMES, Backend
from netmodels.astra_sim.model import AstraSim
from netmodels.fabric.system import AcrossMachines
from netmodels.inputs.errors import InputError
from netmodels.llm.compute import Times
from netmodels.models.analytical import AnalyticalModel

TOY = Profile(
    "toy",
    (
        Layer("embed", 20_000, 0, 30_000, 4_000_000),
        Layer("block", 50_000, 60_000, 45_000, 16_777_216),
        Layer("head", 10_000, 12_000, 11_000, 1_048_576),
    ),
)
SWITCHES = Fabric(
    "switches",
    (Dimension("switch", 500.0, 450 * 2**30 / 1e9),),
    (Dimension("switch", 1000.0, 25 * 2**30 / 1e9),),
    (Dimension("switch", 2500.0, 12.5 * 2**30 / 1e9),),
    SystemSettings(local_memory_gb_s=3350, across_machines="hierarchical"),
)
PLACEMENTS = ("8", "4+4", "3+1", "2+2|2+2")
"""GPUs by machine; + joins the machines of a rack, | the racks."""
MIXED = Fabric(
    "mixed",
    (Dimension("fully_connected", 300.0, 300.0),),
    (Dimension("ring", 700.0, 40.0),),
    (Dimension("switch", 2500.0, 12.5),),
    SystemSettings(endpoint_delay_ns=25, across_machines="hierarchical"),
)
SMALL = Architecture("Small", layers=8, hidden=1024, heads=16, ffn=4096, vocabulary=32_000)
EXPERTS = Architecture("Experts", 6, 1024, 16, 4096, 32_000, experts=8, active=2, expert_ffn=2048)
PLANS: tuple[tuple[Architecture, str, str, Fabric], ...] = (
    (SMALL, "tp8", "8", SWITCHES),
    (SMALL, "tp4 pp2 gb8", "8", SWITCHES),
    (SMALL, "pp8 gb16", "8", MIXED),
    (SMALL, "fsdp gb16", "8", SWITCHES),
    (SMALL, "tp2 cp2 gb8 zero1", "4+4", SWITCHES),
    (EXPERTS, "ep4 tp2 gb8", "8", SWITCHES),
    (EXPERTS, "tp4 etp2 ep2 gb8", "4+4", MIXED),
    (EXPERTS, "ep8 pp2 gb16 zero1", "8+8", SWITCHES),
    (SMALL, "tp4 pp4 vp2 gb16", "4+4+4+4", MIXED),
    (SMALL, "tp2 pp2 cp2 gb16 recompute", "8+8", MIXED),
    (SMALL, "fsdp gb32", "8+8", SWITCHES),
    (SMALL, "tp16 gb4", "8+8", SWITCHES),
    (SMALL, "tp2 gb48 zero1", "6+6+6+6", SWITCHES),
    (SMALL, "tp8 pp2 gb16 zero1", "8+8|8+8", SWITCHES),
    (SMALL, "tp4 fsdp gb16 selective", "8+8|8+8", MIXED),
    (EXPERTS, "ep8 gb64 fsdp", "8+8+8+8", SWITCHES),
    (SMALL, "tp8 pp4 gb32 mb2 zero1", "8+8+8+8", SWITCHES),
    (EXPERTS, "tp2 ep8 pp2 gb32 zero1", "8+8+8+8|8+8+8+8", MIXED),
    (SMALL, "tp4 pp2 gb32 mb2", "8+8+8+8+8+8+8+8", SWITCHES),
    (SMALL, "tp4 cp4 pp2 vp2 gb16 seq8192", "8+8+8+8|8+8+8+8", SWITCHES),
    (SMALL, "tp8 pp8 gb32", "8+8+8+8+8+8+8+8", MIXED),
)
WAYS: tuple[AcrossMachines, ...] = ("hierarchical", "flat_ring", "tree")
INPUTS = ("iteration.et", "*.json", "*.yml", "*.txt")
_SAID = ("stdout.txt", "stderr.txt")


def settings_for(backend: str, across_machines: AcrossMachines = "hierarchical") -> SystemSettings:
    """Return settings that a back end can run."""
    if backend != "version1":
        return replace(SWITCHES.system, across_machines=across_machines)
    return replace(SWITCHES.system, local_memory_gb_s=0, collective_queue="per_dimension")


def placement(text: str) -> Shape:
    """Return the shape of a placement."""
    racks = enumerate(text.split("|"))
    return shape_of((rack, "box", int(gpus)) for rack, machines in racks for gpus in machines.split("+"))


def read_by_program(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that were written for the program, by name."""
    written = {path for pattern in INPUTS for path in folder.glob(pattern) if path.name not in _SAID}
    ours = [path for path in sorted(written) if not path.name.startswith(("fct", "pfc", "qlen", "mix"))]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in ours}


def record(binary: str, backend: Backend, text: str, way: AcrossMachines) -> None:
    """Print the record of one placement, unless the program is not needed for its answer."""
    shape, system = placement(text), settings_for(backend, way)
    with tempfile.TemporaryDirectory() as scratch:
        model = AstraSim(binary=binary, backend=backend, scratch=scratch, keep=True)
        answer = model.iteration(TOY, shape, SWITCHES, system)
        if not model.last:
            return
        (folder,) = Path(scratch).iterdir()
        written = read_by_program(folder)
    ideal = replace(system, across_machines="hierarchical")
    record = {
        "backend": backend,
        "placement": text,
        "across_machines": way,
        "carried": model.carries(shape, SWITCHES, system),
        "files": written,
        "npus": [asdict(npu) for npu in model.last],
        "exposed_ns": answer.exposed_ns,
        "analytical_exposed_ns": AnalyticalModel().iteration(TOY, shape, SWITCHES, ideal).exposed_ns,
    }
    print(json.dumps(record), flush=True)


class Timed(Program):
    """A program whose compute times do not follow the fitted speeds of GPUs."""

    def _times(self, gpus: int, factor: float) -> Times:
        return Times(2_000_011.0, 4_100_017.0, 300_007.0, 900_001.0, 500_003.0)


def planned(architecture: Architecture, plan: str) -> Profile:
    """Return the profile of a plan with these compute times."""
    program = Timed(architecture, Plan.parse(plan), "H100", 1.0, "whole")
    return Profile(f"{architecture.name} {plan}", (Layer("all", 1, 0, 0, 0),), program=program)


def digest_of_files(folder: Path) -> str:
    """Return one SHA-256 of all files that were written for the program, and their names."""
    written = {path for pattern in ("iteration.*.et", "*.json", "*.yml") for path in folder.glob(pattern)}
    files = ((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(written))
    return hashlib.sha256(repr(list(files)).encode()).hexdigest()


def record_plan(binary: str, architecture: Architecture, plan: str, text: str, fabric: Fabric) -> None:
    """Print the record of a language model with a plan on one placement."""
    shape, profile = placement(text), planned(architecture, plan)
    with tempfile.TemporaryDirectory() as scratch:
        model = AstraSim(binary=binary, scratch=scratch, keep=True)
        model.iteration(profile, shape, fabric, fabric.system)
        (folder,) = Path(scratch).iterdir()
        written = digest_of_files(folder)
    times = [[npu.total_ns, npu.comm_ns] for npu in model.last]
    print(json.dumps({"plan": plan, "placement": text, "files": written, "npus": times}), flush=True)


@script
def main() -> int:
    """Record the placements and return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("backend", nargs="?", default="auto", choices=("auto", *NAMES))
    parser.add_argument("--plans", action="store_true")
    arguments = parser.parse_args()
    if arguments.plans:
        for question in PLANS:
            record_plan(arguments.binary, *question)
        return 0
    backend = AstraSim(binary=arguments.binary, backend=arguments.backend).program.backend
    ways = WAYS[:1] if backend == "version1" else WAYS
    for way, text in product(ways, PLACEMENTS):
        with suppress(InputError):  # a tree of a number that is no power of two
            record(arguments.binary, backend, text, way)
    return 0


if __name__ == "__main__":
    sys.exit(main())
