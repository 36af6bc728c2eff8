"""Closing the loops of a mechanism: a closed pose near its declared start, what its rows are worth there, and closed states.

Whether rows are redundant can only be decided where the loops are closed: Bennett's linkage has rank 3 at random positions and 2
on its loops. So it is assembled first, by damped Gauss-Newton steps in floats, and then sharpened: with a Jacobian that is off by
rounding each step gains some nine digits, and A itself is needed no better.

Of a closed state some velocities depend on the others. They alone are moved to close a drawn state, so that what is drawn stays
exact, and the closed state is one and the same on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import flint
import numpy as np

from symgen.errors import RequestError
from symgen.mechanism import Mechanism
from symgen.reference import closing, starts
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import GRID
from symgen.reference.steps import integrate

DIGITS = 120
"""To which closed states are known; they are decimals of as many places."""
GUARD = 30
CLOSED = 1e-11
"""m and rad: of floats, what is closed."""
TURNS, PATIENCE = 200, 15
"""Steps at most, and those that may gain nothing."""
STARTS = 16
"""Poses from which it is tried to close the loops."""
LONGEST = 0.5
"""rad and m that one step may move a joint by."""
RANK = 1e-7
"""A singular value this small a part of the largest is none, in floats on the loops."""
NOTHING = Fraction(1, 10**40)
"""Of a row of A and of what elimination leaves of it, beside the largest entry."""
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
    floats, begun = Motion(mechanism, FLOAT), starts.start(mechanism)
    start = float(np.abs(closing.residual(floats, None, begun)).max())
    tries, turned, singular = [], False, None
    for attempt in range(STARTS):
        q = _gauss_newton(floats, starts.near(mechanism, begun, attempt))
        tries.append(float(np.abs(closing.residual(floats, None, q)).max()))
        if tries[-1] > CLOSED:
            continue
        if closing.astray(floats, q):
            turned = True
            continue
        try:
            found = _judged(mechanism, _guessed(mechanism, q, start))
        except OpenLoops as error:
            singular = singular or error
            if start <= CLOSED:   # what is declared closed is meant so
                break
        else:
            return _divided(mechanism, found)
    if singular is not None:
        raise singular
    if turned:
        raise OpenLoops(f"the loops of '{mechanism.name}' close with one frame turned half round against the other alone; turn "
                        "that frame, or declare a start near a closed pose")
    raise OpenLoops(f"the loops of '{mechanism.name}' cannot be closed: from {STARTS} poses round its start the best is off by "
                    f"{min(tries):.2g} m or rad; look for a wrong length or frame, or declare a start near a closed pose")


def _guessed(mechanism: Mechanism, q: Array, start: float) -> Assembly:
    """By the floats of one closed pose."""
    A = closing.jacobian(Motion(mechanism, FLOAT), None, q)
    values = np.linalg.svd(A, compute_uv=False)
    rank = int((values > RANK * values[0]).sum())
    if rank >= mechanism.nv:
        raise OpenLoops(f"the loops of '{mechanism.name}' leave nothing that moves: {mechanism.nv} velocities, and rows of rank "
                        f"{rank}; take a loop away, or let it keep less from moving")
    every = tuple(tuple(range(len(one.type.rows))) for one in mechanism.loops)
    return Assembly(tuple(map(float, q)), every, rank, _dependent(A, rank), _given(A, rank), start)


def _judged(mechanism: Mechanism, guess: Assembly) -> Assembly:
    """With the rows that are not zero for ever, and the rank in balls at several closed poses."""
    states = closed_states(mechanism, guess, 3, seed=0)
    scalars = arb(DIGITS + GUARD)
    reference = Motion(mechanism, scalars)
    # the first one is the assembled pose itself, sharpened
    own = _sharpened(reference, mechanism, guess, starts.rational(mechanism, guess.q))
    q = scalars.array(np.array([list(own), *states["q"]], dtype=object))
    with scalars.working():
        A = closing.jacobian(reference, None, q)
        nothing = scalars.constant(NOTHING)
        ranks = [_rank(one, nothing) for one in A]
        large = [any(abs(x) > nothing for x in A[:, row].ravel()) for row in range(A.shape[1])]
    if ranks[0] < max(ranks):
        raise OpenLoops(f"the loops of '{mechanism.name}' close where it is singular: their rank is {ranks[0]} there and "
                        f"{max(ranks)} elsewhere; declare another start")
    if ranks[0] != guess.rank:
        raise OpenLoops(f"floats do not tell the rank of the loops of '{mechanism.name}' ({guess.rank}, and {ranks[0]} in "
                        f"{DIGITS} digits); declare another start")
    kept, first = [], 0
    for own_rows in guess.kept:
        kept.append(tuple(k for k in own_rows if large[first + k]))
        first += len(own_rows)
    return replace(guess, kept=tuple(kept))


def _rank(A: Array, nothing: Any) -> int:
    """By elimination with the largest entry left as the pivot."""
    rows, found = [list(row) for row in A], 0
    whole = max(abs(x) for row in rows for x in row)
    while rows:
        size, i, j = max((float(abs(x).mid()), i, j) for i, row in enumerate(rows) for j, x in enumerate(row))
        pivot = rows.pop(i)
        if not size or not abs(pivot[j]) > nothing * whole:
            return found
        rows = [[x - p * (row[j] / pivot[j]) for x, p in zip(row, pivot, strict=True)] for row in rows]
        found += 1
    return found


def _divided(mechanism: Mechanism, at: Assembly) -> Assembly:
    """With the velocities that are declared to be independent, and those that are driven. OpenLoops: others must be named."""
    A, names = closing.jacobian(Motion(mechanism, FLOAT), at.kept, np.array(at.q)), mechanism.velocity_names
    every, given = set(range(mechanism.nv)), at.given
    independent = {k for name in mechanism.independent for k in mechanism.velocities_of[name]}
    if independent:
        given = _given(A, at.rank, independent)
        free = every - {*given}
        if free != independent:
            ways = [k for k in sorted(every) if k not in _given(A, at.rank, {k})] if len(free) == 1 else sorted(free)
            some = "one of " if len(free) == 1 < len(ways) else ""
            raise OpenLoops(f"of '{mechanism.name}' {_counted(independent)} declared to be independent, and the loops leave "
                            f"{len(free)} free, on which all others must hang; name {some}{', '.join(names[k] for k in ways)}")
    driven = {k for name in mechanism.actuated for k in mechanism.velocities_of[name]}
    if not driven:
        return replace(at, given=given, actuated=tuple(sorted(every - {*given})), passive=given)
    passive = _given(A, at.rank, driven)
    idle = [names[k] for k in sorted(every - driven - {*passive})]
    unmoved = "" if not idle else (
        f"of '{mechanism.name}' {_counted(driven)} actuated, which cannot move all {mechanism.nv - at.rank} that the loops leave "
        f"free; name {', '.join(idle)} as well, with --actuated or in the description")
    return replace(at, given=given, actuated=tuple(sorted(driven)), passive=passive, unmoved=unmoved)


def _counted(velocities: Collection[int]) -> str:
    return f"{len(velocities)} velocit{'ies are' if len(velocities) > 1 else 'y is'}"


# -- closed states ---------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=16)
def closed_states(mechanism: Mechanism, at: Assembly, count: int, seed: int = 0) -> dict[str, Array]:
    """`count` states on the loops: q (count, NQ) with C(q) = 0 and v (count, NV) with A v = 0, as Fractions of DIGITS places.

    Drawn round the assembled pose. OpenLoops where too few of the drawn poses close.
    """
    random = Random(f"loops/{seed}/{mechanism.nv}/{count}")
    floats, sharp = Motion(mechanism, FLOAT), Motion(mechanism, arb(DIGITS + GUARD))
    centre = starts.rational(mechanism, at.q)
    states: dict[str, list[Array]] = {"q": [], "v": []}
    steep, reach = STEEP, REACH
    for tried in range(1, 200 * count):
        if tried % (8 * count) == 0:
            steep, reach = steep / 4, reach / 2
        drawn = starts.drawn(mechanism, centre, reach, random)
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
            return {name: np.array([list(row) for row in rows], dtype=object) for name, rows in states.items()}
    raise OpenLoops(f"of the poses drawn round the assembled one of '{mechanism.name}' too few close; declare another start")


def closed_near(mechanism: Mechanism, q: Sequence[float] | None) -> Array:
    """A closed pose (NQ) in Fractions of DIGITS places: where damped steps lead from q, None being the declared start.

    OpenLoops where they lead to none, or to a singular one.
    """
    at, floats = assemble(mechanism), Motion(mechanism, FLOAT)
    if q is None:
        found = np.array(at.q)
    else:
        found = _gauss_newton(floats, np.array(q, dtype=float))
        if not (size := float(np.abs(closing.residual(floats, None, found)).max())) <= CLOSED:
            raise OpenLoops(f"from that position the loops of '{mechanism.name}' do not close: {size:.2g} m or rad are left; "
                            "start nearer to a closed one")
        if closing.astray(floats, found):
            raise OpenLoops(f"from that position the loops of '{mechanism.name}' close with one frame turned half round against "
                            "the other; start nearer to a closed one")
        at = replace(at, dependent=_dependent(closing.jacobian(floats, None, found), at.rank))
    return _sharpened(Motion(mechanism, arb(DIGITS + GUARD)), mechanism, at, starts.rational(mechanism, found, FINE))


def open_states(mechanism: Mechanism, at: Assembly, count: int, seed: int, apart: Fraction) -> list[Array]:
    """Positions (NQ) on the grid that states are drawn on, off the closed states of the same seed by at most `apart`."""
    random = Random(f"open/{seed}/{mechanism.nv}/{count}")
    closed = closed_states(mechanism, at, count, seed)["q"]
    return [starts.drawn(mechanism, starts.rational(mechanism, q), apart, random) for q in closed]


def _closed(floats: Motion, sharp: Motion, at: Assembly, drawn: Array, steep: float) -> Array | None:
    """A drawn pose, closed by one step δ of the dependent velocities; None where it does not close, or is nearly singular."""
    spread = np.eye(floats.mechanism.nv)[list(at.dependent)]
    q0, delta = drawn.astype(float), np.zeros(len(at.dependent))

    def moved(step: Array) -> Array:
        return integrate(floats, np.broadcast_to(q0, (*step.shape[:-1], len(q0))), step @ spread, np.ones(step.shape[:-1]))

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
    if not np.abs(closing.residual(floats, at.kept, moved(delta))).max() < CLOSED or np.abs(delta).max() > 3:
        return None
    if closing.astray(floats, moved(delta)):
        return None
    values = np.linalg.svd(closing.jacobian(floats, at.kept, moved(delta))[:, list(at.dependent)], compute_uv=False)
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
            if all(abs(x) < _tiny() for x in change):
                return _decimal(integrate(sharp, exact, _middle(step @ way), unit))
    return None


def _following(floats: Motion, sharp: Motion, at: Assembly, q: Array, rates: Sequence[Fraction]) -> Array | None:
    """Velocities of which the dependent ones are such that A v = 0."""
    dependent = list(at.dependent)
    inverse = np.linalg.pinv(closing.jacobian(floats, at.kept, q.astype(float))[:, dependent], rcond=RANK)
    with sharp.scalars.working():
        exact, back = sharp.scalars.array(q), sharp.scalars.array(inverse)
        v = sharp.scalars.array(np.array(rates, dtype=object))
        for k in dependent:
            v[k] = 0 * v[k]
        for _ in range(SHARPENED):
            change = back @ _middle(closing.rows(sharp, at.kept, exact, v, 0 * v)[1])
            v[dependent] = _middle(v[dependent] - change)
            if all(abs(x) < _tiny() for x in change):
                return _decimal(v)
    return None


def _sharpened(sharp: Motion, mechanism: Mechanism, at: Assembly, drawn: Array) -> Array:
    """The assembled pose on its loops."""
    found = _closed(Motion(mechanism, FLOAT), sharp, at, drawn, 0.0)
    if found is None:
        raise OpenLoops(f"the closed pose of '{mechanism.name}' cannot be sharpened, so that it may be singular; declare another "
                        "start")
    return found


def _tiny() -> Any:
    return flint.arb(10) ** -(DIGITS + 5)


def _middle(balls: Array) -> Array:
    """Midpoints: a step that corrects need not know how far off it may be."""
    return np.asarray(np.frompyfunc(lambda one: one.mid(), 1, 1)(balls), dtype=object)


def _decimal(balls: Array) -> Array:
    """As decimals of DIGITS places."""
    whole = 10**DIGITS

    def rounded(one: Any) -> Fraction:
        return Fraction(int(str((one.mid() * whole + flint.arb("0.5")).floor().unique_fmpz())), whole)

    return np.asarray(np.frompyfunc(rounded, 1, 1)(balls), dtype=object)


def _gauss_newton(floats: Motion, q: Array) -> Array:
    """Damped: the damping falls with what is left, so that the last steps are Gauss and Newton's own."""
    best, since = np.inf, 0
    for _ in range(TURNS):
        C = closing.residual(floats, None, q)
        size = float(np.abs(C).max())
        best, since = (size, 0) if size < 0.9 * best else (best, since + 1)
        if size < CLOSED / 100 or not np.isfinite(size) or since > PATIENCE:
            break
        A = closing.jacobian(floats, None, q)
        S = A @ A.T
        mu = 1e-3 * min(1.0, size) * np.trace(S) / len(S) + 1e-14 * np.trace(S)
        step = -A.T @ np.linalg.solve(S + mu * np.eye(len(S)), C)
        q = integrate(floats, q, step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)), np.array(1.0))
    return q


