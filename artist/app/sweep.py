"""A sweep: its points, composed one after another, run by a launcher, each reported when it ends."""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from artist.app.composing import SweepWanted, without_hydra
from artist.app.launchers import Lost, launcher
from artist.errors import InputError
from artist.run.lock import LOCKS, remove_unheld
from artist.run.point import Outcome, Point, Request, is_checked, run_point
from artist.run.user_folder import as_arguments, python_files
from artist.run.workers import held

_AGAIN = "the same command tries it again, and repeats nothing that is finished"
_FOLDER = "${artist.run_key:}"  # hydra.sweep.subdir of conf/config.yaml
VARIANT = "variant"  # named lists of settings, whose runs are compared with each other
_ONE_VARIANT = "a list of settings of a run, key=value, with one value each"
_OF_SWEEPS = ("hydra", "output", "experiment", VARIANT)
_MAX_KINDS = 64
_SOON_S = 10.0
_MAX_POINTS = 100_000
_UNHEEDED: dict[str, object] = {  # settings of Hydra, with their values in conf/config.yaml and Hydra
    "callbacks": {"sweep": {"_target_": "artist.app.composing.Leave"}},
    "job.env_set": {},
    "job.chdir": False,
    "output_subdir": None,
    "sweeper.max_batch_size": None,
    "sweeper._target_": "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
}


def _check_heeded(settings: DictConfig) -> None:
    """Refuse settings of Hydra that have no effect on this sweep."""
    for name, usual in _UNHEEDED.items():
        setting = OmegaConf.select(settings, name)
        if setting not in (None, usual):
            what = "has no effect on a sweep"
            plain = OmegaConf.to_container(setting) if isinstance(setting, DictConfig) else setting
            raise InputError(what, where=f"hydra.{name}", found=plain, allowed="leave it out")


def _check_number(overrides: Sequence[Override]) -> None:
    """Refuse no points, and more than can be listed in a second, before they are listed."""
    points = 1.0
    for override in overrides:
        values = override.value()
        if not override.is_sweep_override():
            continue
        if isinstance(values, RangeSweep):
            start, stop, step = (float(number or 0) for number in (values.start, values.stop, values.step))
            count = (stop - start) / (step or 1)
        elif override.is_discrete_sweep():
            count = float(sum(1 for _ in override.sweep_string_iterator()))
        else:
            raise _refusal(override, "no list of values", "values, a,b,c, or range(FROM,TO)")
        if count <= 0:
            raise _refusal(override, "a sweep over no values", "such as range(0,3)")
        points *= count
        if not points <= _MAX_POINTS:
            raise _refusal(override, f"a sweep of more than {_MAX_POINTS:,} points", "fewer; split the sweep")


def _refusal(override: Override, what: str, allowed: str) -> InputError:
    return InputError(what, where=override.get_key_element(), found=override.input_line, allowed=allowed)


def run_sweep(wanted: SweepWanted, request_of: Callable[[DictConfig], Request | Outcome]) -> list[Point]:
    """Run all points of a sweep, print a line as each ends, and return them in their order.

    Parameters
    ----------
    request_of
        Returns the request of a point's configuration, or the outcome of one that cannot be resolved.
    """
    config = wanted.config
    _check_heeded(config.hydra)
    parser = OverridesParser.create(config_loader=wanted.loader)
    params = [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items()]
    overrides = parser.parse_overrides([*params, *config.hydra.overrides.task])
    _check_number(overrides)
    points = [tuple(point) for point in BasicSweeper.split_arguments(overrides, None)[0]]
    variants = OmegaConf.select(config, VARIANT)
    if isinstance(variants, DictConfig):
        points = with_variants(points, OmegaConf.to_container(variants), parser)
    composer = Composer(wanted.loader, config, parser)
    composer.check(points)
    folder = Path(config.hydra.sweep.dir)
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "multirun.yaml"
    before_s = record.stat().st_mtime if record.exists() else math.inf
    OmegaConf.save(config, record)
    swept = {VARIANT, *(override.get_key_element() for override in overrides if override.is_sweep_override())}
    folders: dict[int, Path] = {}
    modules: dict[int, list[Path]] = {}
    progress = _Progress(points, swept, shown=config.output.progress is not False)

    def requests() -> Iterator[tuple[int, Request]]:
        for number, point in enumerate(points):
            with held():  # an interruption while a part is made would change the run's key
                request = request_of(composer.composed(number, point))
            folders[number] = request.folder
            if isinstance(request, Outcome):
                progress.end(number, request, 0.0)
                continue
            modules[number] = python_files(request.user_folders, request.config)
            words = (*as_arguments(request.user_folders), *point)
            request = replace(request, overrides=words)
            if is_checked(request):
                yield number, request
            else:
                progress.end(number, run_point(request), 0.0)

    try:
        with closing(launcher(config)(_some_made_first(requests()))) as results:
            for number, (result, wall_s) in results:
                progress.end(number, _outcome(result, folders[number]), wall_s)
    finally:
        remove_unheld(Path(config.output.dir).expanduser() / LOCKS)
    progress.changed(modules, before_s)
    return [Point(point, progress.ended[number]) for number, point in enumerate(points)]


