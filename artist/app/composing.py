"""Composition by Hydra, less what it copies, reads and composes for nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra._internal.hydra
import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import configure_log
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from artist.data import data_path
from artist.errors import InputError


def composed(overrides: Sequence[str] = (), config: str = "config") -> dict[str, Any]:
    """Return a resolved configuration, less `hydra`.

    Parameters
    ----------
    overrides
        As on the command line.
    config
        Name of the file in conf/.
    """
    with composing():
        found = compose(config, list(overrides))
    return plain(found)


def plain(config: DictConfig) -> dict[str, Any]:
    """Return a configuration as plain mappings, resolved; raise OmegaConf's error for what is missing."""
    raw: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    return {str(key): value for key, value in raw.items()}


def without_hydra(config: DictConfig) -> DictConfig:
    """Return what is ours of a configuration."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def with_topology(resolved: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a configuration whose topology, if it says no name, has that of its file.

    Raises
    ------
    InputError
        If the file is not a mapping.
    """
    topology = resolved.get("topology")
    if isinstance(topology, dict):
        topology.setdefault("name", name)
    elif topology is not None:
        allowed = "fields as in topologies/dgx_h100_3tier.yaml"
        raise InputError("not a mapping", where=f"topology {name}", found=topology, allowed=allowed)
    return resolved


@contextmanager
def composing() -> Iterator[None]:
    """Let Hydra compose from conf/, also in a program that uses Hydra for a configuration of its own."""
    register_topologies()
    own = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    ConfigStore.__deepcopy__ = _itself  # type: ignore[attr-defined]
    try:
        with initialize_config_dir(str(data_path("conf")), version_base="1.3"):
            yield
    finally:
        del ConfigStore.__deepcopy__  # type: ignore[attr-defined]
        GlobalHydra.instance().hydra = own


class _Topology(ConfigNode):
    """A file of topologies/, read when it is chosen: to read them all takes longer than to compose."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name, OmegaConf.create(), "topology", package=None, provider="artist")
        self.path = path

    def __copy__(self) -> ConfigNode:
        """Hydra copies what it uses."""
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where it was built
        content: dict[str, Any] = yaml.load(self.path.read_text(encoding="utf-8"), Loader=loader)
        return ConfigNode(self.name, OmegaConf.create(content), self.group, self.package, self.provider)


def register_topologies() -> None:
    """Make each file of topologies/ a choice of the group `topology`."""
    group = ConfigStore.instance().repo.setdefault("topology", {})
    group.update({path.name: _Topology(path) for path in data_path("topologies").glob("*.yaml")})


def _itself(store: ConfigStore, _: object) -> ConfigStore:
    """Return the one store as its own copy; Hydra copies all of it for every list of choices."""
    return store


class _ComposingOnce(Hydra):
    """Runs with the configuration that was composed to see whether this is a run or a sweep."""

    _composed: DictConfig | None = None

    def get_mode(self, config_name: str | None, overrides: list[str]) -> Any:
        """Return `hydra.mode`; what is wrong with the configuration, Hydra says when it runs."""
        with suppress(Exception):
            composed = self.compose_config(config_name, overrides, RunMode.RUN)
            self._composed = composed
            return composed.hydra.mode
        return super().get_mode(config_name, overrides)

    def compose_config(
        self, config_name: str | None, overrides: list[str], run_mode: RunMode, *args: Any, **kwargs: Any
    ) -> DictConfig:
        """Compose, unless it was done for this run."""
        composed, self._composed = self._composed, None
        if composed is None or run_mode != RunMode.RUN or composed.hydra.verbose:
            return super().compose_config(config_name, overrides, run_mode, *args, **kwargs)
        configure_log(composed.hydra.hydra_logging)
        return composed


def compose_once() -> None:
    """Let the command compose without copies, and once; programs that import this keep their Hydra as it is."""
    ConfigStore.__deepcopy__ = _itself  # type: ignore[attr-defined]
    hydra._internal.hydra.Hydra = _ComposingOnce  # type: ignore[misc]
