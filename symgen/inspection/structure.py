"""Dependence of each entry of M, c, g or tau, and the base parameters: the combinations of inertial
parameters that matter.

M, c, g and tau are linear functions of inertial parameters. Each link's inertia enters by the ten
numbers of PARAMETERS: mass m (kg), first moment h = m c (kg·m) and moments of inertia J (kg·m²,
tensor entries) about the origin of its chosen frame, in the axes of that frame. The wrench that a
link needs for its motion (ω, ω̇, acceleration a of the origin, gravity included) is f = m a + ω̇ ×
h + ω × (ω × h), n = h × a + J ω̇ + ω × J ω. Joint i contributes ξᵢᵀ (n, f), with ξᵢ the twist of
that link per unit rate of joint i.

Dependence is decided by evaluation at STATES random rational states, over rationals if the model is
exact and over balls of 120 digits otherwise. A dependence that is found is certain. A dependence is
missed only if a nonzero rational function vanishes at every state. The degree of its numerator is
at most D = 4 n + 3 in t = tan q/2, q, v and a of the n joints. By the Schwartz- Zippel lemma the
probability of a miss is at most (D / STEPS)^STATES.
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
"""Parameters of one link, in the order of preference as base parameters. Later ones are expressed
by earlier ones.
"""
STEPS = 2**20
"""Number of values from which a coordinate is drawn."""

BodyInertia = tuple[Constant, Vec3, Mat3]
"""(m, h, J)."""
Twist = tuple[Vec3, Vec3]
Entry = tuple[int, ...]
Row = list[Constant]


@dataclass(frozen=True)
class Structure:
    """Dependence and base parameters of one letter of one mechanism; indices count from 0.

    `joints[i][j]` (M; `joints[i]` of a vector): the joints on whose coordinates the entry depends.
    `parameters`: for each entry, the names of the nonzero parameters on which it depends: m_2,
    h_2_x (h = m c), J_2_xx (about the origin of link 2's frame) and l_2_x (the position of that
    frame in its parent's). `base`: (name, {parameter: coefficient}) of each base parameter, with
    all ten parameters of each link considered, zero or not; it is named after its first parameter.
    `values`: their values (SI units).
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
        """Number of base parameters."""
        return len(self.base)

    @property
    def chance(self) -> float:
        """Bound on the probability that one dependence was missed."""
        return float(Fraction(4 * len(self.joint_names) + 3, STEPS) ** STATES)

    def entries(self) -> list[tuple[str, tuple[int, ...], tuple[str, ...]]]:
        """Return (name, joints, parameters) of each entry; for M those with i ≤ j."""
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
        """Return a readable text: joints, parameters, base parameters with their values."""
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
            (
                "depends on the parameters (of link i: m_i mass, h_i = m c, J_i moments about the"
                " origin of its frame,"
            ),
            "l_i position of that frame in its parent's)",
        ]
        lines += [
            f"  {name:{width}}  {' '.join(parameters) or '-'}" for name, _, parameters in rows
        ]
        lines += ["", f"{self.rank} base parameters (SI units)"]
        for (_, terms), value in zip(self.base, self.values, strict=True):
            lines.append(f"  {combination(terms)} = {float(value):.6g}")
        lines += [
            "",
            (
                "A dependence that is listed is certain; one is missing with a probability below"
                f" {self.chance:.0e}."
            ),
        ]
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Return the data for JSON; exact numbers as text."""
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
    """Return a linear combination as text: J_0_zz + 0.25*m_1 - h_1_x."""
    text = ""
    for name, x in terms.items():
        sign = (" - " if x < 0 else " + ") if text else "-" if x < 0 else ""
        text += sign + (name if abs(x) == 1 else f"{number(abs(x))}*{name}")
    return text


@lru_cache(maxsize=32)
def structure(mechanism: Mechanism, letter: str) -> Structure:
    """Return the structure of "M", "c", "g" or "tau". Raises RequestError for another letter."""
    nearest(letter, LETTERS, "quantity with a structure")
    refuse_several(mechanism, "a structure", f"read {letter} with --form recursive")
    model = models(mechanism)[0]
    n = len(model.links)
    with k.precision():
        bodies = [inertial_parameters(link.inertia) for link in model.links]
        regressor_rows = _columns(model, letter, [str(s) for s in range(STATES)])
        joints = _joints(model, letter, bodies)
        names = {entry: _parameters(bodies, regressor_rows[entry]) for entry in regressor_rows}
        for symbol, entries in _lengths(model, letter, bodies).items():
            for entry in entries:
                names[entry].append(symbol)
        base = _base(model, letter)
        parameter_values = dict(zip(_names(n), _numbers(bodies), strict=True))
        values = tuple(
            k.to_fraction(_sum(k.rational(x) * parameter_values[p] for p, x in terms.items()))
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


def _shaped(n: int, letter: str, by_entry: Mapping[Entry, Sequence[Any]]) -> tuple[Any, ...]:
    if letter != "M":
        return tuple(tuple(by_entry[i,]) for i in range(n))
    return tuple(tuple(tuple(by_entry[min(i, j), max(i, j)]) for j in range(n)) for i in range(n))


def _names(n: int) -> list[str]:
    """Return the names m_0, h_0_x, … of all parameters in the order of the regressor's columns."""
    return [
        "_".join([stem, str(b), *where])
        for b in range(n)
        for stem, *where in (name.split("_") for name in PARAMETERS)
    ]


