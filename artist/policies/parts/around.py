"""A policy around another one, and the view that it may pass on. Shared by policies."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import PlainValidator

from artist.core.view import ClusterView, Policy
from artist.policies.parts.parameters import check_part

AnyPolicy = Annotated[Policy, PlainValidator(lambda value: check_part(value, (), "decide"))]


class Around:
    """Common part of policies around a policy `of`: an attribute that they lack is that policy's."""

    of: AnyPolicy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "of":  # not set yet, as during a copy
            raise AttributeError(name)
        return getattr(self.of, name)


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
