"""A genetic algorithm that gives each of many jobs one of its options within a capacity. For Pollux.

In plain words: a solution is an option per job. Parents are drawn at random or initial; two tournaments of
two choose a pair, whose child takes each job's option from one of them; some options of the child are then
drawn again. A child that exceeds the capacity keeps its options in a random order of jobs as long as they
fit; the job that no longer fits gets the largest option that does, those after it none. The best of parents
and children are the next parents. It ends after a number of generations, or once the best has not improved
for some of them.

Source: the operators of Qiao et al., Pollux, OSDI 2021, section 4.2, with jobs' numbers of workers instead of
workers by job and machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from artist.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Genetic:
    """Searches for the options with the greatest sum of values.

    Parameters
    ----------
    population
        Number of solutions kept.
    generations
        Most rounds of children.
    patience
        Rounds without a better solution after which the search ends.
    """

    population: int = 100
    generations: int = 250
    patience: int = 10

    def best(
        self,
        capacity: int,
        weights: Sequence[Ints],
        values: Sequence[Floats],
        initial: Sequence[Ints],
        rng: np.random.Generator,
    ) -> Ints:
        """Return the option of each job in the best solution found, shape (n_jobs,).

        Parameters
        ----------
        capacity
            Total weight of the options at most.
        weights, values
            By job, for its options. The first option of each job weighs 0, and none less than the one before.
        initial
            Solutions to begin with, the best fit first; repaired if they weigh too much.
        rng
            The source of all randomness.

        Notes
        -----
        Of equally good solutions the first is returned, so an initial one stays.
        """
        problem = _Problem(capacity, weights, values)
        parents = problem.repaired(problem.population(self.population, initial, rng), rng)
        fitness = problem.fitness(parents)
        best, since = fitness.max(), 0
        for _ in range(self.generations):
            children = problem.repaired(problem.children(parents, fitness, rng), rng)
            everyone = np.concatenate([parents, children])
            fitness = np.concatenate([fitness, problem.fitness(children)])
            kept = np.argsort(-fitness, kind="stable")[: self.population]
            parents, fitness = everyone[kept], fitness[kept]
            since = 0 if fitness[0] > best else since + 1
            best = fitness[0]
            if since >= self.patience:
                break
        fittest: Ints = parents[fitness.argmax()]
        return fittest


class _Problem:
    """Options of jobs as tables; options that a job lacks repeat its last."""

    def __init__(self, capacity: int, weights: Sequence[Ints], values: Sequence[Floats]) -> None:
        self._capacity = capacity
        self._options = np.array([len(options) for options in weights], dtype=np.int64)
        self._jobs = np.arange(len(weights))
        most = int(self._options.max())
        last = np.minimum(np.arange(most), self._options[:, None] - 1)
        starts = np.concatenate([[0], self._options.cumsum()[:-1]])[:, None]
        self._weights = np.concatenate(weights)[starts + last]
        self._values = np.concatenate(values)[starts + last]

    def population(self, size: int, initial: Sequence[Ints], rng: np.random.Generator) -> Ints:
        """Return the initial solutions, and random ones up to `size`."""
        drawn = rng.integers(self._options, size=(max(0, size - len(initial)), len(self._jobs)))
        known = np.array(initial, dtype=np.int64).reshape(-1, len(self._jobs))
        return np.concatenate([known, drawn])[:size]

    def fitness(self, solutions: Ints) -> Floats:
        """Return the sum of the values of each solution."""
        fitness: Floats = self._values[self._jobs, solutions].sum(axis=1)
        return fitness

    def children(self, parents: Ints, fitness: Floats, rng: np.random.Generator) -> Ints:
        """Return one child per parent: tournaments, crossover, mutation."""
        n, jobs = parents.shape
        rivals = rng.integers(n, size=(2, n, 2))
        won = np.where(fitness[rivals[..., 0]] >= fitness[rivals[..., 1]], rivals[..., 0], rivals[..., 1])
        children = np.where(rng.random((n, jobs)) < 0.5, parents[won[0]], parents[won[1]])
        places = np.flatnonzero(rng.random(n * jobs) < 1 / jobs)  # one of a child, on average
        children.ravel()[places] = rng.integers(self._options[places % jobs])
        mutated: Ints = children
        return mutated

    def repaired(self, solutions: Ints, rng: np.random.Generator) -> Ints:
        """Return solutions repaired to fit the capacity."""
        order = rng.permutation(len(self._jobs))
        chosen = solutions[:, order]
        upto = self._weights[order, chosen].cumsum(axis=1)
        rows = np.flatnonzero(upto[:, -1] > self._capacity)
        if rows.size:
            first = (upto[rows] > self._capacity).argmax(axis=1)  # the job that no longer fits
            before = np.where(first > 0, upto[rows, first - 1], 0)
            fits = self._weights[order[first]] <= (self._capacity - before)[:, None]
            chosen[rows] = np.where(np.arange(len(order)) < first[:, None], chosen[rows], 0)
            chosen[rows, first] = fits.sum(axis=1) - 1  # its largest option that does
        repaired = np.empty_like(solutions)
        repaired[:, order] = chosen
        return repaired