def _numbers(bodies: Sequence[BodyInertia]) -> list[Constant]:
    """Return the values of `_names`."""
    return [k.normalize(x) for body in bodies for x in inertia_entries(body)]


def _sum(terms: Iterable[Constant]) -> Constant:
    total = k.ZERO
    for x in terms:
        total = total + x
    return k.normalize(total)


# -- dependence ------------------------------------------------------------------------------------


def _columns(model: Model, letter: str, seeds: Sequence[str]) -> dict[Entry, list[Row]]:
    """Return the rows of the regressor for each entry, one row per state."""
    n = len(model.links)
    rows: dict[Entry, list[Row]] = {}
    for seed in seeds:
        for entry, by_link in contributions(
            model, letter, random_state(n, seed), [unit_parameters()] * n
        ).items():
            rows.setdefault(entry, []).append([x for link in by_link for x in link])
    return rows


def _parameters(bodies: Sequence[BodyInertia], rows: Sequence[Row]) -> list[str]:
    """Return the names of the nonzero parameters with a nonzero column."""
    has_effect = [any(row[c] != 0 for row in rows) for c in range(len(rows[0]))]
    candidates = zip(_names(len(bodies)), _numbers(bodies), has_effect, strict=True)
    return sorted(
        (name for name, value, effective in candidates if effective and not k.is_zero(value)),
        key=lambda name: (int(name.split("_")[1]), "mhJ".index(name[0]), name),
    )


def _total(
    model: Model, letter: str, bodies: Sequence[BodyInertia], state: State
) -> dict[Entry, Constant]:
    by_link = contributions(model, letter, state, [[body] for body in bodies])
    return {entry: _sum(link[0] for link in links) for entry, links in by_link.items()}


def _changed(before: Mapping[Entry, Constant], after: Mapping[Entry, Constant]) -> set[Entry]:
    return {entry for entry in before if not k.is_zero(k.normalize(before[entry] - after[entry]))}


def _joints(model: Model, letter: str, bodies: Sequence[BodyInertia]) -> dict[Entry, list[int]]:
    """Return for each entry the joints on which it depends, by changing one joint at a time."""
    n = len(model.links)
    changed: list[set[Entry]] = [set() for _ in range(n)]
    for s in range(STATES):
        state, second_state = random_state(n, str(s)), random_state(n, f"{s}, elsewhere")
        before = _total(model, letter, bodies, state)
        for joint in range(n):
            changed[joint] |= _changed(
                before,
                _total(model, letter, bodies, replace_joint_state(state, second_state, joint)),
            )
    return {entry: [i for i in range(n) if entry in changed[i]] for entry in before}