class _Progress:
    """Outcomes of the points that have ended, each with its line on stderr."""

    def __init__(self, points: Sequence[Sequence[str]], swept: set[str], *, shown: bool) -> None:
        self.ended: dict[int, Outcome] = {}
        self._points, self._swept, self._shown = points, swept, shown
        self._causes: dict[str, str] = {}
        self._start_s = time.monotonic()

    def end(self, number: int, outcome: Outcome, wall_s: float) -> None:
        """Take the outcome of a point, and print its line, with a cause of failure that is new."""
        self.ended[number] = outcome
        left = _left(
            time.monotonic() - self._start_s, len(self._run_now), len(self._points) - len(self.ended)
        )
        ending, place = _ending(outcome, wall_s) + left, f"{number + 1}/{len(self._points)}"
        if outcome.message:
            first = self._causes.setdefault(outcome.message, place)
            ending += f", as {first}" if first != place else f"\n{outcome.message}"
        overrides = self._points[number]
        shown = [text for text in overrides if text.partition("=")[0] in self._swept] or overrides
        self._print(f"{place} {' '.join(shown)}: {ending}")

    def changed(self, modules: Mapping[int, Sequence[Path]], before_s: float) -> None:
        """Print the user's modules of the runs done now that are newer than the sweep before."""
        with suppress(OSError):
            used = {path for number in self._run_now for path in modules[number]}
            names = [os.path.relpath(path) for path in sorted(used) if path.stat().st_mtime > before_s]
            if names:
                self._print(f"{', '.join(names)}: changed since the sweep before; runs that use it are new")

    @property
    def _run_now(self) -> list[int]:
        return [number for number, outcome in self.ended.items() if outcome.status == "finished"]

    def _print(self, text: str) -> None:
        if self._shown:
            with suppress(OSError):  # `artist -m ... 2>&1 | head`
                print(text, file=sys.stderr, flush=True)


def _some_made_first(todo: Iterator[tuple[int, Request]]) -> Iterator[tuple[int, Request]]:
    """Yield points, the first once some seconds or all are composed: bad input shows first."""
    end_s = time.monotonic() + _SOON_S
    ahead = []
    for point in todo:
        ahead.append(point)
        if time.monotonic() > end_s:
            break
    yield from ahead
    yield from todo


def with_variants(
    points: Sequence[tuple[str, ...]], variants: Any, parser: OverridesParser
) -> list[tuple[str, ...]]:
    """Return the overrides of each point under each variant, whose settings replace those of the point.

    A variant that chooses a part, such as `policy=fifo`, replaces all settings of that part.

    Parameters
    ----------
    variants
        Lists of settings by name; anything but a mapping leaves the points as they are.

    Raises
    ------
    InputError
        If a name or a setting is none.
    """
    if not isinstance(variants, Mapping) or not variants:
        return list(points)
    keys = {text: parser.parse_override(text).get_key_element() for point in points for text in point}
    varied: dict[tuple[str, ...], None] = {}
    for name, settings in variants.items():
        replaced = _keys_of(name, settings, parser)
        for point in points:
            kept = [text for text in point if not any(_is_within(keys[text], key) for key in replaced)]
            varied[*kept, *settings, f'{VARIANT}="{name}"'] = None
    return list(varied)


def _keys_of(name: object, settings: Any, parser: OverridesParser) -> list[str]:
    """Return the keys that a variant sets."""
    where = f"{VARIANT}, {name}"
    if not str(name).strip() or not str(name).isprintable() or {*'"\\$'} & {*str(name)}:
        raise InputError("no name", where=where, found=name, allowed='text without ", \\ and $')
    if not isinstance(settings, list):
        raise InputError("no variant", where=where, found=settings, allowed=_ONE_VARIANT)
    keys = []
    for text in settings:
        try:
            override = parser.parse_override(str(text))
        except HydraException as error:
            raise InputError("no setting", where=where, found=text, allowed=_ONE_VARIANT) from error
        key = override.get_key_element().lstrip("+~")
        if override.is_sweep_override() or key.replace("/", ".").split(".")[0] in _OF_SWEEPS:
            raise InputError("no setting", where=where, found=text, allowed=_ONE_VARIANT)
        keys.append(key)
    return keys


