"""Metamorphic relations: two descriptions of one problem have the same results."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from symgen import methods
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.functions import FUNCTIONS
from tests.adversary import Failure, _differentials
from tests.metamorphic import RELATIONS, Links, Verdict, compare
from tests.metamorphic.mechanisms import anything

WORD = (
    "The generated functions and the reference give one answer to one problem, however it is told:"
    " in other units, from another base, in other frames, in another order, in another format, at"
    " states that motion itself relates."
)

NO_ARGUMENT = "of this robot does not depend on"
"""Message for a derivative with respect to a load on which no Program depends."""


def tries(seed: int) -> Iterator[Failure | None]:
    """Try every relation in turn on a random mechanism.

    The reference is compared for all functions, Programs for one function by a random or the
    default method, and for one derivative if the relation covers it.
    """
    random = Random(f"metamorphic {seed}")
    while True:
        for relation in random.sample(sorted(RELATIONS), len(RELATIONS)):
            problem = Problem(*anything(random.randrange(10**9)), relation, random.randrange(10**6))
            verdict = problem.judged(programs=False)
            if verdict is None:
                continue
            if verdict.sentences:
                yield problem.failure(verdict, programs=False)
                continue
            if verdict.compared:  # a relation without anything to compare counts as no try
                function = random.choice(
                    sorted({name.partition(".")[0] for name in verdict.compared})
                )
                yield problem.by_programs(
                    function, random.choice((None, *methods.providers(function)))
                )
            function = random.choice([*FUNCTIONS])
            derivative = _differentials.some(
                random,
                function,
                _differentials.relevant_arguments(problem.mechanism, problem.links.options),
            )
            if derivative is not None and problem.compares(derivative):
                yield problem.by_programs(
                    derivative, random.choice((None, *methods.providers(function)))
                )


class Problem(NamedTuple):
    """A mechanism with options, a relation, and the seed of its state and of random choices."""

    mechanism: Mechanism
    links: Links
    relation: str
    seed: int

    def judged(self, **options: Any) -> Verdict | None:
        try:
            return compare(self.mechanism, self.links, self.relation, self.seed, **options)
        except Exception as error:  # a valid description must not cause any other exception
            return Verdict((f"{self.relation}: {type(error).__name__}, {error}",), frozenset())

    def compares(self, function: str) -> bool:
        """True if the relation covers a function or fails for it."""
        verdict = self.judged(functions=[function], programs=False)
        return verdict is not None and bool(verdict.sentences or verdict.compared)

    def by_programs(self, function: str, method: str | None) -> Failure | None:
        options: dict[str, Any] = {
            "functions": [function],
            "methods": {function: method} if method else {},
        }
        verdict = self.judged(**options)
        if (
            verdict is None
            or not verdict.sentences
            or all(NO_ARGUMENT in sentence for sentence in verdict.sentences)
        ):
            return None
        return self.failure(verdict, **options)

    def failure(self, verdict: Verdict, **options: Any) -> Failure:
        """Make a failure from a verdict, with the lines that reproduce it."""
        how = ", ".join(f"{name}={value!r}" for name, value in options.items())
        again = (
            "from symgen.description.loading import load\n"
            "from tests.metamorphic import Links, compare\n\n"
            "print(compare(load('robot.toml'),"
            f" {self.links!r}, {self.relation!r}, {self.seed}, {how}))\n"
        )
        return Failure(
            verdict.sentences[0], {"robot.toml": to_toml(self.mechanism), "again.py": again}
        )
