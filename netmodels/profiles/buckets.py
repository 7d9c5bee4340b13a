"""Gradients joined to buckets, as in PyTorch's DistributedDataParallel.

Source: torch/csrc/distributed/c10d/reducer.cpp and torch/nn/parallel/distributed.py, PyTorch 2.x.

- Gradients go into the open bucket in the order in which the backward pass yields them, last layer first (the
  first iteration of a job is different: one bucket). The rest, down to the first layer, is the last bucket.
- A bucket closes with the gradient by which it reaches its cap, so it may be larger; no gradient is split.
- `bucket_cap_mb` counts 2^20 bytes of gradients as they are sent. At its default (25), the first bucket
closes at
  1 MiB, so that communication starts early; a cap that the user sets also holds for the first bucket (in
  older versions that is always 1 MiB).
- A bucket is all-reduced when its last gradient is ready; buckets start in their order.

`gradient_as_bucket_view` saves a copy in GPU memory and changes none of this.

A layer here holds its weight and its bias (or normalisation) together; PyTorch counts tensor by tensor, so a
bucket may close between the two. With the bias first, the buckets of all shipped models are the same to the
byte; with the weight first, a bias (at most 0.13 MB) travels one bucket later than here.
"""

from dataclasses import replace
from functools import lru_cache

from netmodels.fabric.system import DEFAULT_BUCKET_BYTES
from netmodels.profiles.layers import Layer, Profile

FIRST_BUCKET_BYTES = 2**20


def bucketed(profile: Profile, bucket_bytes: int) -> Profile:
    """Return the profile with its gradients in buckets.

    The gradients of a bucket sit on the layer that completes it. Its update delay is the longest of its
    layers; compute times, `factor` and `launch_ns` stay.

    Parameters
    ----------
    profile
        The layers.
    bucket_bytes
        Cap of a bucket; 0 keeps the profile, with an all-reduce for every layer.
    """
    return _bucketed(profile, bucket_bytes) if bucket_bytes else profile


@lru_cache(maxsize=4096)
def _bucketed(profile: Profile, bucket_bytes: int) -> Profile:
    if profile.unscaled is not profile:
        return _bucketed(profile.unscaled, bucket_bytes).scaled(profile.factor)
    layers = tuple(_joined(profile.layers, bucket_bytes))
    return Profile(profile.name, layers, profile.source, profile.factor, profile.launch_ns)


def _joined(layers: tuple[Layer, ...], bucket_bytes: int) -> list[Layer]:
    cap_bytes = FIRST_BUCKET_BYTES if bucket_bytes == DEFAULT_BUCKET_BYTES else bucket_bytes
    first = next((place for place, layer in enumerate(layers) if layer.gradient_bytes), 0)
    joined = list(layers)
    size_bytes = update_ns = 0
    for place in range(len(layers) - 1, -1, -1):
        layer = layers[place]
        if not layer.gradient_bytes:
            continue
        size_bytes += layer.gradient_bytes
        update_ns = max(update_ns, layer.update_ns)
        if size_bytes >= cap_bytes or place == first:
            joined[place] = replace(layer, gradient_bytes=size_bytes, update_ns=update_ns)
            size_bytes = update_ns = 0
            cap_bytes = bucket_bytes
        else:
            joined[place] = replace(layer, gradient_bytes=0, update_ns=0)
    return joined
