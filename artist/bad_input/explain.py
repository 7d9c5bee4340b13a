"""Put the errors of pydantic, Hydra, OmegaConf, YAML and the file system into our form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from traceback import walk_tb
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ArgsKwargs

from artist.bad_input.renamed import with_replacement
from artist.errors import InputError, out_of_memory
from netmodels.inputs.naming import allowed_names, in_words

_TAGS = re.compile(r"[-\[(]|^(int|float|str|bool|none|dict|list|tuple)$")  # branches of a union, not fields
_HYDRAS_WORDS = (  # pattern, whose group `found` is shown; where; what; allowed
    (
        r"(?:Ambiguous value for argument|Sweep parameters) '(?P<found>(?P<key>[^'=]*)[^']*)'",
        *("{key}", "several values without -m"),
        "-m for a sweep over these values, or key=[a,b] for a list",
    ),
    (
        r"Could not override '(?P<key>(?P<group>[^'@]+)@[^']*)'",
        *("{key}", "a group has its place in the configuration", "{group}=NAME"),
    ),
    (
        r"Could not override '(?P<key>[^']+)'\. No match in the defaults list",
        *("{key}", "not a group of the configuration", "+{key}=..."),
    ),
    (
        r"Could not delete (?:from config\. )?'(?P<key>[^']*)'",
        *("~{key}", "nothing to delete", "~FIELD of those that `artist --cfg job` shows"),
    ),
    (
        r"Invalid defaults list in '(?P<file>[^']+)'",
        *("{file}.yaml", "its defaults are no list", "defaults: [base, _self_]"),
    ),
    (r"Config group override.* must be a string", "command line", "a group takes the name of one choice", ""),
    (r"range\(\) arg", "command line", "an empty range", "such as range(0,3)"),
    (
        r"(?:In '(?P<file>[^']+)': )?Could not (?:find|load) '(?P<found>[^']+)'",
        *("{file}.yaml", "no such file of the configuration"),
        "a file beside it, without .yaml, as in defaults: [base, _self_]",
    ),
)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, outermost first."""
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and not any(at is one for one in seen):
        seen.append(at)
        yield at
        at = at.__cause__ or at.__context__


def two_lines(error: InputError) -> str:
    """Return the message as exactly two lines; of an earlier version's setting it names the replacement."""
    first, _, rest = str(with_replacement(error)).partition("\n  ")
    return f"{_one_line(first)}\n  {_one_line(rest) or 'allowed: see `artist --help` and README.md'}"


def from_validation(
    error: ValidationError,
    where: str = "",
    *,
    model: type | None = None,
    names: tuple[str, ...] = (),
) -> InputError:
    """Explain the most specific problem that pydantic found.

    Parameters
    ----------
    where
        Field of the configuration that was judged; the path inside it is appended.
    model
        The record that was judged, if it is known, to name its fields.
    names
        Fields that are allowed, where the model is not known.
    """
    details = error.errors(include_url=False)
    deepest = max(len(detail["loc"]) for detail in details)
    chosen = next(detail for detail in details if len(detail["loc"]) == deepest)
    kind = chosen["type"]
    unknown = kind in ("extra_forbidden", "unexpected_keyword_argument")
    path = _path(chosen["loc"], whole=unknown)
    field = ".".join([where] * bool(where) + [str(part) for part in path])
    if unknown:
        known = [name for name in _fields(model, path[:-1]) or names if name != path[-1]]
        allowed = allowed_names(path[-1], known) if known else "leave it out, or mend its spelling"
        return InputError("unknown option", where=field, found=path[-1], allowed=allowed)
    if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return InputError("option is missing", where=field, allowed="give it a value")
    if kind == "no_such_part":  # of a policy, named or given (artist.policies.parts.parameters)
        part = chosen["ctx"]["found"]
        allowed = allowed_names(part, chosen["ctx"]["allowed"])
        return InputError("no such part", where=field, found=part, allowed=allowed)
    if kind in ("value_error", "assertion_error"):
        text = str(chosen["ctx"]["error"])
        what, _, mend = text.partition("; ")
        return InputError(what, where=field, found=_concerned(_plain(chosen["input"]), text), allowed=mend)
    start = chosen["loc"][: len(path)]
    same = [d for d in details if (d["loc"][: len(path)], len(d["loc"])) == (start, deepest)]
    words = [in_words(detail["type"], detail["msg"]) for detail in same]
    allowed = " or ".join(dict.fromkeys([*words, *["null"] * _may_be_none(model, path)]))
    return InputError("wrong value", where=field, found=_plain(chosen["input"]), allowed=allowed)


