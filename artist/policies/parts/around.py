"""A policy around another one, which it asks for plans. Shared by policies."""

from typing import Annotated, Any

from pydantic import PlainValidator

from artist.core.view import Policy
from artist.policies.parts.parameters import check_part

AnyPolicy = Annotated[Policy, PlainValidator(lambda value: check_part(value, (), "decide"))]


class Around:
    """Common part of policies around a policy `of`: an attribute that they lack is that policy's."""

    of: AnyPolicy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "of":  # not set yet, as during a copy
            raise AttributeError(name)
        return getattr(self.of, name)
