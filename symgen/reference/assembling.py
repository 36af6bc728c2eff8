"""Assembly of closed loops: a closed position near the declared start, the rank of the loop
closures there, and closed states.

The redundancy of rows can only be decided where the loops are closed: Bennett's linkage has rank 3
at random positions and rank 2 on its loops. So the loops are assembled first, by damped
Gauss-Newton steps in floats. The position is then refined in balls. The Jacobian has rounding
errors, so each step gains some nine digits; A itself needs no better accuracy.

At a closed state some velocities depend on the others. Only the dependent coordinates are moved to
close a drawn state. So the drawn values stay exact, and the closed state is the same on every
machine.
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
from symgen.reference.rounding import (
    ROUNDED,
    exact_rank,
    spanning_columns,
    trailing_spanning_columns,
)
from symgen.reference.states import GRID
from symgen.support.errors import RequestError

DIGITS = 120
"""Decimal places of closed states."""
GUARD = 30
STARTS = 16
"""Number of start positions from which assembly is tried."""
RANK = 1e-7
"""A singular value below this fraction of the largest counts as zero, in floats on the loops."""
ZERO_SHARE = Fraction(1, 10**40)
"""An entry of A, or its remainder in an elimination, below this fraction of the largest entry
counts as zero.
"""
TINY, SHUT = 10.0 ** -(DIGITS + 5), 10.0**-100
"""rad and m: the last change of a refined position, and the largest residual of a closed one."""
SHARPENED = 40
REACH = Fraction(3, 5)
"""rad and m: states are drawn within this distance of the assembled position."""
FINE = 2**40
"""Grid (parts of a rad or m) to which a position that the user requests is rounded."""
APART = Fraction(1, 16)
"""rad and m: largest offset of positions that are open on purpose."""
STEEP = 1e-2
"""Least singular value of the dependent velocities' columns at a drawn state, relative to the
largest.
"""


class OpenLoops(RequestError):
    """The closed loops of a mechanism cannot be assembled."""


@dataclass(frozen=True)
class Assembly:
    """Result of the assembly: a closed position `q`, and the structure of the loop closures there.

    `kept` are the rows of each closed loop that are not identically zero.
    """

    q: tuple[float, ...]
    kept: tuple[tuple[int, ...], ...]
    rank: int
    dependent: tuple[int, ...]
    """`rank` entries of v that A determines from the others; used to close drawn states."""
    eliminated: tuple[int, ...]
    """`rank` entries of v that functions in independent coordinates eliminate: all but the declared
    independent ones, or else the last entries of v that can be eliminated.
    """
    start: float
    """Largest entry of C at the declared start (m, rad)."""
    actuated: tuple[int, ...] = ()
    """Actuated entries of v: those of the declared joints, or all that are not `eliminated`."""
    passive: tuple[int, ...] = ()
    """`rank` entries of v that the others determine, chosen among the unactuated entries first."""
    unmoved: str = ""
    """Reason why the actuated joints cannot move all degrees of freedom of the closed loops; empty
    if they can.
    """
    rounded: bool = False
    """True if rows were dropped that duplicate others within ROUNDED, although rounded numbers
    contradict each other.
    """

    @property
    def rows(self) -> int:
        """Return NL, the number of kept rows of all closed loops."""
        return sum(map(len, self.kept))

    @property
    def redundant(self) -> int:
        """Return the number of redundant rows."""
        return self.rows - self.rank


@lru_cache(maxsize=64)
def assemble(mechanism: Mechanism) -> Assembly:
    """Return the assembly of a mechanism from its declared start, or else from positions around it.

    Raises OpenLoops with the reason if the loops cannot be closed.
    """
    floats, declared_start = Motion(mechanism, FLOAT), assembly_starts.start_positions(mechanism)
    start_residual = float(np.abs(closing.residual(floats, None, declared_start)).max())
    residuals, misaligned, first_error = [], False, None
    for attempt in range(STARTS):
        start_position = assembly_starts.position_near_start(mechanism, declared_start, attempt)
        q = gauss_newton(floats, None, start_position)
        residuals.append(float(np.abs(closing.residual(floats, None, q)).max()))
        if not rounding.contradiction(mechanism, q) <= ROUNDED:
            continue
        if closing.is_misassembled(floats, q):
            misaligned = True
            continue
        try:
            assembly = _assembly_at(mechanism, start_position, q, start_residual)
        except OpenLoops as error:
            first_error = first_error or error
            if (
                start_residual <= CLOSED
            ):  # the declared start is closed: other positions are not meant
                break
        else:
            return _with_declared_velocities(mechanism, assembly)
    if first_error is not None:
        raise first_error
    if misaligned:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close only with one frame turned by half a turn"
            " against the other; turn that frame, or declare a start near a closed pose"
        )
    raise OpenLoops(
        f"the loops of '{mechanism.name}' cannot be closed: from {STARTS} poses round its start the"
        f" best is off by {min(residuals):.2g} m or rad, and rounded numbers explain {ROUNDED:g} of"
        " the robot's size or rad; look for a wrong length or frame, write more digits, or declare"
        " a start near a closed pose"
    )


def _assembly_at(mechanism: Mechanism, start_position: Array, q: Array, start: float) -> Assembly:
    """Return the assembly at a closed position q that was reached from the position
    `start_position`.

    The rows and their rank are those of the numbers as declared, or else of the numbers as meant
    before rounding. Raises OpenLoops if neither gives a mechanism that moves.
    """
    A, exact, error_as_declared = closing.jacobian(Motion(mechanism, FLOAT), None, q), None, None
    try:
        exact = _as_declared(mechanism, q, A, start)
    except OpenLoops as error:
        error_as_declared = error
    if exact is not None and exact.rank <= rounding.rank(mechanism, A):
        return exact
    try:
        return _as_rounded(mechanism, start_position, q, start)
    except OpenLoops as error:
        if exact is not None:  # the rows differ little in this position only
            return exact
        raise error_as_declared or error from None


def _as_declared(mechanism: Mechanism, q: Array, A: Array, start: float) -> Assembly | None:
    """Return the assembly with all rows that are not identically zero; None if the numbers
    contradict each other.
    """
    if np.abs(closing.residual(Motion(mechanism, FLOAT), None, q)).max() > CLOSED:
        return None
    values = np.linalg.svd(A, compute_uv=False)
    rank = int((values > RANK * values[0]).sum())
    _refuse_rank(mechanism, A, rank)
    all_rows = tuple(tuple(range(len(loop.type.rows))) for loop in mechanism.loops)
    guess = _assembly_guess(q, all_rows, A, rank, start)
    closed = _close(
        Motion(mechanism, FLOAT),
        Motion(mechanism, arb(DIGITS + GUARD)),
        guess,
        assembly_starts.rational_positions(mechanism, q),
        0.0,
    )
    return None if closed is None else _confirmed_in_balls(mechanism, guess, closed)[0]


def _as_rounded(mechanism: Mechanism, start_position: Array, q: Array, start: float) -> Assembly:
    """Return the assembly with as many rows as are independent in spite of rounding.

    The kept rows close exactly; the other rows have to follow them within ROUNDED.
    """
    floats = Motion(mechanism, FLOAT)
    A = closing.jacobian(floats, None, q)
    _refuse_rank(mechanism, A, rounding.rank(mechanism, A))
    kept_rows = rounding.independent_rows(mechanism, A)
    closer = gauss_newton(
        floats, kept_rows, start_position
    )  # contradicting rows pull the position off the closed one
    q = closer if rounding.contradiction(mechanism, closer) <= ROUNDED else q
    A = closing.jacobian(floats, None, q)
    rank = rounding.rank(mechanism, A)
    _refuse_rank(mechanism, A, rank)
    kept_rows = rounding.independent_rows(mechanism, A)
    guess = _assembly_guess(
        q, kept_rows, closing.jacobian(floats, kept_rows, q), rank, start, rounded=True
    )
    closed = _refined(
        Motion(mechanism, arb(DIGITS + GUARD)),
        mechanism,
        guess,
        assembly_starts.rational_positions(mechanism, q),
    )
    assembly, states = _confirmed_in_balls(mechanism, guess, closed)
    error = rounding.contradiction(mechanism, states["q"].astype(float), states["v"].astype(float))
    if error > ROUNDED:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' have {A.shape[0]} rows, of which {rank} are"
            f" independent to {ROUNDED:g} (singular values"
            f" {rounding.format_singular_values(mechanism, A)}), and the others contradict them by"
            f" {error:.1e} where the loops move; write numbers exactly, as pi/6, or with more"
            " digits, or let the loops constrain fewer directions"
        )
    return replace(assembly, q=tuple(map(float, closed)))


def _assembly_guess(
    q: Array, kept_rows: rounding.Kept, A: Array, rank: int, start: float, rounded: bool = False
) -> Assembly:
    """Return the assembly at a position, before its rank is confirmed in balls."""
    return Assembly(
        tuple(map(float, q)),
        kept_rows,
        rank,
        spanning_columns(A, rank),
        trailing_spanning_columns(A, rank),
        start,
        rounded=rounded,
    )


def _refuse_rank(mechanism: Mechanism, A: Array, rank: int) -> None:
    """Raise OpenLoops if the closed loops have rank 0 or leave no degree of freedom."""
    if not rank:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close in a singular pose: their rank is 0 there;"
            " declare another start"
        )
    if rank >= mechanism.nv:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' leave no degree of freedom: {mechanism.nv}"
            f" velocities, and rows of rank {rank} (singular values"
            f" {rounding.format_singular_values(mechanism, A)}, where rounded numbers explain"
            f" {ROUNDED:g}); remove a loop, constrain fewer directions, or write more digits"
        )


def _confirmed_in_balls(
    mechanism: Mechanism, guess: Assembly, closed: Array
) -> tuple[Assembly, dict[str, Array]]:
    """Return a guess whose rank is confirmed in balls, without identically zero rows, and several
    closed states.

    The rank is computed at the refined assembled position `closed` and at the closed states.
    """
    scalars = arb(DIGITS + GUARD)
    reference = Motion(mechanism, scalars)
    with scalars.working():
        zero_bound = scalars.constant(ZERO_SHARE)
        rank = exact_rank(
            closing.jacobian(reference, guess.kept, scalars.array(closed)), zero_bound
        )
    if rank != guess.rank:
        raise OpenLoops(
            f"floats do not determine the rank of the loops of '{mechanism.name}' ({guess.rank},"
            f" and {rank} in {DIGITS} digits); declare another start"
        )
    states = closed_states(mechanism, guess, 3, seed=0)
    with scalars.working():
        A = closing.jacobian(
            reference,
            guess.kept,
            scalars.array(np.array([list(closed), *states["q"]], dtype=object)),
        )
        largest_rank = max(exact_rank(of_state, zero_bound) for of_state in A)
        nonzero = [any(abs(x) > zero_bound for x in A[:, row].ravel()) for row in range(A.shape[1])]
    if rank < largest_rank:
        raise OpenLoops(
            f"the loops of '{mechanism.name}' close in a singular pose: their rank is {rank} there"
            f" and {largest_rank} elsewhere; declare another start"
        )
    nonzero_rows, first = [], 0
    for rows in guess.kept:
        nonzero_rows.append(tuple(k for offset, k in enumerate(rows) if nonzero[first + offset]))
        first += len(rows)
    return replace(guess, kept=tuple(nonzero_rows)), states


def _with_declared_velocities(mechanism: Mechanism, at: Assembly) -> Assembly:
    """Return the assembly with the declared independent and actuated velocities.

    Raises OpenLoops if the declared independent joints do not determine all others.
    """
    A, names = (
        closing.jacobian(Motion(mechanism, FLOAT), at.kept, np.array(at.q)),
        mechanism.velocity_names,
    )
    velocities, eliminated = set(range(mechanism.nv)), at.eliminated
    independent = {k for name in mechanism.independent for k in mechanism.velocities_of[name]}
    if independent:
        eliminated = trailing_spanning_columns(A, at.rank, independent)
        free = velocities - {*eliminated}
        if free != independent:
            candidates = (
                [
                    k
                    for k in sorted(velocities)
                    if k not in trailing_spanning_columns(A, at.rank, {k})
                ]
                if len(free) == 1
                else sorted(free)
            )
            one_of = "one of " if len(free) == 1 < len(candidates) else ""
            raise OpenLoops(
                f"'{mechanism.name}': {_count_phrase(independent)} declared independent, and the"
                f" closed loops have {len(free)} independent; name"
                f" {one_of}{', '.join(names[k] for k in candidates)}"
            )
    actuated = {k for name in mechanism.actuated for k in mechanism.velocities_of[name]}
    if not actuated:
        return replace(
            at,
            eliminated=eliminated,
            actuated=tuple(sorted(velocities - {*eliminated})),
            passive=eliminated,
        )
    passive = trailing_spanning_columns(A, at.rank, actuated)
    idle = [names[k] for k in sorted(velocities - actuated - {*passive})]
    unmoved = (
        ""
        if not idle
        else (
            f"'{mechanism.name}': {_count_phrase(actuated)} actuated, which cannot move all"
            f" {mechanism.nv - at.rank} degrees of freedom of the closed loops; name"
            f" {', '.join(idle)} as well, with --actuated or in the description"
        )
    )
    return replace(
        at,
        eliminated=eliminated,
        actuated=tuple(sorted(actuated)),
        passive=passive,
        unmoved=unmoved,
    )


def _count_phrase(velocities: Collection[int]) -> str:
    """Return the number of velocities and the verb, for a message."""
    return f"{len(velocities)} velocit{'ies are' if len(velocities) > 1 else 'y is'}"


# -- closed states ---------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def closed_states(
    mechanism: Mechanism, at: Assembly, count: int, seed: int = 0
) -> dict[str, Array]:
    """Return `count` closed states near the assembled position: q (count, NQ) with C(q) = 0 and v
    (count, NV) with A v = 0.

    The entries are Fractions of DIGITS places. Raises OpenLoops if too few of the drawn positions
    close.
    """
    random = Random(f"loops/{seed}/{mechanism.nv}/{count}")
    floats, sharp = Motion(mechanism, FLOAT), Motion(mechanism, arb(DIGITS + GUARD))
    centre = assembly_starts.rational_positions(mechanism, at.q)
    states: dict[str, list[Array]] = {"q": [], "v": []}
    steep, reach = STEEP, REACH
    for attempt in range(1, 200 * count):
        if attempt % (8 * count) == 0:
            steep, reach = steep / 4, reach / 2
        drawn = assembly_starts.draw_positions_near(mechanism, centre, reach, random)
        rates = [Fraction(random.randint(-2 * GRID, 2 * GRID), GRID) for _ in range(mechanism.nv)]
        q = _close(floats, sharp, at, drawn, steep)
        if q is None:
            continue
        v = _closed_velocities(floats, sharp, at, q, rates)
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
        f"too few of the poses drawn near the assembled pose of '{mechanism.name}' close; declare"
        " another start"
    )


def closed_near(mechanism: Mechanism, q: Sequence[float] | None) -> Array:
    """Return a closed position (NQ) in Fractions of DIGITS places, reached from q by damped steps.

    If q is None, the declared start is used. Raises OpenLoops if the steps reach no closed
    position, or a singular one.
    """
    at, floats = assemble(mechanism), Motion(mechanism, FLOAT)
    if q is None:
        closed = np.array(at.q)
    else:
        closed = gauss_newton(floats, at.kept, np.array(q, dtype=float))
        if not (size := float(np.abs(closing.residual(floats, at.kept, closed)).max())) <= CLOSED:
            raise OpenLoops(
                f"from that position the loops of '{mechanism.name}' do not close: {size:.2g} m or"
                " rad are left; start nearer to a closed position"
            )
        if closing.is_misassembled(floats, closed):
            raise OpenLoops(
                f"from that position the loops of '{mechanism.name}' close with one frame turned by"
                " half a turn against the other; start nearer to a closed position"
            )
        at = replace(
            at, dependent=spanning_columns(closing.jacobian(floats, at.kept, closed), at.rank)
        )
    return _refined(
        Motion(mechanism, arb(DIGITS + GUARD)),
        mechanism,
        at,
        assembly_starts.rational_positions(mechanism, closed, FINE),
    )


def open_states(
    mechanism: Mechanism, at: Assembly, count: int, seed: int, apart: Fraction
) -> list[Array]:
    """Return open positions (NQ) on the grid of drawn states.

    Each differs from a closed state of the same seed by at most `apart` in every coordinate.
    """
    random = Random(f"open/{seed}/{mechanism.nv}/{count}")
    closed = closed_states(mechanism, at, count, seed)["q"]
    return [
        assembly_starts.draw_positions_near(
            mechanism, assembly_starts.rational_positions(mechanism, q), apart, random
        )
        for q in closed
    ]


def _close(floats: Motion, sharp: Motion, at: Assembly, drawn: Array, steep: float) -> Array | None:
    """Return a drawn position, closed by one step δ of the dependent velocities that C determines;
    None if it does not close or is nearly singular.
    """
    q0, columns = drawn.astype(float), list(at.dependent)
    selection, delta = np.eye(floats.mechanism.nv)[columns], np.zeros(len(columns))

    def displaced(step: Array) -> Array:
        return integrate(
            floats,
            np.broadcast_to(q0, (*step.shape[:-1], len(q0))),
            step @ selection,
            np.ones(step.shape[:-1]),
        )

    def slope(step: Array) -> Array:
        h = 1e-6
        steps = h * np.eye(len(step))
        up, down = closing.residual(floats, at.kept, displaced(step + np.stack([steps, -steps])))
        return np.asarray((up - down).T / (2 * h))

    # a row that constrains velocities only, as the spin of a soft finger, leaves some of them free
    rank = int(np.linalg.matrix_rank(first := slope(delta), tol=RANK * np.linalg.norm(first, 2)))
    columns = [columns[k] for k in spanning_columns(first, rank)]
    selection, delta = np.eye(floats.mechanism.nv)[columns], np.zeros(len(columns))

    best, stalled = np.inf, 0
    for _ in range(60):
        C = closing.residual(floats, at.kept, displaced(delta))
        residual = float(np.abs(C).max())
        best, stalled = (residual, 0) if residual < 0.9 * best else (best, stalled + 1)
        if stalled > PATIENCE // 2:
            break
        J = slope(delta)
        step = -np.linalg.lstsq(J, C, rcond=RANK)[0]
        size = float(np.abs(step).max())
        delta = delta + step * min(1.0, LONGEST / max(size, 1e-300))
        if size < 1e-12:
            break
    if (
        not np.abs(closing.residual(floats, at.kept, displaced(delta))).max() < CLOSED
        or np.abs(delta).max() > 3
    ):
        return None
    if closing.is_misassembled(floats, displaced(delta)):
        return None
    values = np.linalg.svd(
        closing.jacobian(floats, at.kept, displaced(delta))[:, list(at.dependent)], compute_uv=False
    )
    if values[-1] < steep * values[0]:
        return None
    inverse = np.linalg.pinv(slope(delta), rcond=RANK)
    with sharp.scalars.working():
        exact, pseudoinverse = sharp.scalars.array(drawn), sharp.scalars.array(inverse)
        exact_selection, unit = sharp.scalars.array(selection), sharp.scalars.array(1)
        step = sharp.scalars.array(delta)
        for _ in range(SHARPENED):
            q = integrate(sharp, exact, _middle(step @ exact_selection), unit)
            C = closing.residual(sharp, at.kept, q)
            change = pseudoinverse @ _middle(C)
            step = _middle(step - change)
            if all(abs(x) < TINY for x in change):
                closes = all(
                    abs(x) < SHUT for x in C
                )  # where rows contradict each other, the least of them is left
                return (
                    _decimal(integrate(sharp, exact, _middle(step @ exact_selection), unit))
                    if closes
                    else None
                )
    return None


def _closed_velocities(
    floats: Motion, sharp: Motion, at: Assembly, q: Array, rates: Sequence[Fraction]
) -> Array | None:
    """Return velocities with A v = 0: the dependent entries are solved for, others are `rates`."""
    dependent = list(at.dependent)
    inverse = np.linalg.pinv(
        closing.jacobian(floats, at.kept, q.astype(float))[:, dependent], rcond=RANK
    )
    with sharp.scalars.working():
        exact, pseudoinverse = sharp.scalars.array(q), sharp.scalars.array(inverse)
        v = sharp.scalars.array(np.array(rates, dtype=object))
        for k in dependent:
            v[k] = 0 * v[k]
        for _ in range(SHARPENED):
            change = pseudoinverse @ _middle(closing.rows(sharp, at.kept, exact, v, 0 * v)[1])
            v[dependent] = _middle(v[dependent] - change)
            if all(abs(x) < TINY for x in change):
                return _decimal(v)
    return None


def _refined(sharp: Motion, mechanism: Mechanism, at: Assembly, drawn: Array) -> Array:
    """Return the closed position refined to DIGITS places. Raises OpenLoops if the refinement
    fails.
    """
    closed = _close(Motion(mechanism, FLOAT), sharp, at, drawn, 0.0)
    if closed is None:
        raise OpenLoops(
            f"the closed pose of '{mechanism.name}' cannot be refined to {DIGITS} digits, so it may"
            " be singular; declare another start"
        )
    return closed


def _middle(balls: Array) -> Array:
    """Return the midpoints of balls: a correction step needs no error bound."""
    return np.asarray(np.frompyfunc(lambda ball: ball.mid(), 1, 1)(balls), dtype=object)


def _decimal(balls: Array) -> Array:
    """Return balls rounded to decimals of DIGITS places."""
    scale = 10**DIGITS

    def rounded(ball: Any) -> Fraction:
        return Fraction(
            int(str((ball.mid() * scale + flint.arb("0.5")).floor().unique_fmpz())), scale
        )

    return np.asarray(np.frompyfunc(rounded, 1, 1)(balls), dtype=object)


# -- closing loops in floats: damped Gauss-Newton steps from any position --

CLOSED = 1e-11
"""m and rad: largest residual of a closed position in floats."""
TURNS, PATIENCE = 200, 15
"""Maximum number of steps, and of steps without progress."""
LONGEST = 0.5
"""rad and m: largest motion of a joint in one step."""


def gauss_newton(floats: Motion, kept_rows: closing.Kept | None, q: Array) -> Array:
    """Return q after damped Gauss-Newton steps towards C = 0.

    The damping decreases with the residual, so that the last steps are pure Gauss-Newton steps.
    """
    best, stalled = np.inf, 0
    for _ in range(TURNS):
        C = closing.residual(floats, kept_rows, q)
        residual = float(np.abs(C).max())
        best, stalled = (residual, 0) if residual < 0.9 * best else (best, stalled + 1)
        if residual < CLOSED / 100 or not np.isfinite(residual) or stalled > PATIENCE:
            break
        A = closing.jacobian(floats, kept_rows, q)
        S = A @ A.T
        if not S.any():  # no joint moves any row
            break
        mu = 1e-3 * min(1.0, residual) * np.trace(S) / len(S) + 1e-14 * np.trace(S)
        step = -A.T @ np.linalg.solve(S + mu * np.eye(len(S)), C)
        q = integrate(
            floats,
            q,
            step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)),
            np.array(1.0),
        )
    return q
