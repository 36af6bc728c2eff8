"""One problem told in two ways has one answer: random mechanisms by every relation, every function and every method."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

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
            mechanism, links = anything(random.randrange(10**9))
            at = random.randrange(10**6)
            verdict = compare(mechanism, links, relation, at, programs=False)
            if verdict is None or not (verdict.sentences or verdict.compared):   # nothing to compare is no try
                continue
            if verdict.sentences:
                yield _failure(verdict, mechanism, links, relation, at, "programs=False")
                continue
            function = random.choice(sorted({name.partition(".")[0] for name in verdict.compared}))
            method = random.choice((None, *methods.providers(function)))
            told = {function: method} if method else {}
            found = compare(mechanism, links, relation, at, [function], methods=told)
            how = f"[{function!r}], methods={told!r}"
            yield None if found is None else _failure(found, mechanism, links, relation, at, how)


def _failure(verdict: Verdict, mechanism: Mechanism, links: Links, relation: str, at: int, how: str) -> Failure | None:
    """What a verdict says is broken, with the lines that ask for it again; None where it says nothing."""
    if not verdict.sentences:
        return None
    again = ("from symgen.description.loading import load\nfrom tests.metamorphic import Links, compare\n\n"
             f"print(compare(load('robot.toml'), {links!r}, {relation!r}, {at}, {how}))\n")
    return Failure(verdict.sentences[0], {"robot.toml": to_toml(mechanism), "again.py": again})
