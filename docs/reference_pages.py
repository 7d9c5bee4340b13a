"""Write the pages of the reference that the code and conf/ contain: settings, policies, the public doors."""

import inspect
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import yaml

from artist.api import simulate
from artist.app.help import help_text, narrow
from artist.core import result
from artist.data import data_path
from artist.recording import columns

COMMANDS = {
    "artist": "config",
    "artist-network": "price",
    "artist-trace": "describe",
    "artist-calibrate": "calibrate",
}
DOORS = {"artist.api": "Python: artist", "netmodels.api": "Python: networks"}
TABLES = {"jobs": columns.job_tables, "events": columns.event_tables, "timeline": columns.timeline_tables}
_COMMENT = re.compile(r'^    "(\w+)",  # (.+)$', re.MULTILINE)
_WIDTH, _UNBOUNDED = 88, 10**6
_AS = re.compile(r"^# as policy=(\w+)\n", re.MULTILINE)
_ROW = re.compile(r"^(\w+): *(.*?)(?: +# (.+))?$", re.MULTILINE)
_SOURCE = re.compile(r"^(?:Paper|Sources?): .+(?:\n.+)*", re.MULTILINE)
_DERIVED = {
    "gpus": "asked for",
    "jct_ns": "from submission to finish",
    "ideal_ns": "iterations x compute time as in the trace, without communication",
}
_DOOR = """\
# {title}

```{{eval-rst}}
.. automodule:: {door}
   :members:
   :imported-members:
   :member-order: groupwise
   :exclude-members: {elsewhere}
```
"""


def write(folder: Path) -> None:
    """Write all pages into a folder, those that did not change not again."""
    for name, text in {
        **_settings(),
        "policies_and_papers": _policies(),
        "columns": _columns(),
        **_doors(),
    }.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _settings() -> dict[str, str]:
    """Return the pages of settings: one per group of conf/, one of all commands, and their contents."""
    main = yaml.safe_load(data_path("conf", "config.yaml").read_text(encoding="utf-8"))
    entries = [next(iter(entry)) for entry in main["defaults"] if isinstance(entry, dict)]
    groups = [name for name in entries if " " not in name]
    pages = {"commands": _commands()} | {name: _group(name) for name in groups}
    contents = "\n".join(f"{name} <{name}>" for name in pages)
    about = "\n".join(
        [
            "The files of settings, with their comments: those that `artist --help GROUP=NAME` prints.\n",
            "- [commands](commands.md): settings beside the groups, by command",
            *(f"- [{name}]({name}.md): {_about(name)}" for name in groups),
        ]
    )
    head = f"# Settings\n\n{about}\n\n```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
    return {f"settings/{name}": text for name, text in (pages | {"index": head}).items()}


def _about(group: str) -> str:
    return help_text([group]).partition("\n")[0].partition(": ")[2]


def _group(group: str) -> str:
    folder = data_path("topologies") if group == "topology" else data_path("conf", group)
    parts = [f"# Settings: {group}\n\n`{group}=`: {_about(group)}.\n"]
    for path in sorted(folder.glob("*.yaml")):
        shown = _preset(path) if group == "policy" else _yaml(f"{group}={path.stem}")
        parts.append(f"## {group}={path.stem}\n\n{shown}")
    return "\n".join(parts)


def _yaml(topic: str) -> str:
    return _block("yaml", help_text([topic], width=_WIDTH))