def _is_within(key: str, other: str) -> bool:
    key = key.lstrip("+~")
    return key == other or key.startswith((f"{other}.", f"{other}@"))


class Composer:
    """Composes points as Hydra does, which takes 0.15 s: once for those that differ in plain values alone."""

    def __init__(self, loader: Any, config: DictConfig, parser: OverridesParser) -> None:
        self._loader, self._config = loader, config
        self._kinds: dict[tuple[str, ...], DictConfig] = {}
        self._chooses: Callable[[str], bool] = cache(lambda key: bool(loader.get_group_options(key)))
        self._parsed: Callable[[str], Override] = cache(lambda text: parser.parse_overrides([text])[0])

    def kind(self, overrides: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return a point's overrides that choose its composition, and its plain values by key."""
        kind, values = [], {}
        for text in overrides:
            override = self._parsed(text)
            key, value = override.key_or_group, override.value()
            chooses = not isinstance(value, dict) and self._chooses(key)
            plain = text.startswith(f"{key}=") and not key.startswith("hydra") and not isinstance(value, dict)
            if plain and not chooses and "${" not in text:
                values[key] = value
            elif not chooses and any(_touches(key, other) for other in values):
                return tuple(overrides), {}  # contradicts an earlier value
            kind.append(key if key in values else text)
        return tuple(kind), values

    def check(self, points: Sequence[Sequence[str]]) -> None:
        """Compose one point per kind, so that errors show at once instead of after hours."""
        for point in {self.kind(point)[0]: point for point in points}.values():
            self.composed(0, point)

    def composed(self, number: int, overrides: Sequence[str]) -> DictConfig:
        """Return the configuration of a point, valid until the next is composed."""
        kind, values = self.kind(overrides)
        config = self._kinds.get(kind)
        if config is None:
            config = self._loader.load_sweep_config(self._config, list(overrides))
            with read_write(config), open_dict(config):
                config.hydra.job.id = config.hydra.job.num = number
            if self._values_alone(config):
                if len(self._kinds) >= _MAX_KINDS:
                    self._kinds.clear()
                self._kinds[kind] = config
            else:
                HydraConfig.instance().set_config(config)
        for key, value in values.items():
            OmegaConf.update(config, key, value)
        return config

    def _values_alone(self, config: DictConfig) -> bool:
        """Return whether the configuration is independent of the point's number and its overrides' text."""
        sweep = OmegaConf.to_container(config.hydra.sweep, resolve=False)
        return (
            isinstance(sweep, dict)
            and sweep["subdir"] == _FOLDER
            and "${hydra" not in OmegaConf.to_yaml(without_hydra(config))
        )


def _touches(key: str, other: str) -> bool:
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")


def _outcome(result: Outcome | Lost, folder: Path) -> Outcome:
    from artist.recording.names import SUMMARY

    if isinstance(result, Lost):
        return Outcome("failed", folder, message=f"lost: {result.why}\n  {_AGAIN}")
    if result.summary and not (folder / SUMMARY).is_file():
        why = f"it was finished on another machine, which does not share {folder.parent}"
        return Outcome("failed", folder, message=f"lost: {why}\n  {_AGAIN}")
    return result


def _ending(outcome: Outcome, wall_s: float) -> str:
    if outcome.status == "finished":
        return f"done in {wall_s:.1f} s"
    return "lost" if outcome.message.startswith("lost: ") else outcome.status.replace("_", " ")


def _left(passed_s: float, run_now: int, more: int) -> str:
    """Return the time that the other points take if they take as long; "" below ten seconds.

    >>> _left(240.0, 3, 5), _left(4.0, 1, 3), _left(0.0, 0, 4)  # 240 s / 3 x 5 = 400 s; 12 s; none has run
    ('; about 7 min left', '; about 12 s left', '')
    """
    left_s = passed_s / run_now * more if run_now else 0.0
    if left_s < _SOON_S:
        return ""
    unit, scale = ("s", 1) if left_s < 90 else ("min", 60) if left_s < 5400 else ("h", 3600)
    return f"; about {left_s / scale:.0f} {unit} left"
