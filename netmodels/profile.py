"""Profiles by model name."""

from functools import cache

from netmodels.architectures import ARCHITECTURES
from netmodels.compute_times import timed_profile
from netmodels.errors import InputError
from netmodels.layers import Layer, Profile
from netmodels.naming import allowed_names

__all__ = ["Layer", "Profile", "get_profile", "profile_names"]

_ALIASES = {
    "bert": "BERT-large",
    "vgg": "VGG11",
    "mobilenet": "MobileNetV3",
    "mobilenetv3small": "MobileNetV3",
}


def get_profile(name: str) -> Profile:
    """Return the profile of a model, by any name that the traces use for it.

    Parameters
    ----------
    name
        Capitals, dashes, underscores and blanks do not matter: `BERT-large`, `bert_large`, `BERT`.

    Raises
    ------
    InputError
        If there is no such model.
    """
    key = _plain(name)
    names = {_plain(each): each for each in profile_names()} | _ALIASES
    if key not in names:
        raise InputError(
            "unknown model", where="model", found=name, allowed=allowed_names(name, profile_names())
        )
    return _profile(names[key])


def profile_names() -> tuple[str, ...]:
    """Return the names of the models that have a profile."""
    return tuple(ARCHITECTURES)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


@cache
def _profile(name: str) -> Profile:
    return timed_profile(name, ARCHITECTURES[name]())
