"""Robots and comparisons for tests of run-time wrenches."""

from __future__ import annotations

import symgen
from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.vocabulary.functions import FUNCTIONS, WRENCH
from tests.shared.oracles import random_tree
from tests.shared.robots_for_tests import (
    BALLS,
    OF_ANY_ROBOT,
    largest,
    run,
)

TREE = random_tree(31, 4, branching=0.5)
"""Frames on the base ("world", displaced), on each body, and displaced on the last ("tool")."""

FELT = [name for name in OF_ANY_ROBOT if WRENCH in FUNCTIONS[name].depends_on]

UNFELT = [name for name in OF_ANY_ROBOT if name not in FELT]


def close(results: Array, expected: Array) -> bool:
    with BALLS.working():  # constants keep 64 of 80 digits, the condition of M takes a few
        return largest(results - expected) <= 1e-40 * (largest(expected) or 1.0)


def check_against_reference(
    mechanism: Mechanism, function: str, method: str | None, at: dict[str, Array], **links: str
) -> None:
    results = run(symgen.program(mechanism, function, method, **links), at, BALLS)
    spec = FUNCTIONS[function]
    arguments = {
        a.name: at[a.name]
        for a in (*spec.arguments, *spec.depends_on)
        if a in spec.arguments or a.name in links
    }
    for name, value in (
        Reference(mechanism, BALLS, frame=tip(mechanism), **links)
        .evaluate(function, arguments)
        .items()
    ):
        assert close(results[name], value), (function, method, name)
