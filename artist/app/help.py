"""Help of the command `artist`: the parts, their choices and their settings, with the comments of conf/."""

import re
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from artist.data import data_path, first_sentence
from artist.errors import InputError
from artist.tables.grid import terminal_width

_HEAD = """\
artist simulates GPU clusters that train deep-learning jobs, with their network.

  artist                                   the demo
  artist policy=srtf cluster.racks=8       other parts, other values
  artist -m policy=fifo,srtf seed=0,1,2    a sweep
  artist-report FOLDER ...                 tables and plots of what was run
"""
_OPTIONS = """\
Options
  -m                    a sweep: values a,b,c are points of their own
  --config-dir FOLDER   parts of your own, as FOLDER/GROUP/NAME.yaml
  --wide                all columns of the table, however narrow the terminal
  --cfg job             print the configuration, do not run it
  --version
  -sc install=bash      completion in the shell, for `eval` (docs/sweeps.md)
  --hydra-help          Hydra's own options
"""
_PART = re.compile(r"^  - (\w+): (\S+)  # ([^;\n]+)", re.MULTILINE)
_PARENTS = re.compile(r"^defaults: \[(.*)\]$", re.MULTILINE)
_FIELD = re.compile(r"^(\w+):", re.MULTILINE)
_SETTING = re.compile(
    r"^(?P<setting> *[^#\s].*?) +# (?P<comment>.+)(?P<more>(?:\n {12,}# .+)*)$", re.MULTILINE
)
_MORE = re.compile(r"^ +# (.+)$", re.MULTILINE)
_PROSE = re.compile(r"^(?P<margin> *# )[^\s@].*(?:\n(?P=margin)[^\s@].*)*$", re.MULTILINE)
_WIDEST, _USUAL = 100, 80


def help_text(topics: Sequence[str], folders: Sequence[Path] = (), width: int | None = None) -> str:
    """Return the help on some topics, or on the command.

    Parameters
    ----------
    topics
        Groups (`policy`), their choices (`policy=dally`), settings outside groups (`performance`).
    folders
        The user's, with choices of their own.
    width
        Characters of a line; None for the terminal's, or 80 without one.

    Raises
    ------
    InputError
        If there is no such topic.
    """
    main = data_path("conf", "config.yaml").read_text(encoding="utf-8")
    parts = {group: (default, text) for group, default, text in _PART.findall(main)}
    fields = _fields(main)
    width = width or terminal_width() or _USUAL
    texts = [_on(one, parts, fields, folders, width) for topic in topics for one in _each(topic)]
    return "\n".join(dict.fromkeys(texts)) or _overview(parts, fields)


def _each(topic: str) -> list[str]:
    """Return the topics of an argument: `policy=a,b` has two, and that of `policy.x=1` is `policy`."""
    name, is_choice, choices = topic.lstrip("+~").partition("=")
    group, is_field, _ = name.partition(".")
    return [f"{group}={choice}" for choice in choices.split(",")] if is_choice and not is_field else [group]


def _on(
    topic: str, parts: dict[str, tuple[str, str]], fields: dict[str, str], folders: Sequence[Path], width: int
) -> str:
    group, _, choice = topic.partition("=")
    group = group if group in parts else re.sub("ies$", "y", group).removesuffix("s")
    if group not in parts and topic in fields:
        return narrow(fields[topic], width)
    files = _files(group, folders) if group in parts else {}
    known = [f"{group}={name}" for name in files] if files and choice else [*parts, *fields]
    if not files or (choice and choice not in files):
        near = get_close_matches(topic, known, 3) or known
        raise InputError("no such topic", where="--help", found=topic, allowed=", ".join(near))
    if choice:
        return narrow(_settings(group, choice, files), width)
    default, text = parts[group]
    rows = {name: first_sentence(path) for name, path in sorted(files.items())}
    chosen = default.replace("null", "none")
    return f"{group}: {text}; {chosen} unless chosen\n\n{_list(rows)}\nSettings: artist --help {group}=NAME\n"


def _overview(parts: dict[str, tuple[str, str]], fields: dict[str, str]) -> str:
    rows = {group: f"{text} ({len(_files(group))})" for group, (_, text) in parts.items()}
    more = {"GROUP": "choices of a part", "GROUP=NAME": "its settings", ", ".join(fields): "settings beside"}
    return (
        f"{_HEAD}\nParts: group=NAME chooses one\n{_list(rows)}\nartist --help ...\n{_list(more)}\n{_OPTIONS}"
    )


def _settings(group: str, choice: str, files: dict[str, Path]) -> str:
    """Return the file of a choice, and those that it begins from, without what it replaces."""
    texts, names, replaced = list[str](), [choice], set[str]()
    for name in names:
        text = files[name].read_text(encoding="utf-8").strip()
        if match := _PARENTS.search(text):
            names += [one.strip() for one in match[1].split(",") if one.strip() in files]
        kept = {field: part for field, part in _fields(text).items() if field not in replaced}
        replaced |= kept.keys()
        begin = _FIELD.search(text)
        head = text[: begin.start()] if begin and name == choice else f"# as {group}={name}\n"
        texts.append(text + "\n" if group == "experiment" else head + "".join(kept.values()))
    return "\n".join(texts)


def narrow(text: str, width: int) -> str:
    """Return YAML with comments that reach beyond a width put above their settings, and wrapped.

    >>> print(narrow("lease_s: 3600  # seconds after which GPUs are offered", 30))
    # seconds after which GPUs are
    # offered
    lease_s: 3600
    """

    def wrapped(comments: str, margin: str) -> str:
        return textwrap.fill(
            comments,
            width,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def above(match: re.Match[str]) -> str:
        setting = match["setting"]
        if all(len(line) <= width for line in match[0].split("\n")):
            return match[0]
        comments = " ".join([match["comment"], *_MORE.findall(match["more"])])
        margin = setting[: len(setting) - len(setting.lstrip())]
        return f"{wrapped(comments, margin + '# ')}\n{setting}"

    def prose(match: re.Match[str]) -> str:
        lines = match[0].split("\n")
        if all(len(line) <= width for line in lines):
            return match[0]
        return wrapped(" ".join(line.removeprefix(match["margin"]) for line in lines), match["margin"])

    return _SETTING.sub(above, _PROSE.sub(prose, text))


def _fields(text: str) -> dict[str, str]:
    """Return the settings at the top of a file, each with its lines, without those for Hydra."""
    starts = [match.start() for match in _FIELD.finditer(text)]
    pieces = (text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    named = {piece.partition(":")[0]: piece.strip() + "\n" for piece in pieces}
    return {name: piece for name, piece in named.items() if name not in ("defaults", "hydra", "_convert_")}


def _files(group: str, folders: Sequence[Path] = ()) -> dict[str, Path]:
    shipped = data_path("topologies") if group == "topology" else data_path("conf", group)
    places = [shipped, *(folder / group for folder in folders)]
    return {path.stem: path for place in places for path in place.glob("*.yaml")}


def _list(rows: dict[str, str]) -> str:
    """Return names with their texts beside them, as wide as the terminal."""
    width = min(_WIDEST, terminal_width() or _USUAL)
    indent = max(map(len, rows)) + 4
    return "".join(
        textwrap.fill(f"  {name:{indent - 4}}  {text}", width, subsequent_indent=" " * indent) + "\n"
        for name, text in rows.items()
    )
