"""What each entry of M, c, g or tau depends on, and the base parameters: the combinations of inertial parameters that matter.

M, c, g and tau are linear functions of inertial parameters. Every link's inertia enters by the ten numbers of PARAMETERS: mass m
(kg), first moment h = m c (kg·m) and moments of inertia J (kg·m², tensor entries) about the origin of its chosen frame, in the
axes of that frame. The wrench that a link needs for its motion (ω, ω̇, acceleration of the origin, gravity included) is
f = m a + ω̇ × h + ω × (ω × h), n = h × a + J ω̇ + ω × J ω. Joint i then takes the share ξᵢᵀ (n, f), with ξᵢ the twist of that
link for a unit rate of joint i.

Dependence is decided by evaluating at STATES random rational states, over rationals where the model is exact and over balls of
120 digits elsewhere. A dependence that is found is certain. One is overlooked only if a rational function that is not zero
vanishes at every state. Its numerator's degree is at most D = 4 n + 3 in the n joints' t = tan q/2, q, v and a. By Schwartz and
Zippel's lemma the answer is then wrong with a probability of at most (D / STEPS)^STATES.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import sympy as sp
from flint import fmpq_mat

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model import Inertia, Link, Model
from symgen.inspection.harmonic_text import number
from symgen.inspection.parameters import AXES
from symgen.inspection.request import refuse_several
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.derive import models
from symgen.vocabulary.names import nearest

LETTERS = ("M", "c", "g", "tau")
STATES = 3
PARAMETERS = ("J_xx", "J_xy", "J_xz", "J_yz", "J_zz", "h_x", "h_y", "h_z", "J_yy", "m")
"""Parameters of one link, in the order in which they are preferred as base parameters. Later ones are expressed by earlier
ones.
"""
STEPS = 2**20
"""How many values a coordinate is drawn from."""

Matter = tuple[Constant, Vec3, Mat3]
"""(m, h, J)."""
Twist = tuple[Vec3, Vec3]
Entry = tuple[int, ...]
Row = list[Constant]


@dataclass(frozen=True)
class Structure:
    """Of one mechanism and letter; indices count from 0.

    `joints[i][j]` (M; `joints[i]` of a vector): the joints whose coordinate the entry depends on. `parameters` likewise: names of
    what is not zero in this robot and changes the entry: m_2, h_2_x (h = m c), J_2_xx (about the origin of link 2's frame) and
    l_2_x (the place of that frame in its parent's). `base`: (name, {parameter: coefficient}) of every base parameter, all ten
    parameters of every link considered, whether zero here or not; it is named after the first parameter in it. `values`: theirs
    (SI units).
    """

    robot: str
    letter: str
    joint_names: tuple[str, ...]
    joints: tuple[Any, ...]
    parameters: tuple[Any, ...]
    base: tuple[tuple[str, Mapping[str, Fraction]], ...]
    values: tuple[Fraction, ...]

    @property
    def rank(self) -> int:
        """How many base parameters there are."""
        return len(self.base)

    @property
    def chance(self) -> float:
        """Bound on the probability that one dependence was overlooked."""
        return float(Fraction(4 * len(self.joint_names) + 3, STEPS) ** STATES)

    def entries(self) -> list[tuple[str, tuple[int, ...], tuple[str, ...]]]:
        """(name, joints, parameters) of every entry, of M those with i ≤ j."""
        n = len(self.joint_names)
        if self.letter != "M":
            return [(f"{self.letter}[{i}]", self.joints[i], self.parameters[i]) for i in range(n)]
        return [
            (f"M[{i},{j}]", self.joints[i][j], self.parameters[i][j])
            for i in range(n)
            for j in range(i, n)
        ]

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """For a person: joints, parameters, base parameters with their values."""
        rows = self.entries()
        width = max(len(name) for name, _, _ in rows)
        numbered = ", ".join(f"{i} {name}" for i, name in enumerate(self.joint_names))
        lines = [f"{self.letter} of '{self.robot}': joints {numbered}"]
        lines += ["", "depends on the coordinates of joints"]
        lines += [
            f"  {name:{width}}  {' '.join(str(i) for i in joints) or '-'}"
            for name, joints, _ in rows
        ]
        lines += [
            "",
            "depends on the parameters (of link i: m_i mass, h_i = m c, J_i moments about the origin of its frame,",
            "l_i place of that frame in its parent's)",
        ]
        lines += [
            f"  {name:{width}}  {' '.join(parameters) or '-'}" for name, _, parameters in rows
        ]
        lines += ["", f"{self.rank} base parameters (SI units)"]
        for (_, terms), value in zip(self.base, self.values, strict=True):
            lines.append(f"  {combination(terms)} = {float(value):.6g}")
        lines += [
            "",
            f"A dependence that is listed is certain; one is missing with a probability below {self.chance:.0e}.",
        ]
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """For JSON; exact numbers as text."""
        return {
            "robot": self.robot,
            "quantity": self.letter,
            "joints": {
                name: [self.joint_names[i] for i in joints] for name, joints, _ in self.entries()
            },
            "parameters": {name: list(parameters) for name, _, parameters in self.entries()},
            "base": [
                {
                    "name": name,
                    "combination": {p: str(x) for p, x in terms.items()},
                    "value": float(value),
                }
                for (name, terms), value in zip(self.base, self.values, strict=True)
            ],
            "rank": self.rank,
            "chance_of_a_miss": self.chance,
        }


def combination(terms: Mapping[str, Fraction]) -> str:
    """J_0_zz + 0.25*m_1 - h_1_x."""
    text = ""
    for name, x in terms.items():
        sign = (" - " if x < 0 else " + ") if text else "-" if x < 0 else ""
        text += sign + (name if abs(x) == 1 else f"{number(abs(x))}*{name}")
    return text


@lru_cache(maxsize=32)
def structure(mechanism: Mechanism, letter: str) -> Structure:
    """The structure of "M", "c", "g" or "tau". Raises RequestError for another letter."""
    nearest(letter, LETTERS, "quantity with a structure")
    refuse_several(mechanism, "a structure", f"read {letter} with --form recursive")
    model = models(mechanism)[0]
    n = len(model.links)
    with k.precision():
        bodies = [matter(link.inertia) for link in model.links]
        felt = _columns(model, letter, [str(s) for s in range(STATES)])
        joints = _joints(model, letter, bodies)
        names = {entry: _parameters(bodies, felt[entry]) for entry in felt}
        for symbol, entries in _lengths(model, letter, bodies).items():
            for entry in entries:
                names[entry].append(symbol)
        base = _base(model, letter)
        own = dict(zip(_names(n), _numbers(bodies), strict=True))
        values = tuple(
            k.to_fraction(_sum(k.rational(x) * own[p] for p, x in terms.items()))
            for _, terms in base
        )
    return Structure(
        mechanism.name,
        letter,
        tuple(joint.name for joint in mechanism.joints),
        _shaped(n, letter, joints),
        _shaped(n, letter, names),
        base,
        values,
    )


def _shaped(n: int, letter: str, found: Mapping[Entry, Sequence[Any]]) -> tuple[Any, ...]:
    if letter != "M":
        return tuple(tuple(found[i,]) for i in range(n))
    return tuple(tuple(tuple(found[min(i, j), max(i, j)]) for j in range(n)) for i in range(n))


def _names(n: int) -> list[str]:
    """m_0, h_0_x, …: every parameter in the order of the regressor's columns."""
    return [
        "_".join([stem, str(b), *where])
        for b in range(n)
        for stem, *where in (name.split("_") for name in PARAMETERS)
    ]


def _numbers(bodies: Sequence[Matter]) -> list[Constant]:
    """The values of `_names`."""
    return [k.normalize(x) for body in bodies for x in ten(body)]


def _sum(terms: Iterable[Constant]) -> Constant:
    total = k.ZERO
    for x in terms:
        total = total + x
    return k.normalize(total)


# -- dependence ------------------------------------------------------------------------------------------------------------


def _columns(model: Model, letter: str, seeds: Sequence[str]) -> dict[Entry, list[Row]]:
    """The rows of the regressor, entry by entry, a row for every state."""
    n = len(model.links)
    found: dict[Entry, list[Row]] = {}
    for seed in seeds:
        for entry, by_link in contributions(model, letter, drawn(n, seed), [units()] * n).items():
            found.setdefault(entry, []).append([x for link in by_link for x in link])
    return found


def _parameters(bodies: Sequence[Matter], rows: Sequence[Row]) -> list[str]:
    """Names of the parameters that are not zero and whose column is not."""
    felt = [any(row[c] != 0 for row in rows) for c in range(len(rows[0]))]
    there = zip(_names(len(bodies)), _numbers(bodies), felt, strict=True)
    return sorted(
        (name for name, own, is_felt in there if is_felt and not k.is_zero(own)),
        key=lambda name: (int(name.split("_")[1]), "mhJ".index(name[0]), name),
    )


def _total(
    model: Model, letter: str, bodies: Sequence[Matter], state: State
) -> dict[Entry, Constant]:
    found = contributions(model, letter, state, [[body] for body in bodies])
    return {entry: _sum(link[0] for link in links) for entry, links in found.items()}


def _changed(one: Mapping[Entry, Constant], two: Mapping[Entry, Constant]) -> set[Entry]:
    return {entry for entry in one if not k.is_zero(k.normalize(one[entry] - two[entry]))}


def _joints(model: Model, letter: str, bodies: Sequence[Matter]) -> dict[Entry, list[int]]:
    """By moving one joint at a time."""
    n = len(model.links)
    changed: list[set[Entry]] = [set() for _ in range(n)]
    for s in range(STATES):
        state, other = drawn(n, str(s)), drawn(n, f"{s}, elsewhere")
        here = _total(model, letter, bodies, state)
        for joint in range(n):
            changed[joint] |= _changed(
                here, _total(model, letter, bodies, moved(state, other, joint))
            )
    return {entry: [i for i in range(n) if entry in changed[i]] for entry in here}


def _lengths(model: Model, letter: str, bodies: Sequence[Matter]) -> dict[str, set[Entry]]:
    """By changing one length that is not zero at a time, the links' own matter in place."""
    n = len(model.links)
    found: dict[str, set[Entry]] = {}
    for s in range(STATES):
        state, other = drawn(n, str(s)), drawn(n, f"{s}, longer")
        here = _total(model, letter, bodies, state)
        for i, link in enumerate(model.links):
            for axis in range(3):
                if not k.is_zero(link.shift[axis]):
                    shift = [x + other.q[i] if a == axis else x for a, x in enumerate(link.shift)]
                    links = [
                        *model.links[:i],
                        replace(link, shift=(shift[0], shift[1], shift[2])),
                        *model.links[i + 1 :],
                    ]
                    there = _total(replace(model, links=tuple(links)), letter, bodies, state)
                    found.setdefault(f"l_{i}_{AXES[axis]}", set()).update(_changed(here, there))
    return found


# -- base parameters -----------------------------------------------------------------------------------------------------------


def _base(model: Model, letter: str) -> tuple[tuple[str, dict[str, Fraction]], ...]:
    """The row echelon form of the regressor over enough states: what a column adds to those before it.

    Links come base first, so that a parent carries what a joint cannot feel. Enough states: the rows of STATES more lie in the
    space of those before.
    """
    names = _names(len(model.links))
    rows: list[Row] = []
    while True:
        seeds = [f"base {len(rows)} {s}" for s in range(STATES)]
        fresh = [row for found in _columns(model, letter, seeds).values() for row in found]
        echelon = _echelon(rows)
        if rows and all(_within(row, echelon) for row in fresh):
            break
        rows += fresh
    return tuple(
        (names[c], {names[i]: k.to_fraction(x) for i, x in enumerate(row) if not k.is_zero(x)})
        for c, row in sorted(echelon.items())
    )


def _echelon(rows: Sequence[Row]) -> dict[int, Row]:
    """Reduced row echelon form: column of the pivot → row."""
    if rows and all(k.is_rational(x) for row in rows for x in row):
        return _rational_echelon(rows)
    left = [list(row) for row in rows]
    found: dict[int, Row] = {}
    for c in range(len(rows[0]) if rows else 0):
        best = max(
            (row for row in left if not k.is_zero(row[c])),
            key=lambda row: abs(k.as_float(row[c])),
            default=None,
        )
        if best is None:
            continue
        pivot = [k.normalize(x / best[c]) for x in best]
        left = [_without(row, pivot, c) for row in left if row is not best]
        found = {at: _without(row, pivot, c) for at, row in found.items()}
        found[c] = pivot
    return found


def _rational_echelon(rows: Sequence[Row]) -> dict[int, Row]:
    """Reduced row echelon form of rationals."""
    reduced, rank = fmpq_mat([list(row) for row in rows]).rref()
    pivoted = reduced.tolist()[:rank]
    return {next(c for c, x in enumerate(row) if x != 0): row for row in pivoted}


def _without(row: Row, pivot: Row, c: int) -> Row:
    factor = row[c]
    return (
        row
        if k.is_zero(factor)
        else [k.normalize(x - factor * y) for x, y in zip(row, pivot, strict=True)]
    )


def _within(row: Row, echelon: Mapping[int, Row]) -> bool:
    for c, pivot in echelon.items():
        row = _without(row, pivot, c)
    return all(k.is_zero(x) for x in row)


# -- the regressor at one state --


@dataclass(frozen=True)
class State:
    """A joint's cosine, sine and coordinate are independent unknowns of a formula, each drawn for itself; v and a likewise."""

    turn: tuple[tuple[Constant, Constant], ...]
    q: tuple[Constant, ...]
    v: tuple[Constant, ...]
    a: tuple[Constant, ...]


def drawn(n: int, seed: str) -> State:
    """A rational state; each number is one of STEPS in [−2, 2], an angle by t = tan q/2."""
    random = Random(f"structure/{n}/{seed}")

    def number() -> Constant:
        return k.rational(Fraction(4 * random.randrange(STEPS) - 2 * STEPS, STEPS))

    def turn() -> tuple[Constant, Constant]:
        t = number()
        return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)

    return State(
        tuple(turn() for _ in range(n)), *(tuple(number() for _ in range(n)) for _ in range(3))
    )


def moved(state: State, other: State, joint: int) -> State:
    """`state` with one joint where `other` has it."""

    def put(a: tuple[Constant, ...], b: tuple[Constant, ...]) -> tuple[Constant, ...]:
        return (*a[:joint], b[joint], *a[joint + 1 :])

    return replace(state, turn=put(state.turn, other.turn), q=put(state.q, other.q))


def matter(inertia: Inertia) -> Matter:
    """The ten numbers of a link: J = tr(Σ)1 − Σ."""
    xx, xy, xz, yy, yz, zz = inertia.S
    J = [
        [k.normalize(yy + zz), -xy, -xz],
        [-xy, k.normalize(xx + zz), -yz],
        [-xz, -yz, k.normalize(xx + yy)],
    ]
    return (
        inertia.m,
        inertia.h,
        ((J[0][0], J[0][1], J[0][2]), (J[1][0], J[1][1], J[1][2]), (J[2][0], J[2][1], J[2][2])),
    )


def ten(body: Matter) -> tuple[Constant, ...]:
    """In the order of PARAMETERS."""
    m, h, J = body
    return (J[0][0], J[0][1], J[0][2], J[1][2], J[2][2], *h, J[1][1], m)


def units() -> list[Matter]:
    """One parameter 1 and the others 0, in the order of PARAMETERS."""
    nothing: Mat3 = (k.ORIGIN, k.ORIGIN, k.ORIGIN)
    found: list[Matter] = []
    for name in PARAMETERS:
        stem, _, where = name.partition("_")
        at = ["xyz".index(axis) for axis in where]
        if stem == "J":
            rows = [
                [k.ONE if (r, c) in ((at[0], at[1]), (at[1], at[0])) else k.ZERO for c in range(3)]
                for r in range(3)
            ]
            found.append((k.ZERO, k.ORIGIN, tuple(tuple(row) for row in rows)))  # type: ignore[arg-type]
        else:
            found.append(
                (k.ZERO, k.IDENTITY[at[0]], nothing) if stem == "h" else (k.ONE, k.ORIGIN, nothing)
            )
    return found


def entries(model: Model, letter: str) -> list[Entry]:
    """(i, j), i ≤ j, of M, (i,) of a vector."""
    n = len(model.links)
    return (
        [(i, j) for i in range(n) for j in range(i, n)]
        if letter == "M"
        else [(i,) for i in range(n)]
    )


def contributions(
    model: Model, letter: str, state: State, bodies: Sequence[Sequence[Matter]]
) -> dict[Entry, list[list[Constant]]]:
    """Contributions to M, c, g or tau of each of `bodies[b]`, alone on link b: entry → link → body → number."""
    found = {entry: [[k.ZERO] * len(there) for there in bodies] for entry in entries(model, letter)}
    rates: list[dict[int, Twist]] = []
    motions: list[tuple[Vec3, Vec3, Vec3]] = []
    for b, link in enumerate(model.links):
        frame = _Crossing(link, state, b)
        at = {
            j: frame.to_child(*twist)
            for j, twist in (rates[link.parent].items() if link.parent >= 0 else ())
        }
        at[b] = (frame.turn, frame.slide)
        rates.append(at)
        motions.append(_motion(letter, link, frame, motions, state, b))
        for place, body in enumerate(bodies[b]):
            if letter == "M":
                for j in at:
                    n, f = _wrench(body, (k.ORIGIN, *at[j]))
                    for i in at:
                        if i <= j:
                            found[i, j][b][place] = k.normalize(
                                k.dot(at[i][0], n) + k.dot(at[i][1], f)
                            )
            else:
                n, f = _wrench(body, motions[b])
                for i in at:
                    found[i,][b][place] = k.normalize(k.dot(at[i][0], n) + k.dot(at[i][1], f))
    return found


class _Crossing:
    """From the parent's frame to a link's at a state: x_parent = rotation x_link + shift, and the joint's unit rate."""

    def __init__(self, link: Link, state: State, b: int) -> None:
        form = joint_form(link.kind)
        c, s = state.turn[b]
        declared = {form.parameters[name]: _number(value) for name, value in link.parameters}
        slid = _rational(form.shift.subs({form.q[0]: _number(state.q[b]), **declared}))
        H = _rational(form.motion_subspace.subs(declared))
        self.shift = k.add(link.shift, k.apply(link.rotation, (slid[0], slid[1], slid[2])))
        self.back = k.transpose(
            k.product(link.rotation, k.rotation_about(k.IDENTITY[2], c, s))
            if link.turns
            else link.rotation
        )
        self.turn, self.slide = (H[0], H[1], H[2]), (H[3], H[4], H[5])

    def to_child(self, w: Vec3, v: Vec3) -> Twist:
        return k.apply(self.back, w), k.apply(self.back, k.add(v, k.cross(w, self.shift)))


def _number(value: Constant) -> Any:
    return sp.Rational(int(value.p), int(value.q))


def _rational(column: Any) -> tuple[Constant, ...]:
    return tuple(k.rational(Fraction(int(x.p), int(x.q))) for x in column)


def _motion(
    letter: str,
    link: Link,
    frame: _Crossing,
    before: Sequence[tuple[Vec3, Vec3, Vec3]],
    state: State,
    b: int,
) -> tuple[Vec3, Vec3, Vec3]:
    """(ω, ω̇, acceleration of the origin less gravity) in the link's axes. For c, a is left out; for g, v as well."""
    v = state.v[b] if letter in ("c", "tau") else k.ZERO
    a = state.a[b] if letter == "tau" else k.ZERO
    w, dw, acc = (
        before[link.parent]
        if link.parent >= 0
        else (k.ORIGIN, k.ORIGIN, k.scale(-k.ONE, link.gravity))
    )
    here = k.add(acc, k.add(k.cross(dw, frame.shift), k.cross(w, k.cross(w, frame.shift))))
    carried, turning, sliding = (
        k.apply(frame.back, w),
        k.scale(v, frame.turn),
        k.scale(v, frame.slide),
    )
    spin = k.add(k.add(k.apply(frame.back, dw), k.scale(a, frame.turn)), k.cross(carried, turning))
    pull = k.add(
        k.add(k.apply(frame.back, here), k.scale(a, frame.slide)),
        k.cross(carried, k.scale(k.rational(2), sliding)),
    )
    return k.add(carried, turning), spin, pull


def _wrench(body: Matter, motion: tuple[Vec3, Vec3, Vec3]) -> tuple[Vec3, Vec3]:
    (m, h, J), (w, dw, acc) = body, motion
    f = k.add(k.scale(m, acc), k.add(k.cross(dw, h), k.cross(w, k.cross(w, h))))
    return k.add(k.cross(h, acc), k.add(k.apply(J, dw), k.cross(w, k.apply(J, w)))), f
