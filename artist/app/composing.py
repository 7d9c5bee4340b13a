"""Composition by Hydra, without its unneeded copies, files and second compositions."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hydra._internal.hydra
import omegaconf._utils
import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.hydra import Hydra
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import configure_log
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from artist.data import Kind, data_path
from artist.errors import InputError

_FIELD = re.compile(r"[+~]{0,2}(?!hydra\.|output\.)\w+\.")
_yaml_loader = omegaconf._utils.get_yaml_loader


def composed(overrides: Sequence[str] = (), config: str = "config") -> dict[str, Any]:
    """Return the resolved configuration of a file in conf/, less `hydra`, with overrides of the user."""
    with composing():
        composed = compose(config, list(overrides))
    return plain(composed)


def _shipped(kind: Kind, name: str) -> str:
    """Return the path of a file that ships, such as `${artist.shipped:traces,tiny.csv}`."""
    return str(data_path(kind, name))


OmegaConf.register_new_resolver("artist.shipped", _shipped, replace=True)


def plain(config: DictConfig) -> dict[str, Any]:
    """Return a configuration as plain mappings, resolved; raise OmegaConf's error for a missing value."""
    raw: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    return {str(key): value for key, value in raw.items()}


def without_hydra(config: DictConfig) -> DictConfig:
    """Return a configuration without Hydra's own part."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def with_topology(resolved: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a configuration whose topology has the name of its file unless it has its own."""
    topology = resolved.get("topology")
    if isinstance(topology, dict):
        topology.setdefault("name", name)
    elif topology is not None:
        allowed = "fields as in topologies/dgx_h100_3tier.yaml"
        raise InputError("not a mapping", where=f"topology {name}", found=topology, allowed=allowed)
    return resolved


@contextmanager
def composing() -> Iterator[None]:
    """Let Hydra compose from conf/, also in a program that uses Hydra for its own configuration."""
    register_topologies()
    _check_files()
    hydra, settings = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    GlobalHydra.instance().clear()
    _read_fast()
    try:
        with initialize_config_dir(str(data_path("conf")), version_base="1.3"):
            yield
    finally:
        del ConfigStore.__deepcopy__  # type: ignore[attr-defined]
        omegaconf._utils.get_yaml_loader = _yaml_loader
        GlobalHydra.instance().hydra, HydraConfig.instance().cfg = hydra, settings


class _Topology(ConfigNode):
    """A file of topologies/, read only when chosen: reading them all takes longer than composing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name, OmegaConf.create(), "topology", package=None, provider="artist")
        self.path = path

    def __copy__(self) -> ConfigNode:
        """Read the file: Hydra copies a node only when it is chosen."""
        content: Any = OmegaConf.load(self.path)
        return ConfigNode(self.name, content, self.group, self.package, self.provider)


def register_topologies() -> None:
    """Register each file of topologies/ as a choice of the group `topology`."""
    group = ConfigStore.instance().repo.setdefault("topology", {})
    group.update({path.name: _Topology(path) for path in data_path("topologies").glob("*.yaml")})


def _read_fast() -> None:
    """Let Hydra read without copies, and by libyaml where it was built: ten times as fast."""
    ConfigStore.__deepcopy__ = _itself  # type: ignore[attr-defined]
    if yaml.__with_libyaml__:
        omegaconf._utils.get_yaml_loader = _fast_loader


@cache
def _fast_loader() -> type:
    """Return OmegaConf's loader on libyaml's parser."""
    return type("FastLoader", (yaml.CSafeLoader, _yaml_loader()), {})


def _itself(store: ConfigStore, _: object) -> ConfigStore:
    """Return the store itself, which Hydra would copy whole for every list of choices."""
    return store


def prefer_our_defaults() -> None:
    """Drop plug-ins' defaults that conf/hydra/launcher replaces; Hydra would treat them as schemas."""
    Plugins.instance()  # creating it registers them
    theirs = ConfigStore.instance().repo["hydra"]["launcher"]
    for path in data_path("conf", "hydra/launcher").glob("*.yaml"):
        theirs.pop(path.name, None)