def _path(loc: Sequence[int | str], *, whole: bool) -> list[int | str]:
    """Return the place of a problem without pydantic's tags; a name of the user's at its end if `whole`."""
    path = [part for part in loc if isinstance(part, int) or not _TAGS.search(part)]
    return [*path, loc[-1]] if whole and path[-1:] != [loc[-1]] else path


def from_call(error: TypeError, where: str, names: tuple[str, ...]) -> InputError | None:
    """Explain an unexpected or missing keyword of a plain class; None for other errors."""
    text = str(error)
    if match := re.search(r"unexpected keyword argument '(\w+)'", text):
        name = match.group(1)
        return InputError("unknown option", where=where, found=name, allowed=allowed_names(name, names))
    if match := re.search(r"missing \d+ required .*arguments?: (.+)", text):
        return InputError(f"option is missing: {match.group(1)}", where=where, allowed="give it a value")
    return None


def from_library(error: BaseException) -> InputError:
    """Explain an error of Hydra, OmegaConf, YAML or the file system from before a run."""
    for link in chain(error):
        if isinstance(link, InputError):
            return link
    # The most specific first.
    for explain in (_from_omegaconf, _from_hydra, _from_yaml, _from_system, _from_reading):
        for link in chain(error):
            explained = explain(link)
            if explained is not None:
                return explained
    return InputError(f"{type(error).__name__}: {_one_line(str(error))}", where="configuration")


def _from_hydra(error: BaseException) -> InputError | None:
    from hydra.errors import HydraException, MissingConfigException, OverrideParseException

    text = str(error)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, option = error.missing_cfg_file.rpartition("/")
        allowed = f"{allowed_names(option, error.options)}; your own: --config-dir FOLDER"
        return InputError("no such choice", where=group, found=option, allowed=allowed)
    if isinstance(error, OverrideParseException):
        allowed = "key=value; quote a value with special characters: 'key=\"a, b\"'"
        return InputError("cannot be read", where="command line", found=error.override, allowed=allowed)
    for pattern, where, what, allowed in _HYDRAS_WORDS:
        if match := re.search(pattern, text):
            named = match.groupdict("config")  # conf/config.yaml names the first files
            value = {"found": named["found"]} if "found" in named else {}
            return InputError(what, where=where.format(**named), allowed=allowed.format(**named), **value)
    if isinstance(error, HydraException):
        return InputError(_one_line(text), where="configuration")
    return None


def _from_omegaconf(error: BaseException) -> InputError | None:
    from omegaconf.errors import (
        ConfigAttributeError,
        ConfigKeyError,
        MissingMandatoryValue,
        OmegaConfBaseException,
    )

    if not isinstance(error, OmegaConfBaseException):
        return None
    where = str(error.full_key or "configuration")
    if isinstance(error, ConfigAttributeError | ConfigKeyError) and isinstance(error.parent_node, Mapping):
        names = [name for name in map(str, error.parent_node) if name != "hydra" and name[0] != "_"]
        root: Any = error.parent_node
        network = root._get_root().get("network") or {}
        if error.key in (network.get("system") or {}):
            allowed = f"did you mean 'network.system.{error.key}'?"
            return InputError("unknown option", where=where, found=error.key, allowed=allowed)
        allowed = allowed_names(error.key, names) or "none: this choice of the group has no options"
        return InputError("unknown option", where=where, found=error.key, allowed=allowed)
    if isinstance(error, MissingMandatoryValue):
        return InputError("a value must be given", where=where, found="???", allowed=f"{where}=VALUE")
    text = str(error.msg or error)
    if match := re.match(r"Interpolation key '([^']*)' not found", text):
        allowed = "the name of a field, such as ${seed}"
        return InputError("no field of that name", where=where, found=match.group(1), allowed=allowed)
    if text.startswith("Unexpected type annotation: Set"):  # [range(0,3)]; range(0,3),5
        allowed = "one of them, or values: a,b,c"
        return InputError("range, choice and glob stand alone", where="command line", allowed=allowed)
    if match := re.match(r"Cannot merge (Dict|List)Config with (Dict|List)Config", text):
        wanted = in_words(f"{match.group(2)}_type".lower(), "")
        return InputError("wrong value", where=where, found=match.group(1).lower(), allowed=wanted)
    return InputError(_one_line(text.partition("\n")[0]), where=where)


