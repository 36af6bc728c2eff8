"""A round of the search for fewer operations: other ways of computing values, tried at random and yet always the same."""

from __future__ import annotations

from random import Random

from symgen.ir.passes._candidates import Candidates, Limits, Ways
from symgen.ir.passes._network import Network, Way
from symgen.ir.passes._proof import prove
from symgen.ir.program import Program

WARMTH = 0.05
"""The chance of a change that costs one operation more, at first; of one that costs two it is the square."""
WAYS, STEPS = 4, 15
"""Ways for each row, and quantities that a move looks at, of which more end a round sooner: in long sums everything is linked."""
FREED = 2
"""Operations that a value has to free for a new row to be put: it, and one more."""


def improved(
    program: Program, limits: Limits, random: Random, span: range, moves: int, thorough: bool
) -> Program:
    """The Program with no more operations than before, often with fewer; proved.

    The rows of `span` are compared with each other. `moves` are tried for each way that is found. If `thorough`, a new row is put
    for anything, else for a sum of three that saves an operation.
    """
    candidates = Candidates(program, limits)
    if not candidates.usable:
        return program
    network = candidates.network
    ways = candidates.single(candidates.targets, span)
    targets = candidates.targets
    if not thorough:  # of a longer Program that would take too long
        targets = [
            t
            for t in targets
            if len(program.rows) <= len(span) and candidates.is_sum(t) and network.alone(t) > FREED
        ]
    for t, more in candidates.double(targets, span, sums=not thorough).items():
        ways.setdefault(t, []).extend(more)
    for t, some in ways.items():
        old = candidates.before[t]
        some += [] if old is None else [old]
    before = list(network.way)
    anneal(
        network, ways, random, moves * min(sum(map(len, ways.values())), WAYS * candidates.first)
    )
    candidates.restore()
    if network.way[: len(before)] == before:
        return program
    after, places = candidates.written()
    prove(program, after, places, "computed anew")
    return after


def anneal(network: Network, ways: Ways, random: Random, moves: int) -> None:
    """Change ways at random, ending as it was when the price was last the lowest."""
    targets = sorted(ways)
    draw, uses = random.random, network.uses
    best = network.total
    changed: dict[int, Way] = {}  # since the best
    last = network.steps + STEPS * moves
    for n in range(moves):
        if network.steps > last:
            break
        c = targets[int(draw() * len(targets))]
        if not uses[c]:
            continue
        way, old = ways[c][int(draw() * len(ways[c]))], network.way[c]
        if old is None or way == old or (more := network.change(c, way)) is None:
            continue
        if more > 0 and draw() >= (WARMTH * (1 - n / moves)) ** more:
            network.change(c, old)
        elif network.total <= best:
            best, changed = network.total, {}
        else:
            changed.setdefault(c, old)
    while changed:  # from the bottom up there is never a circle
        changed = {c: old for c, old in changed.items() if network.change(c, old) is None}