def _lengths(model: Model, letter: str, bodies: Sequence[BodyInertia]) -> dict[str, set[Entry]]:
    """Return for each length the entries that depend on it, by changing one nonzero length at a
    time with the links' matter fixed.
    """
    n = len(model.links)
    dependent: dict[str, set[Entry]] = {}
    for s in range(STATES):
        state, second_state = random_state(n, str(s)), random_state(n, f"{s}, longer")
        before = _total(model, letter, bodies, state)
        for i, link in enumerate(model.links):
            for axis in range(3):
                if not k.is_zero(link.shift[axis]):
                    shift = [
                        x + second_state.q[i] if a == axis else x for a, x in enumerate(link.shift)
                    ]
                    links = [
                        *model.links[:i],
                        replace(link, shift=(shift[0], shift[1], shift[2])),
                        *model.links[i + 1 :],
                    ]
                    after = _total(replace(model, links=tuple(links)), letter, bodies, state)
                    dependent.setdefault(f"l_{i}_{AXES[axis]}", set()).update(
                        _changed(before, after)
                    )
    return dependent


# -- base parameters -------------------------------------------------------------------------------


def _base(model: Model, letter: str) -> tuple[tuple[str, dict[str, Fraction]], ...]:
    """Return the base parameters from the row echelon form of the regressor over enough states.

    Links come base first, so that a parent takes over what a joint cannot distinguish. States are
    enough when the rows of STATES more states lie in the row space.
    """
    names = _names(len(model.links))
    rows: list[Row] = []
    while True:
        seeds = [f"base {len(rows)} {s}" for s in range(STATES)]
        new_rows = [
            row for entry_rows in _columns(model, letter, seeds).values() for row in entry_rows
        ]
        echelon = _echelon(rows)
        if rows and all(_within(row, echelon) for row in new_rows):
            break
        rows += new_rows
    return tuple(
        (names[c], {names[i]: k.to_fraction(x) for i, x in enumerate(row) if not k.is_zero(x)})
        for c, row in sorted(echelon.items())
    )


def _echelon(rows: Sequence[Row]) -> dict[int, Row]:
    """Return the reduced row echelon form: pivot column → row."""
    if rows and all(k.is_rational(x) for row in rows for x in row):
        return _rational_echelon(rows)
    remaining = [list(row) for row in rows]
    echelon: dict[int, Row] = {}
    for c in range(len(rows[0]) if rows else 0):
        pivot_row = max(
            (row for row in remaining if not k.is_zero(row[c])),
            key=lambda row: abs(k.as_float(row[c])),
            default=None,
        )
        if pivot_row is None:
            continue
        pivot = [k.normalize(x / pivot_row[c]) for x in pivot_row]
        remaining = [_eliminate_column(row, pivot, c) for row in remaining if row is not pivot_row]
        echelon = {column: _eliminate_column(row, pivot, c) for column, row in echelon.items()}
        echelon[c] = pivot
    return echelon


def _rational_echelon(rows: Sequence[Row]) -> dict[int, Row]:
    """Return the reduced row echelon form of rationals."""
    reduced, rank = fmpq_mat([list(row) for row in rows]).rref()
    pivoted = reduced.tolist()[:rank]
    return {next(c for c, x in enumerate(row) if x != 0): row for row in pivoted}


def _eliminate_column(row: Row, pivot: Row, c: int) -> Row:
    factor = row[c]
    return (
        row
        if k.is_zero(factor)
        else [k.normalize(x - factor * y) for x, y in zip(row, pivot, strict=True)]
    )


def _within(row: Row, echelon: Mapping[int, Row]) -> bool:
    for c, pivot in echelon.items():
        row = _eliminate_column(row, pivot, c)
    return all(k.is_zero(x) for x in row)


# -- the regressor at one state --


