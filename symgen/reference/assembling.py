"""Closing the loops of a mechanism: a closed pose near its declared start, what its rows are worth there, and closed states.

Whether rows are redundant can only be decided where the loops are closed: Bennett's linkage has rank 3 at random positions and 2
on its loops. So it is assembled first, by damped Gauss-Newton steps in floats, and then sharpened: with a Jacobian that is off by
rounding each step gains some nine digits, and A itself is needed no better.

Of a closed state some velocities depend on the others. They alone are moved to close a drawn state, so that what is drawn stays
exact, and the closed state is one and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import flint
import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference import assembly_starts, closing, rounding
from symgen.reference.integrate import integrate
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.rounding import ROUNDED, exact_rank, given_columns, spanning_columns
from symgen.reference.states import GRID
from symgen.support.errors import RequestError

DIGITS = 120
"""To which closed states are known; they are decimals of as many places."""
GUARD = 30
STARTS = 16
"""Poses from which it is tried to close the loops."""
RANK = 1e-7
"""A singular value this small a part of the largest is none, in floats on the loops."""
NOTHING = Fraction(1, 10**40)
"""Of a row of A and of what elimination leaves of it, beside the largest entry."""
TINY, SHUT = 10.0 ** -(DIGITS + 5), 10.0**-100
"""rad and m: the last change of a sharpened pose, and how far it may be open."""
SHARPENED = 40
REACH = Fraction(3, 5)
"""rad and m within which states are drawn round the assembled pose."""
FINE = 2**40
"""Parts of a rad or m by which a position is told that somebody asks for."""
APART = Fraction(1, 16)
"""rad and m by which positions may be off, at most, that are open on purpose."""
STEEP = 1e-2
"""The least of the dependent velocities' singular values, beside the largest, at a state that is drawn."""


class OpenLoops(RequestError):
    """The loops of a mechanism cannot be closed."""


@dataclass(frozen=True)
class Assembly:
    """What closing its loops showed of a mechanism. `kept` are the rows of each loop that are not zero for ever."""

    q: tuple[float, ...]
    kept: tuple[tuple[int, ...], ...]
    rank: int
    dependent: tuple[int, ...]
    """Entries of v that the others give, `rank` of them."""
    given: tuple[int, ...]
    """Likewise, but those that functions in independent coordinates are without: all but the declared ones, or the last of v as
    far as they can be."""
    start: float
    """The largest entry of C at the declared start (m, rad)."""
    actuated: tuple[int, ...] = ()
    """Entries of v that are driven: of the declared joints, or all that are not `given`."""
    passive: tuple[int, ...] = ()
    """Likewise `given` by others, but those that nothing drives first."""
    unmoved: str = ""
    """Why what is driven cannot move all that the loops leave free; empty where it can."""
    rounded: bool = False
    """True if rows are left out because others say the same to ROUNDED, in numbers that contradict each other by less."""

    @property
    def rows(self) -> int:
        """NL, the kept rows of all loops."""
        return sum(map(len, self.kept))

    @property
    def redundant(self) -> int:
        """Rows that others say already."""
        return self.rows - self.rank


@lru_cache(maxsize=64)
def assemble(mechanism: Mechanism) -> Assembly:
    """Close the loops of a mechanism from its declared start, or else from poses round it. OpenLoops says why they cannot be."""
    floats, begun = Motion(mechanism, FLOAT), assembly_starts.start(mechanism)
    start = float(np.abs(closing.residual(floats, None, begun)).max())
    tries, turned, refused = [], False, None
    for attempt in range(STARTS):
        near = assembly_starts.near(mechanism, begun, attempt)
        q = gauss_newton(floats, None, near)
        tries.append(float(np.abs(closing.residual(floats, None, q)).max()))
        if not rounding.contradiction(mechanism, q) <= ROUNDED:
            continue
        if closing.astray(floats, q):
            turned = True
            continue
        try:
            found = _judged(mechanism, near, q, start)
        except OpenLoops as error:
            refused = refused or error
            if start <= CLOSED:  # what is declared closed is meant so
                break
        else:
            return _divided(mechanism, found)
    if refused is not None:
        raise refused
    if turned:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close with one frame turned half round against the other alone; turn "
            "that frame, or declare a start near a closed pose"
        )
    raise OpenLoops(
        f"the loops of '{mechanism.name}' cannot be closed: from {STARTS} poses round its start the best is off by "
        f"{min(tries):.2g} m or rad, and rounded numbers explain {ROUNDED:g} of the robot's size or rad; look for a "
        "wrong length or frame, write more digits, or declare a start near a closed pose"
    )