def _given(A: Array, rank: int, spared: Collection[int] = ()) -> tuple[int, ...]:
    """`rank` columns that span the others, from the last on, each with a good part of its length across those behind it. Those
    that are `spared` come after all others."""
    found: list[int] = []
    for turn, part in itertools.product((False, True) if spared else (False,), (0.2, 0.02, 1e-6)):
        for k in reversed(range(A.shape[1])):
            if len(found) == rank or k in found or (k in spared) is not turn:
                continue
            others = A[:, found]
            left = A[:, k] - others @ np.linalg.lstsq(others, A[:, k], rcond=None)[0] if found else A[:, k]
            if np.linalg.norm(left) > part * np.linalg.norm(A, axis=0).max():
                found.append(k)
    return tuple(sorted(found))


def _dependent(A: Array, rank: int) -> tuple[int, ...]:
    """`rank` columns that span the others, greedily the largest of what is left; of equal ones the first."""
    left, found = np.array(A, dtype=float), []
    for _ in range(rank):
        sizes = [float(f"{size:.5g}") for size in np.linalg.norm(left, axis=0)]
        k = max(range(len(sizes)), key=lambda one: (sizes[one], -one))
        found.append(k)
        way = left[:, k] / np.linalg.norm(left[:, k])
        left = left - np.outer(way, way @ left)
    return tuple(sorted(found))