@dataclass(frozen=True)
class State:
    """A random state; cosine, sine and coordinate of a joint are independent unknowns of a formula,
    as are v and a.
    """

    cosine_sine: tuple[tuple[Constant, Constant], ...]
    q: tuple[Constant, ...]
    v: tuple[Constant, ...]
    a: tuple[Constant, ...]


def random_state(n: int, seed: str) -> State:
    """Return a rational state; each number is one of STEPS in [−2, 2], an angle is drawn by t = tan
    q/2.
    """
    random = Random(f"structure/{n}/{seed}")

    def number() -> Constant:
        return k.rational(Fraction(4 * random.randrange(STEPS) - 2 * STEPS, STEPS))

    def random_rotation() -> tuple[Constant, Constant]:
        t = number()
        return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)

    return State(
        tuple(random_rotation() for _ in range(n)),
        *(tuple(number() for _ in range(n)) for _ in range(3)),
    )


def replace_joint_state(state: State, donor: State, joint: int) -> State:
    """Return `state` with the state of one joint taken from `donor`."""

    def replace_at(a: tuple[Constant, ...], b: tuple[Constant, ...]) -> tuple[Constant, ...]:
        return (*a[:joint], b[joint], *a[joint + 1 :])

    return replace(
        state,
        cosine_sine=replace_at(state.cosine_sine, donor.cosine_sine),
        q=replace_at(state.q, donor.q),
    )


def inertial_parameters(inertia: Inertia) -> BodyInertia:
    """Return m, h and J = tr(Σ)1 − Σ of a link."""
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


def inertia_entries(body: BodyInertia) -> tuple[Constant, ...]:
    """Return the ten numbers in the order of PARAMETERS."""
    m, h, J = body
    return (J[0][0], J[0][1], J[0][2], J[1][2], J[2][2], *h, J[1][1], m)


def unit_parameters() -> list[BodyInertia]:
    """Return ten sets of parameters, in the order of PARAMETERS: one parameter 1, the others 0."""
    zero_matrix: Mat3 = (k.ORIGIN, k.ORIGIN, k.ORIGIN)
    result: list[BodyInertia] = []
    for name in PARAMETERS:
        stem, _, suffix = name.partition("_")
        axes = ["xyz".index(axis) for axis in suffix]
        if stem == "J":
            rows = [
                [
                    k.ONE if (r, c) in ((axes[0], axes[1]), (axes[1], axes[0])) else k.ZERO
                    for c in range(3)
                ]
                for r in range(3)
            ]
            matrix = tuple(tuple(row) for row in rows)
            result.append((k.ZERO, k.ORIGIN, matrix))  # type: ignore[arg-type]
        else:
            result.append(
                (k.ZERO, k.IDENTITY[axes[0]], zero_matrix)
                if stem == "h"
                else (k.ONE, k.ORIGIN, zero_matrix)
            )
    return result


def entries(model: Model, letter: str) -> list[Entry]:
    """Return the entries (i, j), i ≤ j, of M, or (i,) of a vector."""
    n = len(model.links)
    return (
        [(i, j) for i in range(n) for j in range(i, n)]
        if letter == "M"
        else [(i,) for i in range(n)]
    )


def contributions(
    model: Model, letter: str, state: State, bodies: Sequence[Sequence[BodyInertia]]
) -> dict[Entry, list[list[Constant]]]:
    """Return the contribution of each of `bodies[b]`, alone on link b, to each entry: entry → link
    → body → number.
    """
    result = {
        entry: [[k.ZERO] * len(link_bodies) for link_bodies in bodies]
        for entry in entries(model, letter)
    }
    rates: list[dict[int, Twist]] = []
    motions: list[tuple[Vec3, Vec3, Vec3]] = []
    for b, link in enumerate(model.links):
        frame = _Crossing(link, state, b)
        twists = {
            j: frame.to_child(*twist)
            for j, twist in (rates[link.parent].items() if link.parent >= 0 else ())
        }
        twists[b] = (frame.cosine_sine, frame.slide)
        rates.append(twists)
        motions.append(_motion(letter, link, frame, motions, state, b))
        for index, body in enumerate(bodies[b]):
            if letter == "M":
                for j in twists:
                    n, f = _wrench(body, (k.ORIGIN, *twists[j]))
                    for i in twists:
                        if i <= j:
                            result[i, j][b][index] = k.normalize(
                                k.dot(twists[i][0], n) + k.dot(twists[i][1], f)
                            )
            else:
                n, f = _wrench(body, motions[b])
                for i in twists:
                    result[i,][b][index] = k.normalize(
                        k.dot(twists[i][0], n) + k.dot(twists[i][1], f)
                    )
    return result


