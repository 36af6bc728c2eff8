"""A short chain of like links, whose rows are folded: the ghost that it stands on, then every class of links behind every other.

The ghost moves freely, so that nothing is zero for want of a parent. At rest, under gravity, it is what the base is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.model import Link, Model
from symgen.derivation.model.links import NOTHING
from symgen.derivation.scalars import Derivation
from symgen.derivation.tabled import PREPARED, Columns, Tabled, constants_of
from symgen.functions import FUNCTIONS, Q
from symgen.ir import POSITIONS, Program
from symgen.joints import joint_type

GHOST = "free"
"""The joint of the body that a chain stands on."""
BEFORE, BEHIND = 3, 4
"""Links at the ends of a chain that may differ from those between them."""
LIKE = 6
"""Links of a class that follow each other, at least."""
IDENTITY = ("cos_alpha", "cos_beta", "cos_gamma")


@dataclass(frozen=True)
class Chain:
    """Link 0 is the ghost, and `classes` number it last; `columns` are those of each class."""

    model: Model
    classes: tuple[int, ...]
    columns: tuple[Columns, ...]

    @property
    def ghost(self) -> int:
        """Its class."""
        return len(self.columns) - 1

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(range(-1, len(self.classes) - 1))

    @property
    def first(self) -> list[int]:
        """Where each link's constants begin in PREPARED; behind them stands gravity."""
        found, at = [], 0
        for own in self.classes:
            found.append(at)
            at += self.columns[own].width
        return [*found, at]

    def link_of_input(self, program: Program) -> dict[tuple[int, int], int]:
        """Whose each element of an argument is; gravity is the ghost's."""
        found = {}
        for p, port in enumerate(program.inputs):
            for i, link in enumerate(self.model.links):
                own = link.q if port.name in POSITIONS else link.v
                if port.name == PREPARED:
                    own = slice(self.first[i], self.first[i + 1])
                found |= {(p, e): i for e in range(own.start, own.stop)}
            if port.name == PREPARED:
                found |= {(p, e): 0 for e in range(self.first[-1], port.size)}
        return found

    def at_rest(self, last: int, gravity: Sequence[k.Constant]) -> dict[str, dict[int, Fraction]]:
        """Arguments of which all else is zero: links up to `last` stand still in one place, and in the axes of that one gravity
        is as given.
        """
        numbers: dict[int, Fraction] = {}
        q = {3 + 3: Fraction(1)}   # the quaternion of no turn, x y z w behind the place
        for i in range(1, last + 1):
            link, own = self.model.links[i], self.columns[self.classes[i]]
            numbers |= {self.first[i] + own.column[name]: Fraction(1) for name in IDENTITY if name in own.column}
            if "offset" in own.common:
                q[link.q.start] = -k.to_fraction(own.common["offset"])
        for i in reversed(range(1, last + 1)):
            gravity = k.apply(_turn(self.columns[self.classes[i]]), tuple(gravity))
        numbers |= {self.first[-1] + axis: k.to_fraction(x) for axis, x in enumerate(gravity)}
        return {PREPARED: numbers, "q": q}


def _turn(own: Columns) -> k.Mat3:
    """How a link is turned against its parent where its own angle is nothing, by what its class has in common."""
    turn = k.IDENTITY
    for angle, axis in (("gamma", 2), ("alpha", 0), ("beta", 2)):
        if f"cos_{angle}" in own.common and f"sin_{angle}" in own.common:
            turn = k.product(turn, k.turn(k.IDENTITY[axis], own.common[f"cos_{angle}"], own.common[f"sin_{angle}"]))
    return turn


def chained(model: Model, kinds: Sequence[str], columns: Sequence[Columns], ghost: Link | None) -> Chain:
    """The chain of these classes of a robot; the `ghost` is at home where it is none of the robot's links."""
    walk = [0] * LIKE
    for a in range(len(kinds)):
        for b in range(len(kinds)):
            walk += [a, b, b]
    classes = (len(kinds), *walk, *[walk[-1]] * BEHIND)
    links, q, v = [], 0, 0
    for i, own in enumerate(classes):
        kind = [*kinds, GHOST][own]
        joint = joint_type(kind)
        like = next((link for link in model.links if link.kind == kind), model.links[0])
        links.append(replace(like, name=f"link{i}", kind=kind, q=slice(q, q + joint.nq), v=slice(v, v + joint.nv), parent=i - 1,
                             rotation=k.IDENTITY, shift=k.ORIGIN, inertia=NOTHING, base_rotation=k.IDENTITY))
        q, v = q + joint.nq, v + joint.nv
    at_home = replace(links[0], drive=type(links[0].drive)())
    return Chain(Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed), classes,
                 (*columns, Columns.of_the_ghost(constants_of(ghost or at_home))))


def run(chain: Chain, function: str, method: str) -> tuple[Program, Tabled]:
    """The rows of a method on the chain."""
    what, links = FUNCTIONS[function], chain.model.links
    nq, nv = links[-1].q.stop, links[-1].v.stop
    arguments = [*what.arguments] + ([] if Q in what.arguments else [Q])
    shapes = {a.name: (nq if a.name in POSITIONS else nv,) for a in arguments} | {PREPARED: (chain.first[-1] + 3,)}
    home = Derivation({name: shape[0] for name, shape in shapes.items()})
    linkage = Tabled(chain.model, home, [chain.columns[own] for own in chain.classes], chain.first)
    build = methods.derivation(method, function)
    results = [(array.name, (len(atoms),), atoms) for array, atoms in zip(what.results, build(linkage), strict=True)]
    return home.freeze(function, method, results, shapes), linkage
