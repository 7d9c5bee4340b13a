"""Views that answer some questions differently from the engine's. For `cpu_tuned`."""

from collections.abc import Callable
from typing import Any

from artist.core.view import ClusterView


class AdaptedView:
    """A view with other methods under some names.

    Parameters
    ----------
    view
        Answers all other questions.
    methods
        By name.
    """

    def __init__(self, view: ClusterView, **methods: Callable[..., object]) -> None:
        self.__dict__.update(methods, _view=view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)
