"""Imports go one way: app -> run -> everything concrete; nothing below knows what is above it.

The sources are parsed, never run, so that imports inside functions count as well.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for name in ("artist", "netmodels") for path in (ROOT / name).rglob("*.py"))

# What a module of a part may import of ours: modules and packages, its own part included.
BASIC = (
    *("artist.errors", "artist.units", "artist.randomness", "artist.data"),
    "netmodels.inputs.files",
)
ALLOWED = {
    "artist.core": ("artist.core", "artist.errors", "artist.units"),
    "artist.tables": ("artist.tables", "artist.errors", "netmodels.inputs.files"),
    "artist.drawing": ("artist.drawing", "artist.tables.grid"),
    "artist.bad_input": ("artist.bad_input", "artist.errors", "netmodels.inputs.naming"),
    "artist.performance": ("artist.core", "artist.performance", "netmodels.api", *BASIC),
    "artist.engine": ("artist.core", "artist.engine", "artist.performance", "netmodels.api", *BASIC),
    "artist.workload": (
        *("artist.core", "artist.workload", "artist.bad_input", "artist.tables"),
        *("netmodels.api", "netmodels.inputs.naming", "netmodels.inputs.schema", *BASIC),
    ),
    "artist.datacenter": (
        *("artist.core", "artist.datacenter", "artist.bad_input", "artist.tables"),
        *("netmodels.api", "netmodels.inputs.naming", *BASIC),
    ),
    "artist.recording": ("artist.core", "artist.recording", "netmodels.api", *BASIC),
    "artist.results": (
        *("artist.results", "artist.recording.names", "artist.tables.grid", "artist.errors"),
        "netmodels.inputs.schema",
    ),
    "artist.report.words": ("artist.report.words", "artist.results", "artist.recording.names"),
    "artist.report.page": ("artist.report.page", "artist.results"),
    "artist.report.claims": (
        *("artist.report.claims", "artist.report.page", "artist.results", "artist.tables.grid"),
        *("artist.errors", "netmodels.inputs.naming", "netmodels.inputs.schema"),
    ),
    "artist.report": (
        *("artist.report", "artist.drawing", "artist.tables.grid", "artist.results"),
        *("artist.recording.names", "artist.errors", "artist.data"),
    ),
    "artist.run": (
        *("artist.core", "artist.engine", "artist.performance", "artist.workload", "artist.datacenter"),
        *("artist.recording", "artist.bad_input", "artist.run", "netmodels", *BASIC),
        "artist.policies.partitions",  # around the policy that the configuration names
        "artist.site",
    ),
    "artist.site": (
        *("artist.site", "artist.policies.slurm", "artist.policies.parts.limits", "artist.bad_input"),
        *("artist.workload.gpu_types", "netmodels.api", *BASIC),
    ),
    "netmodels": ("netmodels",),
    "artist.pricing": (
        *("artist.pricing", "artist.drawing", "artist.tables.grid", "artist.results.stand_ins"),
        *("artist.errors", "netmodels"),
    ),
    "artist.calibrating": (
        *("artist.calibrating", "artist.drawing", "artist.tables", "artist.errors", "artist.data"),
        "netmodels",
    ),
    "artist.describe": (
        *(
            "artist.describe",
            "artist.drawing",
            "artist.tables",
            "artist.workload",
            "artist.core",
            "artist.errors",
        ),
    ),
}
# The commands beside artist make parts from the configuration, as the command line does.
COMMANDS = (
    "artist.app.commands",
    "artist.pricing.command",
    "artist.describe.command",
    "artist.calibrating.command",
)
# Every folder in policies/ is the room of one paper; what two or more of them use lies in policies/parts/.
POLICIES_MAY = ("artist.core", *BASIC, "artist.policies.parts", "netmodels.inputs.schema")
# A figure draws what lies in files: it knows neither the engine's records, nor how they were made, nor the
# words and tables around it.
FIGURES_MAY = (
    *("artist.report.figures", "artist.drawing", "artist.tables.grid", "artist.results"),
    "artist.recording.names",
)
PURE_FORMULAS = tuple(
    f"artist.performance.{name}" for name in ("formulas", "packing", "interleaving", "stall")
)


def module_of(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            for alias in node.names:
                below = ROOT.joinpath(*str(node.module).split("."), f"{alias.name}.py")
                yield f"{node.module}.{alias.name}" if below.is_file() else str(node.module)


@cache
def imports() -> dict[str, list[str]]:
    """Return the dotted names that each module imports; its files are parsed once a session."""
    return {module_of(path): list(imports_of(path)) for path in SOURCES}


def is_ours(name: str) -> bool:
    """Return whether a module belongs to this project."""
    return name.partition(".")[0] in {"artist", "netmodels"}


def inside(name: str, parts: tuple[str, ...]) -> bool:
    """Return whether a module is one of some modules or in one of some packages."""
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def room_of(module: str) -> str:
    """Return the folder of a module below artist or netmodels, or the module if it lies in none."""
    return ".".join(module.split(".")[:2])


def part_of(module: str) -> str | None:
    """Return the part with a rule that a module belongs to."""
    return next((part for part in ALLOWED if inside(module, (part,))), None)


def test_imports_go_one_way() -> None:
    """A module of a part imports only parts that ALLOWED lists for its own."""
    wrong = []
    for module, names in imports().items():
        part = part_of(module)
        if part is not None and module not in COMMANDS:
            wrong += [
                f"{module}: {name}" for name in names if is_ours(name) and not inside(name, ALLOWED[part])
            ]
    assert not wrong


def test_a_policy_imports_no_other_policy_and_no_engine() -> None:
    """Its own room, core, the shared parts, pure formulas of performance; never another paper's room."""
    wrong = []
    for module, names in imports().items():
        if inside(module, ("artist.policies",)):
            may = (".".join(module.split(".")[:3]), *POLICIES_MAY, *PURE_FORMULAS)
            wrong += [f"{module}: {name}" for name in names if is_ours(name) and not inside(name, may)]
    assert not wrong


