"""One round of the search for fewer operations: it tries other ways to compute values at random,
from a fixed seed.
"""

from __future__ import annotations

from random import Random

from symgen.ir.passes._candidates import Candidates, Limits, Ways
from symgen.ir.passes._network import Network, Way
from symgen.ir.passes._proof import prove
from symgen.ir.program import Program

WARMTH = 0.05
"""Initial probability to accept a change that adds one operation; for two operations it is the
square.
"""
WAYS, STEPS = 4, 15
"""Ways per row and visited quantities per move that a round is limited to; in long sums all
quantities are linked.
"""
FREED = 2
"""A new row is added only for a value whose own rows cost more than this: the new row, and one
more.
"""


def improve(
    program: Program, limits: Limits, random: Random, span: range, moves: int, thorough: bool
) -> Program:
    """Return a Program with no more operations, often with fewer; it is proved.

    The rows of `span` are compared with each other. `moves` are tried per way found. If `thorough`,
    a way may add a new row of any kind, else only for a sum of three that saves an operation.
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
            if len(program.rows) <= len(span)
            and candidates.is_sum(t)
            and network.exclusive_price(t) > FREED
        ]
    for t, additional in candidates.double(targets, span, sums=not thorough).items():
        ways.setdefault(t, []).extend(additional)
    for t, target_ways in ways.items():
        old = candidates.before[t]
        target_ways += [] if old is None else [old]
    before = list(network.way)
    anneal(
        network, ways, random, moves * min(sum(map(len, ways.values())), WAYS * candidates.first)
    )
    candidates.restore()
    if network.way[: len(before)] == before:
        return program
    after, new_rows = candidates.to_program()
    prove(program, after, new_rows, "computed anew")
    return after


def anneal(network: Network, ways: Ways, random: Random, moves: int) -> None:
    """Change ways at random; end in the last state with the lowest price."""
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
        if old is None or way == old or (added := network.change(c, way)) is None:
            continue
        if added > 0 and draw() >= (WARMTH * (1 - n / moves)) ** added:
            network.change(c, old)
        elif network.total <= best:
            best, changed = network.total, {}
        else:
            changed.setdefault(c, old)
    while changed:  # from the bottom up there is never a circle
        changed = {c: old for c, old in changed.items() if network.change(c, old) is None}
