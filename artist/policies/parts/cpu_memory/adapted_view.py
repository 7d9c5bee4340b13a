"""Views that answer some questions differently from the engine's. For fills."""

from collections.abc import Callable
from typing import Any

from artist.core.view import ClusterView

Adapter = Callable[[ClusterView], ClusterView]


class AdaptedView:
    """A view; what a subclass does not define is answered by the view that it wraps."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


def as_it_is(view: ClusterView) -> ClusterView:
    """Return a view that answers as the engine's does."""
    return view
