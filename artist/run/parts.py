"""Parts made from the configuration, which names them by `_target_`; errors in words."""

import inspect
from collections.abc import Mapping, Sequence
from pydoc import locate
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from pydantic import ValidationError

from artist.bad_input.error_source import own_lines
from artist.bad_input.explain import chain, from_call, from_validation
from artist.errors import InputError

_TAKES: dict[str, tuple[str, ...]] = {  # arguments of the methods of parts
    "decide": ("view",),
    "table": (),
    "apply": ("table", "cluster_gpus"),
    "series": (),
    "delay_ns": ("kind", "spec"),
    "factors": ("jobs",),
    "performance": ("truth",),
    "first_delays_ns": ("jobs", "believed", "cluster"),
    "iteration": ("profile", "shape", "fabric", "system"),
    "ns": ("spec", "allocation", "cluster", "compute_ns"),
    "touched": ("changed", "running"),
    "coupled": ("prices", "running", "alone"),
}


def part(node: Mapping[str, Any], field: str, methods: tuple[str, ...]) -> Any:
    """Make the part that a `_target_` names.

    Parameters
    ----------
    node
        `_target_` and the parameters of its class.
    field
        The node's path in the configuration.
    methods
        Methods of every part of this group.

    Raises
    ------
    InputError
        If there is no such class, a parameter is not allowed, or a method is missing.
    """
    try:
        instance = instantiate(OmegaConf.create({"_": {**node, "_convert_": "all"}})["_"])
    except Exception as error:  # Hydra's own, mostly; of an odd `_partial_` or `_args_` any
        raise _in_words(error, node, field) from error
    _check_numbers(instance, node, field)
    lacking = [name for name in methods if not callable(getattr(instance, name, None))]
    if lacking:
        what = f"not a part of the group {field.split('.')[0]}: it has no method `{lacking[0]}`"
        allowed = f"a class with {', '.join(methods)}"
        raise InputError(what, where=f"{field}._target_", found=node["_target_"], allowed=allowed)
    for name in methods:
        _check_arguments(instance, name, node, field)
    return instance


def parts(nodes: Sequence[Mapping[str, Any]], field: str, methods: tuple[str, ...]) -> list[Any]:
    """Make a list of parts."""
    return [part(node, f"{field}[{place}]", methods) for place, node in enumerate(nodes)]


def _check_numbers(instance: Any, node: Mapping[str, Any], field: str) -> None:
    """Refuse true and false as numbers: pydantic takes them as 1 and 0."""
    for name, value in node.items():
        held = getattr(instance, name, value)
        if isinstance(value, Mapping):
            _check_numbers(held, value, f"{field}.{name}")
        elif isinstance(value, bool) and type(held) in (int, float):
            raise InputError("wrong value", where=f"{field}.{name}", found=value, allowed="a number")


def _check_arguments(instance: Any, name: str, node: Mapping[str, Any], field: str) -> None:
    """Refuse a method that does not accept the program's arguments."""
    try:
        signature = inspect.signature(getattr(instance, name))
    except ValueError:  # written in C
        return
    try:
        signature.bind(*_TAKES[name])
    except TypeError:
        allowed = f"{name}({', '.join(('self', *_TAKES[name]))})"
        call = f"{node['_target_']}.{name}{signature}"
        what = f"`{name}` takes other arguments"
        raise InputError(what, where=field, found=call, allowed=allowed) from None


def _in_words(error: Exception, node: Mapping[str, Any], field: str) -> InputError:
    """Return an error of a part as an InputError."""
    where, inner = _innermost(str(error), node, field)
    target = str(inner["_target_"])
    listed = tuple(str(name) for name in inner if not str(name).startswith("_"))
    for link in chain(error):
        if isinstance(link, InputError):
            return link
        if isinstance(link, ValidationError):
            names = _parameters(target) or listed
            return from_validation(link, where, model=locate(target), names=names)  # type: ignore[arg-type]
        if isinstance(link, TypeError):
            explained = from_call(link, where, _parameters(target))
            if explained is not None:
                return explained
    cause = [link for link in chain(error) if not isinstance(link, InstantiationException)]
    if "Expected a callable target" in str(error):
        allowed = "module.Class"
        return InputError("not a class", where=f"{where}._target_", found=target, allowed=allowed)
    if not cause:  # Hydra itself refuses
        reason = " ".join(str(error).split()).partition(". ")[0]
        return InputError(f"cannot be made: {reason}", where=where, found=target)
    reason = f"{type(cause[-1]).__name__}: {cause[-1]}"
    lines = own_lines(cause[-1], dict(node))
    if "locating target" in str(error) or "Error loading" in str(error):
        if lines:  # the module is there, and fails when it is imported
            where = f"{where}._target_"
            return InputError(f"its module cannot be imported: {reason}", where=where, found=lines)
        allowed = "module.Class, where the module is installed or in the folder of --config-dir"
        what = f"no such class: {cause[-1]}"
        return InputError(what, where=f"{where}._target_", found=target, allowed=allowed)
    at = f", at {lines}" if lines else ""
    return InputError(f"cannot be made: {reason}{at}", where=where, found=target)


def _innermost(message: str, node: Mapping[str, Any], field: str) -> tuple[str, Mapping[str, Any]]:
    """Return the field and the node of the part inside a part that Hydra complains of."""
    _, _, key = message.partition("full_key: ")
    at: Mapping[str, Any] = node
    path: list[str] = []
    for name in key.split()[0].split(".")[1:] if key else []:
        below = at.get(name)
        if not isinstance(below, Mapping) or "_target_" not in below:
            break
        at, path = below, [*path, name]
    return ".".join([field, *path]), at


def _parameters(target: str) -> tuple[str, ...]:
    """Return the names that a class takes; none if it takes any."""
    try:
        parameters = inspect.signature(locate(target)).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):  # no class, or one written in C
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