def _judged(mechanism: Mechanism, near: Array, q: Array, start: float) -> Assembly:
    """The rows that count at a pose q that is closed near another, and their rank: as the numbers are, or where they are rounded
    as they are meant.

    OpenLoops: neither makes a mechanism that moves.
    """
    A, exact, refused = closing.jacobian(Motion(mechanism, FLOAT), None, q), None, None
    try:
        exact = _as_declared(mechanism, q, A, start)
    except OpenLoops as error:
        refused = error
    if exact is not None and exact.rank <= rounding.rank(mechanism, A):
        return exact
    try:
        return _as_rounded(mechanism, near, q, start)
    except OpenLoops as error:
        if exact is not None:  # rows that differ little in this pose alone
            return exact
        raise refused or error from None


def _as_declared(mechanism: Mechanism, q: Array, A: Array, start: float) -> Assembly | None:
    """With all rows that are not zero for ever; None where the numbers contradict each other."""
    if np.abs(closing.residual(Motion(mechanism, FLOAT), None, q)).max() > CLOSED:
        return None
    values = np.linalg.svd(A, compute_uv=False)
    rank = int((values > RANK * values[0]).sum())
    _refuse_rank(mechanism, A, rank)
    every = tuple(tuple(range(len(loop.type.rows))) for loop in mechanism.loops)
    guess = _guessed(q, every, A, rank, start)
    own = _closed(
        Motion(mechanism, FLOAT),
        Motion(mechanism, arb(DIGITS + GUARD)),
        guess,
        assembly_starts.rational(mechanism, q),
        0.0,
    )
    return None if own is None else _in_balls(mechanism, guess, own)[0]


def _as_rounded(mechanism: Mechanism, near: Array, q: Array, start: float) -> Assembly:
    """With as many rows as are independent in spite of rounding. They close exactly, and the others have to follow them."""
    floats = Motion(mechanism, FLOAT)
    A = closing.jacobian(floats, None, q)
    _refuse_rank(mechanism, A, rounding.rank(mechanism, A))
    kept = rounding.independent_rows(mechanism, A)
    nearer = gauss_newton(floats, kept, near)  # rows that contradict each other lead away from it
    q = nearer if rounding.contradiction(mechanism, nearer) <= ROUNDED else q
    A = closing.jacobian(floats, None, q)
    rank = rounding.rank(mechanism, A)
    _refuse_rank(mechanism, A, rank)
    kept = rounding.independent_rows(mechanism, A)
    guess = _guessed(q, kept, closing.jacobian(floats, kept, q), rank, start, rounded=True)
    own = _sharpened(
        Motion(mechanism, arb(DIGITS + GUARD)),
        mechanism,
        guess,
        assembly_starts.rational(mechanism, q),
    )
    found, states = _in_balls(mechanism, guess, own)
    apart = rounding.contradiction(mechanism, states["q"].astype(float), states["v"].astype(float))
    if apart > ROUNDED:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' have {A.shape[0]} rows, of which {rank} are independent to {ROUNDED:g} "
            f"(singular values {rounding.listed(mechanism, A)}), and the others contradict them by {apart:.1e} where "
            "the loops move; write numbers exactly, as pi/6, or with more digits, or let the loops keep less from "
            "moving"
        )
    return replace(found, q=tuple(map(float, own)))


def _guessed(
    q: Array, kept: rounding.Kept, A: Array, rank: int, start: float, rounded: bool = False
) -> Assembly:
    return Assembly(
        tuple(map(float, q)),
        kept,
        rank,
        spanning_columns(A, rank),
        given_columns(A, rank),
        start,
        rounded=rounded,
    )


def _refuse_rank(mechanism: Mechanism, A: Array, rank: int) -> None:
    if not rank:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close where it is singular: their rank is 0 there; declare another "
            "start"
        )
    if rank >= mechanism.nv:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' leave nothing that moves: {mechanism.nv} velocities, and rows of rank "
            f"{rank} (singular values {rounding.listed(mechanism, A)}, where rounded numbers explain {ROUNDED:g}); "
            "take a loop away, let it keep less from moving, or write more digits"
        )


