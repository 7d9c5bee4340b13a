"""What a file of a group of the configuration says, with what it inherits."""

from functools import cache
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from artist.data import data_path


def preset(group: str, name: str) -> dict[str, Any]:
    """Return a shipped choice of a group as Hydra composes it, `${...}` filled in from config.yaml.

    Examples
    --------
    >>> preset("policy", "fifo_backfill")["backfill"]
    True
    """
    found: Any = OmegaConf.to_container(_composed(group, name)[group], resolve=True)
    return {str(key): value for key, value in found.items()}


@cache
def _composed(group: str, name: str) -> Any:
    conf = data_path("conf")
    with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
        return OmegaConf.merge(OmegaConf.load(conf / "config.yaml"), compose(f"{group}/{name}"))
