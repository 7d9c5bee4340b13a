"""A profile: a model's layers with their compute times and the gradient bytes that they all-reduce."""

from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol

from netmodels.inputs.digest import digest_of, hash_of
from netmodels.inputs.errors import InputError


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a model.

    Parameters
    ----------
    name
        Its name in the model.
    forward_ns, input_gradient_ns, weight_gradient_ns
        Compute times of one iteration on one GPU.
    gradient_bytes
        Bytes that the layer all-reduces; 0 for none.
    update_ns
        Delay between the end of its all-reduce and the earliest end of the iteration (ASTRA-sim 1.0's update
        delay). Runs beside everything else and is never scaled.
    """

    name: str
    forward_ns: int
    input_gradient_ns: int
    weight_gradient_ns: int
    gradient_bytes: int
    update_ns: int = 0


class Program(Protocol):
    """Training that is more than layers: `netmodels.llm.program`."""

    def record(self) -> list[object]:
        """Return all that answers depend on as plain values."""
        ...

    def check(self, gpus: int) -> None:
        """Raise InputError for a number of GPUs that it cannot have."""
        ...

    def iteration(self, shape: Any, fabric: Any, factor: float) -> Any:
        """Return the `IterationTime` on a `Shape` of a `Fabric`, compute times multiplied by `factor`."""
        ...

    def traffic(self, placement: Any, fabric: Any, factor: float) -> Any:
        """Return the `JobTraffic` on the machines of a placement, likewise."""
        ...

    def ranks(self, shape: Any, network: Any, factor: float) -> Any:
        """Return the `RankProgram` on a `Shape` with a `RankNetwork`, likewise."""
        ...

    def free_ns(self, gpus: int, factor: float = 1.0) -> float:
        """Return the time on a free network."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A model's layers, in the order of the forward pass.

    Equal content is equal, `factor` included; the hash is cached.

    Parameters
    ----------
    name
        Name of the model.
    layers
        First to last.
    source
        Origin of the figures.
    factor
        Factor by which the compute times have been multiplied; set by `scaled`.
    launch_ns
        Start-up cost of every collective, in which nothing else of the model is sent; set by `with_launch`,
        and never scaled.
    program
        Training by a plan, which takes the place of the layers' timeline; None: data parallelism.

    Raises
    ------
    InputError
        If there are no layers, or a figure is negative or not whole.
    """

    name: str
    layers: tuple[Layer, ...]
    source: str = ""
    factor: float = 1.0
    launch_ns: int = 0
    program: Program | None = None
    digest: str = field(init=False, repr=False)
    compute_ns: int = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)
    _base: "Profile | None" = field(init=False, repr=False, default=None)
    _scaled: dict[float, "Profile"] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError(
                "a profile needs layers", where=f"profile {self.name}", found=(), allowed="at least one"
            )
        for layer in self.layers:
            for name in _FIGURES:
                _check_figure(f"profile {self.name}, layer {layer.name}, {name}", getattr(layer, name))
        _check_figure(f"profile {self.name}, launch_ns", self.launch_ns)
        # No layer needs the input gradient of layer 0: it is never computed.
        compute_ns = sum(
            layer.forward_ns + layer.input_gradient_ns + layer.weight_gradient_ns for layer in self.layers
        )
        object.__setattr__(self, "compute_ns", compute_ns - self.layers[0].input_gradient_ns)
        object.__setattr__(self, "digest", digest_of(_record(self)))
        object.__setattr__(self, "_hash", hash_of(self.digest))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Profile) and self.digest == other.digest)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all gradients together."""
        return sum(layer.gradient_bytes for layer in self.layers)

    @property
    def skew(self) -> float:
        """Largest gradient of a layer / all gradients: Tiresias's measure of skew, 0 without gradients."""
        total = self.parameter_bytes
        return max(layer.gradient_bytes for layer in self.layers) / total if total else 0.0

    @property
    def unscaled(self) -> "Profile":
        """The profile that this one was scaled from; itself if it was not."""
        return self if self._base is None else self._base

    def scaled(self, factor: float) -> "Profile":
        """Return the profile with its compute times multiplied and truncated to whole ns.

        Asking twice gives the same object. Scaling a scaled profile multiplies the factors and starts from
        the original, so nothing is truncated twice.

        Parameters
        ----------
        factor
            More than 0; 1 / speed for a GPU of relative speed `speed`.

        Raises
        ------
        InputError
            If the factor is not a positive number.
        """
        if not (isfinite(factor) and factor > 0):
            raise InputError(
                "wrong factor", where=f"profile {self.name}", found=factor, allowed="a number > 0"
            )
        if factor == 1:
            return self
        if self._base is not None:
            return self._base.scaled(self.factor * factor)
        if factor not in self._scaled:
            layers = tuple(_scale(layer, factor) for layer in self.layers)
            profile = Profile(self.name, layers, self.source, factor, self.launch_ns, self.program)
            object.__setattr__(profile, "_base", self)
            self._scaled[factor] = profile
        return self._scaled[factor]

    def with_launch(self, launch_ns: int) -> "Profile":
        """Return the profile with another start-up cost of its collectives.

        Parameters
        ----------
        launch_ns
            Of each collective, whatever its size.

        Raises
        ------
        InputError
            If it is negative or not whole.
        """
        if self._base is not None:
            return self._base.with_launch(launch_ns).scaled(self.factor)
        return Profile(self.name, self.layers, self.source, self.factor, launch_ns, self.program)

    def with_update(self, update_ns: int) -> "Profile":
        """Return the profile with another update delay of all layers.

        Parameters
        ----------
        update_ns
            From the end of the last all-reduce to the earliest end of the iteration.

        Raises
        ------
        InputError
            If it is negative or not whole.
        """
        if self._base is not None:
            return self._base.with_update(update_ns).scaled(self.factor)
        layers = tuple(replace(layer, update_ns=update_ns) for layer in self.layers)
        return Profile(self.name, layers, self.source, self.factor, self.launch_ns, self.program)


_FIGURES = ("forward_ns", "input_gradient_ns", "weight_gradient_ns", "gradient_bytes", "update_ns")


def _scale(layer: Layer, factor: float) -> Layer:
    return Layer(
        layer.name,
        int(layer.forward_ns * factor),
        int(layer.input_gradient_ns * factor),
        int(layer.weight_gradient_ns * factor),
        layer.gradient_bytes,
        layer.update_ns,
    )


def _check_figure(where: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError("wrong figure in a profile", where=where, found=value, allowed="a whole number >= 0")


def _record(profile: Profile) -> list[object]:
    """Return the inputs of answers as plain values."""
    layers = [[getattr(layer, name) for name in _FIGURES] for layer in profile.layers]
    program = [] if profile.program is None else [profile.program.record()]
    return [profile.name, profile.factor, profile.launch_ns, layers, *program]


def refuse_program(profile: Profile, asked: str) -> None:
    """Raise for a profile of training by a plan, which `asked` does not price.

    Raises
    ------
    InputError
        If the profile has a program.
    """
    if profile.program is not None:
        what = f"{asked} prices data parallelism alone"
        allowed = "network=analytical, a program of ASTRA-sim 2.x that is analytical, or no plan"
        raise InputError(what, where="plan", found=profile.name, allowed=allowed)
