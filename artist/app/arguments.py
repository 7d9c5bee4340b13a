"""Arguments of a command line, quoted for Hydra's parser."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from artist.data import data_path
from artist.errors import InputError

_QUOTED = r"""'[^']*'|"[^"]*\""""
_CHARACTER = r"""[^\s,\[\]{}()'":]|:(?!\s)"""
_PIECE = re.compile(rf"""{_QUOTED}|(?:{_CHARACTER})(?:{_CHARACTER}|[ ](?=[^\s,\]}})]))*""")
_NESTED = r"[\[{](?:[^\[\]{}]|[\[{](?:[^\[\]{}]|[\[{][^\[\]{}]*[\]}])*[\]}])*[\]}]"  # to three levels
_ITEM = re.compile(rf"{_QUOTED}|[\w.@/+~-]+={_NESTED}|{_PIECE.pattern}")  # key=[...] as a whole
_ODD = re.compile(r"""[^\w\s/\\+.$%*@?|:=-]""", re.ASCII)  # characters that the parser accepts only in quotes

_NO_NAME = re.compile(r"\[.*|.*\.yaml|null|[\d.+-]+")  # no choice of a group


def words(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `~` expanded, as a shell does, and names that Hydra cannot read in quotes.

    Raises
    ------
    InputError
        If a group gets something other than a name, or nothing precedes a `=`.

    Examples
    --------
    >>> words(["-m", "workload.path=a.csv,Bücher.csv", "~policy"])
    ['-m', 'workload.path=a.csv,"Bücher.csv"', '~policy']
    >>> words(["+variant.ten=[cluster.more=10]"])
    ['+variant.ten=["cluster.more=10"]']
    """
    for text in arguments:
        if not text.isascii() and text != text.encode("utf-8", "replace").decode():
            what, allowed = "not text in UTF-8", "a file, or a link to it, with a name in UTF-8"
            raise InputError(what, where="command line", found=text, allowed=allowed)
    return [_word(text) if "=" in text and not text.startswith("-") else text for text in arguments]


def fields(overrides: Iterable[str]) -> frozenset[str]:
    """Return the fields that overrides set."""
    return frozenset(override.lstrip("+").partition("=")[0] for override in overrides)


def _word(argument: str) -> str:
    key, _, value = argument.partition("=")
    if not re.match(r"[+~]{0,2}[^\W\d]", key):
        raise InputError("no name before `=`", where="command line", found=argument, allowed="key=value")
    name = key.lstrip("+~")
    if name == "topology" and Path(value).suffix and os.path.isfile(value):
        _refuse_file(Path(value))
    group = name in ("topology", "hydra/launcher") or (
        name.isidentifier() and data_path("conf", name).is_dir()
    )
    if group and _NO_NAME.fullmatch(value) and (name, value) != ("experiment", "null"):
        what = "a group takes the name of one choice"
        raise InputError(what, where=name, found=value, allowed=f"{name}=NAME; -m {name}=A,B for a sweep")
    inside = value[:1] in ("[", "{")  # a list or mapping, where no function has arguments with names
    pattern = _ITEM if inside else _PIECE
    return f"{key}={pattern.sub(lambda piece: _quoted(piece[0], inside), value)}"


def _refuse_file(path: Path) -> NoReturn:
    """Raise InputError for a file as a topology: its fault if it is none, else how to name it."""
    from netmodels.api import load_topology

    load_topology(path)
    allowed = f"--config-dir FOLDER topology={path.stem}, with the file at FOLDER/topology/{path.stem}.yaml"
    what = "a group takes the name of one choice"
    raise InputError(what, where="topology", found=str(path), allowed=allowed)


def _quoted(piece: str, inside: bool) -> str:
    if piece[0] in "'\"" or not (_ODD.search(piece) or (inside and "=" in piece)):
        return piece
    text = os.path.expanduser(piece).replace('"', '\\"')
    return f'"{text}"'