def _from_yaml(error: BaseException) -> InputError | None:
    from yaml import MarkedYAMLError

    if not isinstance(error, MarkedYAMLError):
        return None
    mark = error.problem_mark
    where = f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}" if mark else "configuration"
    return InputError("not YAML", where=where, found=error.problem, allowed="key: value, indented by spaces")


def _from_system(error: BaseException) -> InputError | None:
    if isinstance(error, MemoryError):
        return out_of_memory("configuration")
    if not isinstance(error, OSError):
        return None
    where = str(error.filename or "file system")
    if isinstance(error, FileExistsError | NotADirectoryError):
        return InputError("a file lies where a folder is needed", where=where, allowed="another place")
    reason = error.strerror or re.sub(r"\[Errno \d+\] ", "", str(error))
    return InputError(
        f"cannot be used: {reason.lower()}", where=where, allowed="a place that can be read and written"
    )


def _from_reading(error: BaseException) -> InputError | None:
    """Explain a configuration file that is not UTF-8 or inherits itself; Hydra's frames name it."""
    seen = [frame.f_locals for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, UnicodeDecodeError):
        files = (file for names in seen for file in names.values() if isinstance(file, TextIOWrapper))
        opened = [file.name for file in files]
        start = error.object[error.start : error.start + 8]
        where = opened[-1] if opened else "configuration"
        return InputError("not a text file", where=where, found=start, allowed="UTF-8")
    if isinstance(error, RecursionError):
        paths = [names["path"] for names in seen if "path" in names and "repo" in names]  # a defaults list
        where = f"{paths[-1]}.yaml" if paths else "configuration"
        return InputError("inherits itself", where=where, allowed="defaults that name other files")
    return None


def _fields(model: type | None, path: list[int | str]) -> tuple[str, ...]:
    """Return the field names of the record at a path inside a model; none if it is not a plain record."""
    at = _annotation(model, path)
    at = next((branch for branch in get_args(at) if isinstance(branch, type)), at)  # of `Power | None`
    return tuple(at.model_fields) if isinstance(at, type) and issubclass(at, BaseModel) else ()


def _may_be_none(model: type | None, path: list[int | str]) -> bool:
    return bool(path) and type(None) in get_args(_annotation(model, path))


def _annotation(model: type | None, path: list[int | str]) -> object:
    """Return the annotation at a path inside a record; None if it is not that of a field."""
    at: object = model
    for part in path:
        at = next((branch for branch in get_args(at) if isinstance(branch, type)), at)
        fields = getattr(at, "__pydantic_fields__", {})
        if part not in fields:
            return None
        at = fields[part].annotation
    return at


def _plain(value: object) -> object:
    """Return a record, or the arguments of a dataclass, as the user's mapping."""
    if isinstance(value, ArgsKwargs):
        return dict(value.kwargs or {})
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value


def _concerned(value: object, message: str) -> object:
    """Return the entries of a mapping that a message names; all entries if it names none."""
    if not isinstance(value, Mapping):
        return value
    words = set(re.findall(r"\w+", message))
    return {name: entry for name, entry in value.items() if name in words} or value


def _one_line(text: str) -> str:
    return " ".join(text.split())
