"""One problem told in two ways has one answer: random mechanisms by every relation, every function and every method."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from symgen import methods
from symgen.description.canonical import to_toml
from symgen.mechanism import Mechanism
from tests.adversary import Failure
from tests.metamorphic import RELATIONS, Links, Verdict, compare
from tests.metamorphic.mechanisms import anything

WORD = ("The generated functions and the reference give one answer to one problem, however it is told: in other units, from "
        "another base, in other frames, in another order, in another format, at states that motion itself relates.")


def tries(seed: int) -> Iterator[Failure | None]:
    """Every relation in turn, on a mechanism that it applies to: the reference by all functions, the Programs by one of them.

    Their method is drawn, or is the one that `generate` takes.
    """
    random = Random(f"metamorphic {seed}")
    while True:
        for relation in random.sample(sorted(RELATIONS), len(RELATIONS)):
            told = Told(*anything(random.randrange(10**9)), relation, random.randrange(10**6))
            verdict = told.judged(programs=False)
            if verdict is None or not (verdict.sentences or verdict.compared):   # nothing to compare is no try
                continue
            if verdict.sentences:
                yield told.failure(verdict, programs=False)
                continue
            function = random.choice(sorted({name.partition(".")[0] for name in verdict.compared}))
            method = random.choice((None, *methods.providers(function)))
            asked: dict[str, Any] = {"functions": [function], "methods": {function: method} if method else {}}
            found = told.judged(**asked)
            yield told.failure(found, **asked) if found is not None and found.sentences else None


class Told(NamedTuple):
    """A problem, a relation, and the seed of its state and of the relation's choices."""

    mechanism: Mechanism
    links: Links
    relation: str
    seed: int

    def judged(self, **asked: Any) -> Verdict | None:
        try:
            return compare(self.mechanism, self.links, self.relation, self.seed, **asked)
        except Exception as error:   # whatever it is, no description that was read may lead to it
            return Verdict((f"{self.relation}: {type(error).__name__}, {error}",), frozenset())

    def failure(self, verdict: Verdict, **asked: Any) -> Failure:
        """What a verdict says is broken, with the lines that ask for it again."""
        how = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        again = ("from symgen.description.loading import load\nfrom tests.metamorphic import Links, compare\n\n"
                 f"print(compare(load('robot.toml'), {self.links!r}, {self.relation!r}, {self.seed}, {how}))\n")
        return Failure(verdict.sentences[0], {"robot.toml": to_toml(self.mechanism), "again.py": again})