def test_figures_read_files_only() -> None:
    """One way: events -> run folder -> figures; a figure never sees a result in memory."""
    figures = {
        module: names for module, names in imports().items() if inside(module, ("artist.report.figures",))
    }
    wrong = [
        f"{module}: {name}"
        for module, names in figures.items()
        for name in names
        if is_ours(name) and not inside(name, FIGURES_MAY)
    ]
    assert figures
    assert not wrong


def test_hydra_stays_in_the_command_line() -> None:
    """Commands, sweeps, and run/parts.py import Hydra; bad_input/explain.py its exceptions."""
    users = {
        module: {name for name in names if inside(name, ("hydra", "omegaconf"))}
        for module, names in imports().items()
    }
    assert users.pop("artist.bad_input.explain") <= {"hydra.errors", "omegaconf.errors"}
    assert {module for module, names in users.items() if names} <= {
        "artist.app.cli",
        "artist.app.composing",
        "artist.app.env",
        "artist.app.launchers",
        "artist.app.simulate",
        "artist.app.sweep",
        "artist.run.parts",
        *COMMANDS,
    }


def test_nothing_below_imports_the_assembling_parts() -> None:
    """Only the commands, and the public door, import app; only they and run itself import run."""
    wrong = []
    for module, names in imports().items():
        if module in ("artist.api", "artist.__main__", *COMMANDS) or inside(module, ("artist.app",)):
            continue
        above = ("artist.app",) if inside(module, ("artist.run",)) else ("artist.app", "artist.run")
        wrong += [f"{module}: {name}" for name in names if inside(name, above)]
    assert not wrong


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Return the nodes of a circle, none if there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types count: a module can be read once those below it are."""
    arrows = {module: {name for name in names if is_ours(name)} for module, names in imports().items()}
    assert circle(arrows) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    """A room is a folder, or a file beside the folders, of artist or netmodels."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for module, names in imports().items():
        room = room_of(module)
        arrows[room] |= {room_of(name) for name in names if is_ours(name)} - {room, "netmodels"}
    assert circle(arrows) == []


def test_every_module_has_a_room() -> None:
    """Beside the rooms there are the entry, the public door and four modules for all."""
    loose = {path.stem for path in (ROOT / "artist").glob("*.py")}
    assert loose == {"__init__", "__main__", "api", "data", "entry", "errors", "randomness", "units"}


def test_a_file_has_at_most_600_lines() -> None:
    """House rule 10: think at 500 lines, stop at 600."""
    lines = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {module: count for module, count in lines.items() if count > 600} == {}


def test_no_top_level_package_has_a_common_name() -> None:
    """conf, tests and scripts would clash with those of other distributions."""
    for name in ("conf", "tests", "scripts", "topologies", "traces"):
        assert not (ROOT / name / "__init__.py").exists()


def test_matplotlib_is_not_needed_to_run() -> None:
    """`artist` answers in seconds because what only a report needs is imported by the report."""
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names} | {
            str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)
        }
        if any(name.partition(".")[0] == "matplotlib" for name in names):
            assert module_of(path).startswith(("artist.report.figures.", "artist.drawing.")), path


def test_the_package_imports_nothing_until_asked() -> None:
    """`import artist.core.plan` runs artist/__init__.py, which may import the parts above for types only."""
    command = "import sys, artist; print(sum(name.startswith('artist.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", command], capture_output=True, check=True).stdout == b"0\n"


def _modules_after(work: str, folder: Path) -> set[str]:
    """Return the modules that a process has imported when it has done some work in a folder."""
    code = f"import sys\nsys.argv[1:] = []\n{work}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, check=True, text=True
    )
    return set(done.stderr.split())


def test_the_smallest_run_imports_little(tmp_path: Path) -> None:
    """The demo is mostly start-up: what draws, fits or uses several cores is imported when it does so."""
    work = "from artist.app.cli import main; main(['workload.jobs=2', 'output.dir=runs'])"
    unused = {
        "matplotlib",
        "scipy",
        "networkx",
        "joblib",
        "tqdm",
        "asyncio",
        "pandas",
        "pyarrow.compute",
        "filelock",
        "multiprocessing",
        "artist.app.sweep",
        "artist.policies.partitions.policy",
        "artist.recording.failures",
        "artist.recording.traffic",
        "artist.results.gains",
        "netmodels.contention",
        "netmodels.packets",
    }
    result = _modules_after(work, tmp_path)
    assert "pyarrow" in result, "results are written"
    assert not (unused | {"pyarrow.compute"}) & result


@pytest.mark.parametrize("room", ["app.cli", "report", "pricing", "describe", "calibrating"])
def test_help_needs_no_pandas(room: str, tmp_path: Path) -> None:
    """Help takes less than half a second of a core; pandas alone would take half of that again."""
    module = f"artist.{room}" if room == "app.cli" else f"artist.{room}.command"
    work = f"from {module} import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    assert not {"pandas", "matplotlib", "scipy", "networkx"} & _modules_after(work, tmp_path)


def test_help_of_the_command_checks_nothing(tmp_path: Path) -> None:
    """Half of its time would go to what checks and simulates a run: pydantic, numpy, models of networks."""
    work = "from artist.app.cli import main; main(['--help'])"
    assert not {"pydantic", "numpy", "pyarrow", "netmodels.api"} & _modules_after(work, tmp_path)