class _Crossing:
    """Transform from the parent's frame to a link's at a state, x_parent = rotation x_link + shift,
    and the joint's unit twist.
    """

    def __init__(self, link: Link, state: State, b: int) -> None:
        form = joint_form(link.kind)
        c, s = state.cosine_sine[b]
        declared = {form.parameters[name]: _number(value) for name, value in link.parameters}
        slid = _rational(form.shift.subs({form.q[0]: _number(state.q[b]), **declared}))
        H = _rational(form.motion_subspace.subs(declared))
        self.shift = k.add(link.shift, k.apply(link.rotation, (slid[0], slid[1], slid[2])))
        self.rotation_to_child = k.transpose(
            k.product(link.rotation, k.rotation_about(k.IDENTITY[2], c, s))
            if link.turns
            else link.rotation
        )
        self.cosine_sine, self.slide = (H[0], H[1], H[2]), (H[3], H[4], H[5])

    def to_child(self, w: Vec3, v: Vec3) -> Twist:
        return k.apply(self.rotation_to_child, w), k.apply(
            self.rotation_to_child, k.add(v, k.cross(w, self.shift))
        )


def _number(value: Constant) -> Any:
    return sp.Rational(int(value.p), int(value.q))


def _rational(column: Any) -> tuple[Constant, ...]:
    return tuple(k.rational(Fraction(int(x.p), int(x.q))) for x in column)


def _motion(
    letter: str,
    link: Link,
    frame: _Crossing,
    motions: Sequence[tuple[Vec3, Vec3, Vec3]],
    state: State,
    b: int,
) -> tuple[Vec3, Vec3, Vec3]:
    """Return (ω, ω̇, acceleration of the origin less gravity) in the link's axes; a = 0 for c, also
    v = 0 for g.
    """
    v = state.v[b] if letter in ("c", "tau") else k.ZERO
    a = state.a[b] if letter == "tau" else k.ZERO
    w, dw, acc = (
        motions[link.parent]
        if link.parent >= 0
        else (k.ORIGIN, k.ORIGIN, k.scale(-k.ONE, link.gravity))
    )
    at_joint = k.add(acc, k.add(k.cross(dw, frame.shift), k.cross(w, k.cross(w, frame.shift))))
    parent_omega, joint_omega, joint_velocity = (
        k.apply(frame.rotation_to_child, w),
        k.scale(v, frame.cosine_sine),
        k.scale(v, frame.slide),
    )
    angular = k.add(
        k.add(k.apply(frame.rotation_to_child, dw), k.scale(a, frame.cosine_sine)),
        k.cross(parent_omega, joint_omega),
    )
    linear = k.add(
        k.add(k.apply(frame.rotation_to_child, at_joint), k.scale(a, frame.slide)),
        k.cross(parent_omega, k.scale(k.rational(2), joint_velocity)),
    )
    return k.add(parent_omega, joint_omega), angular, linear


def _wrench(body: BodyInertia, motion: tuple[Vec3, Vec3, Vec3]) -> tuple[Vec3, Vec3]:
    (m, h, J), (w, dw, acc) = body, motion
    f = k.add(k.scale(m, acc), k.add(k.cross(dw, h), k.cross(w, k.cross(w, h))))
    return k.add(k.cross(h, acc), k.add(k.apply(J, dw), k.cross(w, k.apply(J, w)))), f
