"""One problem told in two ways has one answer: random mechanisms by every relation, every function and every method."""

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
    "The generated functions and the reference give one answer to one problem, however it is told: in other units, from "
    "another base, in other frames, in another order, in another format, at states that motion itself relates."
)

UNFELT = "of this robot does not depend on"
"""What is said of a derivative by a load that moves and that nothing feels: no Program has it as an argument."""


def tries(seed: int) -> Iterator[Failure | None]:
    """Every relation in turn, on a mechanism that it applies to: the reference by all functions, the Programs by one of them.

    Their method is drawn, or is the one that `generate` takes. Then a derivative of a function, where the relation knows any.
    """
    random = Random(f"metamorphic {seed}")
    while True:
        for relation in random.sample(sorted(RELATIONS), len(RELATIONS)):
            problem = Told(*anything(random.randrange(10**9)), relation, random.randrange(10**6))
            verdict = problem.judged(programs=False)
            if verdict is None:
                continue
            if verdict.sentences:
                yield problem.failure(verdict, programs=False)
                continue
            if verdict.compared:  # nothing to compare is no try
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


class Told(NamedTuple):
    """A problem, a relation, and the seed of its state and of the relation's choices."""

    mechanism: Mechanism
    links: Links
    relation: str
    seed: int

    def judged(self, **asked: Any) -> Verdict | None:
        try:
            return compare(self.mechanism, self.links, self.relation, self.seed, **asked)
        except Exception as error:  # whatever it is, no description that was read may lead to it
            return Verdict((f"{self.relation}: {type(error).__name__}, {error}",), frozenset())

    def compares(self, function: str) -> bool:
        """Whether the relation says anything of a function, or stumbles over it."""
        verdict = self.judged(functions=[function], programs=False)
        return verdict is not None and bool(verdict.sentences or verdict.compared)

    def by_programs(self, function: str, method: str | None) -> Failure | None:
        asked: dict[str, Any] = {
            "functions": [function],
            "methods": {function: method} if method else {},
        }
        verdict = self.judged(**asked)
        if (
            verdict is None
            or not verdict.sentences
            or all(UNFELT in sentence for sentence in verdict.sentences)
        ):
            return None
        return self.failure(verdict, **asked)

    def failure(self, verdict: Verdict, **asked: Any) -> Failure:
        """What a verdict says is broken, with the lines that ask for it again."""
        how = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        again = (
            "from symgen.description.loading import load\nfrom tests.metamorphic import Links, compare\n\n"
            f"print(compare(load('robot.toml'), {self.links!r}, {self.relation!r}, {self.seed}, {how}))\n"
        )
        return Failure(
            verdict.sentences[0], {"robot.toml": to_toml(self.mechanism), "again.py": again}
        )