def _in_balls(
    mechanism: Mechanism, guess: Assembly, own: Array
) -> tuple[Assembly, dict[str, Array]]:
    """A guess without rows that are zero for ever, its rank known at the assembled pose `own` and at several closed states, and
    these states."""
    scalars = arb(DIGITS + GUARD)
    reference = Motion(mechanism, scalars)
    with scalars.working():
        nothing = scalars.constant(NOTHING)
        rank = exact_rank(closing.jacobian(reference, guess.kept, scalars.array(own)), nothing)
    if rank != guess.rank:
        raise OpenLoops(
            f"floats do not tell the rank of the loops of '{mechanism.name}' ({guess.rank}, and {rank} in "
            f"{DIGITS} digits); declare another start"
        )
    states = closed_states(mechanism, guess, 3, seed=0)
    with scalars.working():
        A = closing.jacobian(
            reference, guess.kept, scalars.array(np.array([list(own), *states["q"]], dtype=object))
        )
        largest = max(exact_rank(of_state, nothing) for of_state in A)
        large = [any(abs(x) > nothing for x in A[:, row].ravel()) for row in range(A.shape[1])]
    if rank < largest:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close where it is singular: their rank is {rank} there and "
            f"{largest} elsewhere; declare another start"
        )
    kept, first = [], 0
    for rows in guess.kept:
        kept.append(tuple(k for place, k in enumerate(rows) if large[first + place]))
        first += len(rows)
    return replace(guess, kept=tuple(kept)), states


def _divided(mechanism: Mechanism, at: Assembly) -> Assembly:
    """With the velocities that are declared to be independent, and those that are driven. OpenLoops: others must be named."""
    A, names = (
        closing.jacobian(Motion(mechanism, FLOAT), at.kept, np.array(at.q)),
        mechanism.velocity_names,
    )
    every, given = set(range(mechanism.nv)), at.given
    independent = {k for name in mechanism.independent for k in mechanism.velocities_of[name]}
    if independent:
        given = given_columns(A, at.rank, independent)
        free = every - {*given}
        if free != independent:
            ways = (
                [k for k in sorted(every) if k not in given_columns(A, at.rank, {k})]
                if len(free) == 1
                else sorted(free)
            )
            some = "one of " if len(free) == 1 < len(ways) else ""
            raise OpenLoops(
                f"of '{mechanism.name}' {_counted(independent)} declared to be independent, and the loops leave "
                f"{len(free)} free, on which all others must hang; name {some}{', '.join(names[k] for k in ways)}"
            )
    driven = {k for name in mechanism.actuated for k in mechanism.velocities_of[name]}
    if not driven:
        return replace(at, given=given, actuated=tuple(sorted(every - {*given})), passive=given)
    passive = given_columns(A, at.rank, driven)
    idle = [names[k] for k in sorted(every - driven - {*passive})]
    unmoved = (
        ""
        if not idle
        else (
            f"of '{mechanism.name}' {_counted(driven)} actuated, which cannot move all {mechanism.nv - at.rank} that the loops leave "
            f"free; name {', '.join(idle)} as well, with --actuated or in the description"
        )
    )
    return replace(
        at, given=given, actuated=tuple(sorted(driven)), passive=passive, unmoved=unmoved
    )


def _counted(velocities: Collection[int]) -> str:
    return f"{len(velocities)} velocit{'ies are' if len(velocities) > 1 else 'y is'}"


