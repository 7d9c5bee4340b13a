"""Profiles by model name."""

from functools import cache

from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.profiles.architectures import ARCHITECTURES
from netmodels.profiles.compute_times import timed_profile
from netmodels.profiles.layers import Layer, Profile

__all__ = ["Layer", "Profile", "get_profile", "profile_names"]

# What traces and papers call a model, without capitals and signs: Synergy's `res50`, Muri's
# `shufflenet_v2_x1_0`,
# CODA's `Bi-att-Flow`. If a family is named, the member that this project had first.
_ALIASES = {
    "bert": "BERT-large",
    "vgg": "VGG11",
    "res18": "ResNet18",
    "res50": "ResNet50",
    "inception": "InceptionV3",
    "inception3": "InceptionV3",
    "mobilenet": "MobileNetV3",
    "mobilenetv3small": "MobileNetV3",
    "shufflenetv2": "ShuffleNet",
    "shufflenetv2x10": "ShuffleNet",
    "gpt2small": "GPT-2",
    "transformerbase": "Transformer",
    "transformerxlbase": "Transformer-XL",
    "gnmtv2": "GNMT",
    "bidaf": "BAT",
    "biattflow": "BAT",
    "bidirectionalattentionflow": "BAT",
    "deepspeech2": "DeepSpeech",
    "audiom5": "M5",
}


@cache
def get_profile(name: str) -> Profile:
    """Return the profile of a model, by any name that the traces use for it.

    Parameters
    ----------
    name
        Only its letters and digits matter, not capitals or signs: `BERT-large`, `bert_large`, `BERT`.

    Raises
    ------
    InputError
        If there is no such model.
    """
    key = _plain(name)
    names = {_plain(known): known for known in profile_names()} | _ALIASES
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