def _preset(path: Path) -> str:
    """Return a preset of a policy: what it is, its paper, and a table of its settings with their comments."""
    about, *settings = _AS.split(help_text([f"policy={path.stem}"], width=_UNBOUNDED).strip())
    lines = about.splitlines()
    head = [line.removeprefix("# ") for line in lines if line.startswith("#")]
    docstring = str(import_module(_target(path).rpartition(".")[0]).__doc__)
    source = " ".join(match[0].split()) if (match := _SOURCE.search(docstring)) else ""
    parts = ["\n".join(map(_escaped, head)), _escaped(source.partition(", section")[0])]
    own = "\n".join(line for line in lines if not line.startswith("#"))
    meanings = {
        name: comment
        for base in reversed([path.stem, *settings[::2]])
        for name, _, comment in _ROW.findall(path.with_name(f"{base}.yaml").read_text(encoding="utf-8"))
        if comment
    }
    for base, text in [("", own), *zip(settings[::2], settings[1::2], strict=True)]:
        rows = [
            f"| `{name}` | {f'`{value}`' if value else ''} | {_escaped(meanings.get(name, ''))} |"
            for name, value, _ in _ROW.findall(text)
            if name != "_target_"
        ]
        if rows:
            title = f"As `policy={base}`:\n\n" if base else ""
            parts.append("\n".join([f"{title}| setting | default | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(filter(None, parts)) + "\n"


def _escaped(text: str) -> str:
    """Return a text of YAML or reStructuredText without what Markdown would take for marks."""
    return re.sub(r"([*_<>\[\]{}$|])", r"\\\1", text.replace("`", ""))


def _commands() -> str:
    files = {
        command: narrow(data_path("conf", f"{name}.yaml").read_text(), _WIDTH)
        for command, name in COMMANDS.items()
    }
    texts = [f"## {command}\n\n{_block('yaml', text)}" for command, text in files.items()]
    return "\n".join(["# Settings: commands\n", "The settings beside the groups, by command.\n", *texts])


def _policies() -> str:
    """Return the page of policies: for each module, its presets and its docstring, with the paper."""
    presets = defaultdict[str, list[str]](list)
    for path in sorted(data_path("conf", "policy").glob("*.yaml")):
        presets[_target(path).rpartition(".")[0]].append(path.stem)
    parts = [
        "# Policies and their papers\n",
        "The rule of each policy in plain words, its paper, and what differs from it; the names are those of "
        "`policy=`, with their settings.\n",
    ]
    for module, names in sorted(presets.items()):
        title = str(import_module(module).__doc__).partition("\n")[0].rstrip(".")
        links = ", ".join(f"[{name}](settings/policy.md#policy{name})" for name in names)
        shown = f".. automodule:: {module}\n   :no-members:"
        parts.append(f"## {title.partition(':')[0]}\n\n{links}\n\n{_block('{eval-rst}', shown)}")
    return "\n".join(parts)


def _target(path: Path) -> str:
    """Return the class that a preset builds, its own or that of the preset it begins from."""
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    parents = (name for name in settings.get("defaults", []) if isinstance(name, str) and name != "_self_")
    return str(settings.get("_target_") or _target(path.with_name(f"{next(parents)}.yaml")))


def _columns() -> str:
    """Return the page of the columns that every run writes, with the comments of the code."""
    comments = dict(_COMMENT.findall(inspect.getsource(result))) | _DERIVED
    meaning = {name.replace("_ns", "_s"): text for name, text in comments.items()}
    parts = [
        "# Columns of a run\n",
        "Those of every run; settings add others ([the run folder](../run_folder.md)).\n",
    ]
    with TemporaryDirectory() as folder:
        run = simulate(["workload.jobs=10", f"output.dir={folder}"])
        for name, function in TABLES.items():
            rows = [
                f"| `{field.name}` | {field.type} | {meaning.get(field.name, '')} |"
                for field in pq.read_schema(run.folder / f"{name}.parquet")
            ]
            text = inspect.getdoc(function).partition(": ")[2]
            parts += [
                f"## {name}.parquet\n",
                text,
                "\n| column | type | meaning |",
                "|---|---|---|",
                *rows,
                "",
            ]
    return "\n".join(parts)


def _doors() -> dict[str, str]:
    """Return the pages of the public doors; a name of both is on the page of the first."""
    pages, names = dict[str, str](), set[str]()
    for door, title in DOORS.items():
        elsewhere = ", ".join(sorted(names.intersection(import_module(door).__all__)))
        pages[door.partition(".")[0]] = _DOOR.format(title=title, door=door, elsewhere=elsewhere or "-")
        names |= set(import_module(door).__all__)
    return pages


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```\n"