# -- closed states ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def closed_states(
    mechanism: Mechanism, at: Assembly, count: int, seed: int = 0
) -> dict[str, Array]:
    """`count` states on the loops: q (count, NQ) with C(q) = 0 and v (count, NV) with A v = 0, as Fractions of DIGITS places.

    Drawn round the assembled pose. OpenLoops where too few of the drawn poses close.
    """
    random = Random(f"loops/{seed}/{mechanism.nv}/{count}")
    floats, sharp = Motion(mechanism, FLOAT), Motion(mechanism, arb(DIGITS + GUARD))
    centre = assembly_starts.rational(mechanism, at.q)
    states: dict[str, list[Array]] = {"q": [], "v": []}
    steep, reach = STEEP, REACH
    for tried in range(1, 200 * count):
        if tried % (8 * count) == 0:
            steep, reach = steep / 4, reach / 2
        drawn = assembly_starts.drawn(mechanism, centre, reach, random)
        rates = [Fraction(random.randint(-2 * GRID, 2 * GRID), GRID) for _ in range(mechanism.nv)]
        q = _closed(floats, sharp, at, drawn, steep)
        if q is None:
            continue
        v = _following(floats, sharp, at, q, rates)
        if v is None:
            continue
        states["q"].append(q)
        states["v"].append(v)
        if len(states["q"]) == count:
            return {
                name: np.array([list(row) for row in rows], dtype=object)
                for name, rows in states.items()
            }
    raise OpenLoops(
        f"of the poses drawn round the assembled one of '{mechanism.name}' too few close; declare another start"
    )


def closed_near(mechanism: Mechanism, q: Sequence[float] | None) -> Array:
    """A closed pose (NQ) in Fractions of DIGITS places: where damped steps lead from q, None being the declared start.

    OpenLoops where they lead to none, or to a singular one.
    """
    at, floats = assemble(mechanism), Motion(mechanism, FLOAT)
    if q is None:
        found = np.array(at.q)
    else:
        found = gauss_newton(floats, at.kept, np.array(q, dtype=float))
        if not (size := float(np.abs(closing.residual(floats, at.kept, found)).max())) <= CLOSED:
            raise OpenLoops(
                f"from that position the loops of '{mechanism.name}' do not close: {size:.2g} m or rad are left; "
                "start nearer to a closed one"
            )
        if closing.astray(floats, found):
            raise OpenLoops(
                f"from that position the loops of '{mechanism.name}' close with one frame turned half round against "
                "the other; start nearer to a closed one"
            )
        at = replace(
            at, dependent=spanning_columns(closing.jacobian(floats, at.kept, found), at.rank)
        )
    return _sharpened(
        Motion(mechanism, arb(DIGITS + GUARD)),
        mechanism,
        at,
        assembly_starts.rational(mechanism, found, FINE),
    )


def open_states(
    mechanism: Mechanism, at: Assembly, count: int, seed: int, apart: Fraction
) -> list[Array]:
    """Positions (NQ) on the grid that states are drawn on, off the closed states of the same seed by at most `apart`."""
    random = Random(f"open/{seed}/{mechanism.nv}/{count}")
    closed = closed_states(mechanism, at, count, seed)["q"]
    return [
        assembly_starts.drawn(mechanism, assembly_starts.rational(mechanism, q), apart, random)
        for q in closed
    ]


def _closed(
    floats: Motion, sharp: Motion, at: Assembly, drawn: Array, steep: float
) -> Array | None:
    """A drawn pose, closed by one step δ of the dependent velocities; None where it does not close, or is nearly singular."""
    spread = np.eye(floats.mechanism.nv)[list(at.dependent)]
    q0, delta = drawn.astype(float), np.zeros(len(at.dependent))

    def moved(step: Array) -> Array:
        return integrate(
            floats,
            np.broadcast_to(q0, (*step.shape[:-1], len(q0))),
            step @ spread,
            np.ones(step.shape[:-1]),
        )

    def slope(step: Array) -> Array:
        h = 1e-6
        ways = h * np.eye(len(step))
        up, down = closing.residual(floats, at.kept, moved(step + np.stack([ways, -ways])))
        return np.asarray((up - down).T / (2 * h))

    best, since = np.inf, 0
    for _ in range(60):
        C = closing.residual(floats, at.kept, moved(delta))
        left = float(np.abs(C).max())
        best, since = (left, 0) if left < 0.9 * best else (best, since + 1)
        if since > PATIENCE // 2:
            break
        J = slope(delta)
        step = -np.linalg.lstsq(J, C, rcond=RANK)[0]
        size = float(np.abs(step).max())
        delta = delta + step * min(1.0, LONGEST / max(size, 1e-300))
        if size < 1e-12:
            break
    if (
        not np.abs(closing.residual(floats, at.kept, moved(delta))).max() < CLOSED
        or np.abs(delta).max() > 3
    ):
        return None
    if closing.astray(floats, moved(delta)):
        return None
    values = np.linalg.svd(
        closing.jacobian(floats, at.kept, moved(delta))[:, list(at.dependent)], compute_uv=False
    )
    if values[-1] < steep * values[0]:
        return None
    inverse = np.linalg.pinv(slope(delta), rcond=RANK)
    with sharp.scalars.working():
        exact, back = sharp.scalars.array(drawn), sharp.scalars.array(inverse)
        way, unit = sharp.scalars.array(spread), sharp.scalars.array(1)
        step = sharp.scalars.array(delta)
        for _ in range(SHARPENED):
            q = integrate(sharp, exact, _middle(step @ way), unit)
            C = closing.residual(sharp, at.kept, q)
            change = back @ _middle(C)
            step = _middle(step - change)
            if all(abs(x) < TINY for x in change):
                closes = all(
                    abs(x) < SHUT for x in C
                )  # where rows contradict each other, the least of them is left
                return (
                    _decimal(integrate(sharp, exact, _middle(step @ way), unit)) if closes else None
                )
    return None


