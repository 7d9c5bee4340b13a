"""Jobs that train language models: sizes and durations of a trace, recipes of public programs.

GPUs, durations and arrivals are drawn as by `artist.workload.synthetic`, from 500 jobs of Acme's cluster
Kalos. The trace names no models: each job has a recipe of traces/llm_recipes.yaml for its number of GPUs,
drawn by weight (ASSUMPTION), with a global batch in proportion to its GPUs.
"""

from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from artist.bad_input.records import Strict, validated
from artist.data import data_path
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.rows import Table
from artist.workload.draws import picked
from artist.workload.record_file import read_record
from artist.workload.synthetic import Preset, SyntheticTrace
from netmodels.api import Plan


class Recipe(Strict):
    """A language model and its plan for jobs from `least` to `most` GPUs, in whole replicas."""

    model: str
    plan: str
    sequence: PositiveInt
    batch_per_gpu: PositiveFloat
    least: PositiveInt
    most: PositiveInt
    weight: PositiveFloat
    kind: str

    def suits(self, gpus: int) -> bool:
        """Return whether jobs with a number of GPUs may have the recipe."""
        return self.least <= gpus <= self.most and gpus % Plan.parse(self.plan).replica == 0


class Recipes(Strict):
    """The recipes and their sources."""

    source: str
    recipes: tuple[Recipe, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _parse(self) -> Self:
        for recipe in self.recipes:
            Plan.parse(recipe.plan, sequence=recipe.sequence)
        return self


class LlmTrace(SyntheticTrace):
    """Jobs drawn from the sizes and durations of Acme's trace, with recipes of language models."""

    names_models = True  # of every job, so that parameters.models is not asked

    class Parameters(SyntheticTrace.Parameters):
        """Parameters besides those of `SyntheticTrace`.

        Attributes
        ----------
        recipes
            File of recipes; None for the one that ships.
        precision
            Of all jobs' matrix products.
        """

        preset: Preset = "acme_kalos"
        recipes: Path | None = None
        precision: str = "bf16"

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.parameters: LlmTrace.Parameters = validated(self.Parameters, parameters, "workload")
        self.recipes = self.parameters.recipes or data_path("traces", "llm_recipes.yaml")
        self.input_files = (*self.input_files, self.recipes)

    def describe(self) -> str:
        """Return the source of the jobs in a clause, for a report."""
        return "language models with public recipes, sizes and durations like those of Acme's cluster Kalos"

    def table_at(self, relative_time: float) -> Table:
        """Return all jobs as a canonical table, in order of arrival.

        Raises
        ------
        InputError
            If the file of recipes is invalid, or has none for a number of GPUs.
        """
        drawn = super().table_at(relative_time)
        recipes = read_recipes(self.recipes)
        draws = child_generator(self.parameters.seed, "llm.recipes").random(len(drawn))
        which = np.zeros(len(drawn), dtype=np.int64)
        for gpus in np.unique(drawn["gpus"]).tolist():
            weights = {at: recipe.weight for at, recipe in enumerate(recipes) if recipe.suits(gpus)}
            if not weights:
                allowed = "a recipe for them, or other workload.min_gpus and max_gpus"
                raise InputError(
                    "no recipe for jobs", where=str(self.recipes), found=f"{gpus} GPUs", allowed=allowed
                )
            inside = drawn["gpus"] == gpus
            which[inside] = picked(weights, draws[inside])
        columns = {
            name: [getattr(recipes[at], name) for at in which] for name in ("model", "plan", "sequence")
        }
        batch = np.array([recipe.batch_per_gpu for recipe in recipes])[which] * drawn["gpus"]
        return drawn.assign(
            **columns,
            batch=np.rint(batch),
            precision=self.parameters.precision,
            vc=[recipes[at].kind for at in which],
        )


def read_recipes(path: Path) -> tuple[Recipe, ...]:
    """Read and check a file of recipes.

    Raises
    ------
    InputError
        If the file cannot be read or is not one of recipes.
    """
    return read_record(path, Recipes, "recipes").recipes
