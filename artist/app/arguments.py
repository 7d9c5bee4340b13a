"""Arguments of a command line, quoted for Hydra's parser."""

import os
import re
from collections.abc import Sequence

from artist.data import data_path
from artist.errors import InputError

_PIECE = re.compile(r"""'[^']*'|"[^"]*"|(?:[^\s,\[\]{}()'":]|:(?!\s)|[ ](?=[^\s,\]})]))+""")
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
    """
    return [_word(text) if "=" in text and not text.startswith("-") else text for text in arguments]


def _word(argument: str) -> str:
    key, _, value = argument.partition("=")
    if not re.match(r"[+~]{0,2}[^\W\d]", key):
        raise InputError("no name before `=`", where="command line", found=argument, allowed="key=value")
    name = key.lstrip("+~")
    group = name in ("topology", "hydra/launcher") or (
        name.isidentifier() and data_path("conf", name).is_dir()
    )
    if group and _NO_NAME.fullmatch(value) and (name, value) != ("experiment", "null"):
        what = "a group takes the name of one choice"
        raise InputError(what, where=name, found=value, allowed=f"{name}=NAME; -m {name}=A,B for a sweep")
    return f"{key}={_PIECE.sub(lambda piece: _quoted(piece[0]), value)}"


def _quoted(piece: str) -> str:
    if piece[0] in "'\"" or not _ODD.search(piece):
        return piece
    return f'"{os.path.expanduser(piece)}"'