def _following(
    floats: Motion, sharp: Motion, at: Assembly, q: Array, rates: Sequence[Fraction]
) -> Array | None:
    """Velocities of which the dependent ones are such that A v = 0."""
    dependent = list(at.dependent)
    inverse = np.linalg.pinv(
        closing.jacobian(floats, at.kept, q.astype(float))[:, dependent], rcond=RANK
    )
    with sharp.scalars.working():
        exact, back = sharp.scalars.array(q), sharp.scalars.array(inverse)
        v = sharp.scalars.array(np.array(rates, dtype=object))
        for k in dependent:
            v[k] = 0 * v[k]
        for _ in range(SHARPENED):
            change = back @ _middle(closing.rows(sharp, at.kept, exact, v, 0 * v)[1])
            v[dependent] = _middle(v[dependent] - change)
            if all(abs(x) < TINY for x in change):
                return _decimal(v)
    return None


def _sharpened(sharp: Motion, mechanism: Mechanism, at: Assembly, drawn: Array) -> Array:
    """The assembled pose on its loops."""
    found = _closed(Motion(mechanism, FLOAT), sharp, at, drawn, 0.0)
    if found is None:
        raise OpenLoops(
            f"the closed pose of '{mechanism.name}' cannot be sharpened, so that it may be singular; declare another "
            "start"
        )
    return found


def _middle(balls: Array) -> Array:
    """Midpoints: a step that corrects need not know how far off it may be."""
    return np.asarray(np.frompyfunc(lambda one: one.mid(), 1, 1)(balls), dtype=object)


def _decimal(balls: Array) -> Array:
    """As decimals of DIGITS places."""
    whole = 10**DIGITS

    def rounded(one: Any) -> Fraction:
        return Fraction(
            int(str((one.mid() * whole + flint.arb("0.5")).floor().unique_fmpz())), whole
        )

    return np.asarray(np.frompyfunc(rounded, 1, 1)(balls), dtype=object)


# -- closing loops in floats: damped Gauss-Newton steps from any position --

CLOSED = 1e-11
"""m and rad: of floats, what is closed."""
TURNS, PATIENCE = 200, 15
"""Steps at most, and those that may gain nothing."""
LONGEST = 0.5
"""rad and m that one step may move a joint by."""


def gauss_newton(floats: Motion, kept: closing.Kept | None, q: Array) -> Array:
    """Damped: the damping falls with what is left, so that the last steps are Gauss and Newton's own."""
    best, since = np.inf, 0
    for _ in range(TURNS):
        C = closing.residual(floats, kept, q)
        size = float(np.abs(C).max())
        best, since = (size, 0) if size < 0.9 * best else (best, since + 1)
        if size < CLOSED / 100 or not np.isfinite(size) or since > PATIENCE:
            break
        A = closing.jacobian(floats, kept, q)
        S = A @ A.T
        if not S.any():  # no joint moves any row
            break
        mu = 1e-3 * min(1.0, size) * np.trace(S) / len(S) + 1e-14 * np.trace(S)
        step = -A.T @ np.linalg.solve(S + mu * np.eye(len(S)), C)
        q = integrate(
            floats,
            q,
            step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)),
            np.array(1.0),
        )
    return q