class _CheckedFiles(FileConfigSource):
    """Files of the configuration; those of users are checked before OmegaConf copies their aliases."""

    def available(self) -> bool:
        """Return True; refuse a folder that does not exist, of which Hydra only warns."""
        if not super().available():
            what = "no such folder"
            raise InputError(what, where="hydra.searchpath", found=self.path, allowed="a folder")
        return True

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file."""
        path = Path(self.path, self._normalize_file_name(config_path))
        if path.is_file() and not path.is_relative_to(data_path("conf")):
            from netmodels.inputs.schema import check_yaml  # with pydantic, which help does without

            check_yaml(path, "configuration")
        try:
            return super().load_config(config_path)
        except ValueError as error:  # such as a number of 5,000 digits
            allowed = "the configuration file, in YAML"
            raise InputError("not YAML", where=str(path), found=str(error), allowed=allowed) from error


class _ComposingOnce(Hydra):
    """Composes once what decides between a run and a sweep."""

    _composed: DictConfig | Exception | None = None

    def get_mode(self, config_name: str | None, overrides: list[str]) -> Any:
        """Return `hydra.mode`; a wrong configuration is reported when it runs."""
        try:
            self._composed = composed = self.compose_config(config_name, overrides, RunMode.RUN)
        except Exception as error:
            if any({",", "("} & set(override) for override in overrides):  # perhaps a sweep
                return super().get_mode(config_name, overrides)
            self._composed = error
            return None
        return composed.hydra.mode

    def compose_config(
        self, config_name: str | None, overrides: list[str], run_mode: RunMode, *args: Any, **kwargs: Any
    ) -> DictConfig:
        """Compose, unless this run was composed already.

        A sweep's own configuration has the first choice of all groups, which may lack a field of the swept
        ones (`policy=fifo,srtf policy.placement=random`): then fields are left to the points.
        """
        composed, self._composed = self._composed, None
        if isinstance(composed, Exception) and run_mode == RunMode.RUN:
            raise composed
        if run_mode == RunMode.MULTIRUN:
            try:
                return super().compose_config(config_name, overrides, run_mode, *args, **kwargs)
            except (HydraException, OmegaConfBaseException):
                chosen = [override for override in overrides if not _FIELD.match(override)]
                composed = super().compose_config(config_name, chosen, run_mode, *args, **kwargs)
                task = [override for override in overrides if not override.startswith("hydra")]
                composed.hydra.overrides.task = task
                return composed
        if not isinstance(composed, DictConfig) or composed.hydra.verbose:
            return super().compose_config(config_name, overrides, run_mode, *args, **kwargs)
        configure_log(composed.hydra.hydra_logging)
        return composed


class SweepWanted(BaseException):
    """Leaves Hydra with the configuration of a sweep; of an `Exception` Hydra only warns."""

    def __init__(self, config: DictConfig, loader: ConfigLoader) -> None:
        self.config, self.loader = config, loader


class Leave(Callback):
    """Leaves Hydra when it would start a sweep; `hydra.callbacks` in conf/config.yaml names it.

    Hydra's own sweeper composes every point twice, and its launchers raise when a worker is lost.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Raise `SweepWanted`, which the command catches."""
        raise SweepWanted(config, GlobalHydra.instance().config_loader())


def sweep_config(overrides: Sequence[str]) -> tuple[DictConfig, ConfigLoader]:
    """Return the configuration of a sweep and its loader, while `composing`."""
    loader, overrides = GlobalHydra.instance().config_loader(), [*overrides, "hydra.mode=MULTIRUN"]
    return _ComposingOnce("artist", loader).compose_config("config", overrides, RunMode.MULTIRUN), loader


def compose_once() -> None:
    """Patch Hydra to compose once and without copies; importing this module patches nothing."""
    _read_fast()
    hydra._internal.hydra.Hydra = _ComposingOnce  # type: ignore[misc]
    _check_files()


def _check_files() -> None:
    Plugins.instance()  # registers Hydra's own sources of files
    SourcesRegistry.instance().types["file"] = _CheckedFiles
