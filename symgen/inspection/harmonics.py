"""Evaluation of a division-free Program over trigonometric polynomials: exact sums and products,
with c² + s² = 1 applied at once.

The unknowns of a polynomial are the cosine and sine of each rotating joint, and all other inputs of
the Program: coordinates of prismatic joints, v, a, kept parameters. At the end cos^a sin^b of every
joint becomes multiple angles. Products of them become cosines and sines of sums, Σ A cos(k·q) + B
sin(k·q), where the first nonzero entry of k is positive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq, fmpq_mpoly_ctx

from symgen.derivation import constants as k
from symgen.ir.program import Program
from symgen.support.errors import ProgramError, RequestError

MOST_TERMS = 500_000
"""Eight angles, or six with products of two velocities. A longer form takes minutes and is
unreadable.
"""
NOISE = 55
"""Reliable digits of a sum of products of 64-digit constants."""
Input = tuple[int, int]
"""(argument, element)."""
Index = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
Monomial = tuple[int, ...]
Wave = tuple[bool, Index, Monomial]
"""(is sine, multiples of the angles, powers of the other unknowns)."""


def needed_rows(program: Program, targets: Sequence[int]) -> list[int]:
    """Return the rows from which the targets are computed, in order."""
    seen: set[int] = set()
    stack = list(targets)
    while stack:
        row = stack.pop()
        if row not in seen:
            seen.add(row)
            stack.extend(program.rows[row].args)
    return sorted(seen)


def harmonic_coefficients(
    program: Program, target: int, angles: Sequence[Input], exact: bool, entry: str
) -> tuple[list[Input], dict[Wave, Any]]:
    """Return the inputs of the monomials, and the harmonics of one row over `angles`; `entry` is
    its name for messages.

    If the Program's constants are not `exact`, coefficients of powers of c and s are rounded to
    NOISE digits. Raises RequestError if there may be more than MOST_TERMS terms, or if the Program
    divides.
    """
    rows = needed_rows(program, [target])
    inputs = sorted({program.rows[r].value for r in rows if program.rows[r].op == "input"})
    rotating = [x for x in angles if x in inputs]
    others = [x for x in inputs if x not in rotating]
    n = len(rotating)
    rates = sum(program.inputs[port].name == "v" for port, _ in others)
    term_bound = 5**n * (1 + rates * (rates + 1) // 2)
    if term_bound > MOST_TERMS:
        raise RequestError(
            f"{entry} depends on {n} angles and may have {term_bound} terms in multiple angles;"
            " read it with --form recursive, or lock joints that do not matter with --lock"
        )
    polynomial = _over_polynomials(program, rows, rotating, others, entry).to_dict()
    if not exact:
        polynomial = round_coefficients(polynomial, NOISE)
    by_monomial: dict[Monomial, dict[Pairs, Any]] = {}
    for powers, x in polynomial.items():
        pairs = tuple((int(powers[i]), int(powers[n + i])) for i in range(n))
        monomial = (
            *powers[3 * n : 3 * n + len(others)],
            *powers[2 * n : 3 * n],
        )  # a screw joint's angle also appears as a length
        by_monomial.setdefault(tuple(int(p) for p in monomial), {})[pairs] = x
    positions = [angles.index(x) for x in rotating]
    harmonics: dict[Wave, Any] = {}
    for monomial, part in by_monomial.items():
        for short, (cosine, sine) in harmonic_sums(part).items():
            index = [0] * len(angles)
            for position, multiple in zip(positions, short, strict=True):
                index[position] = multiple
            for is_sine, x in ((False, cosine), (True, sine)):
                if x != 0:
                    harmonics[is_sine, tuple(index), monomial] = x
    return others + rotating, harmonics


def round_coefficients(coefficients: dict[Any, Any], digits: int) -> dict[Any, Any]:
    """Round to `digits` decimal places, or to `digits` digits of the largest coefficient if that
    exceeds 1 (SI units).
    """
    largest = max((abs(x) for x in coefficients.values()), default=fmpq(0))
    unit = fmpq(10) ** (digits - len(str(largest.p // largest.q)) + 1)
    integers = ((key, (x * unit + fmpq(1, 2)).floor()) for key, x in coefficients.items())
    return {key: fmpq(n) / unit for key, n in integers if n != 0}


def _over_polynomials(
    program: Program,
    rows: Sequence[int],
    rotating: Sequence[Input],
    others: Sequence[Input],
    entry: str,
) -> Any:
    """Return the last of `rows` as a polynomial in cosines, sines, the angles and the other inputs,
    in this order.
    """
    n = len(rotating)
    names = [f"{stem}{i}" for stem in "csq" for i in range(n)] + [
        f"x{i}" for i in range(len(others))
    ]
    ring = fmpq_mpoly_ctx.get(names or ["x"], "lex")
    unknowns = ring.gens()
    unit = [unknowns[i] ** 2 + unknowns[n + i] ** 2 - 1 for i in range(n)]
    bound = {x: unknowns[2 * n + i] for i, x in enumerate([*rotating, *others])}
    values: dict[int, Any] = {}
    last = {used: r for r in rows for used in program.rows[r].args}
    for r in rows:
        op, args, value, _, _ = program.rows[r]
        a: Any = values[args[0]] if args else None
        if op == "const":
            values[r] = ring.constant(k.rational(value))
        elif op == "input":
            values[r] = bound[value]
        elif op == "neg":
            values[r] = -a
        elif op in ("sin", "cos"):
            values[r] = _sine_or_cosine(a, op, unknowns, n, entry)
        elif op == "mul":
            values[r] = _apply_unit_circle(a * values[args[1]], unit)
        elif op in ("add", "sub"):
            values[r] = a + values[args[1]] if op == "add" else a - values[args[1]]
        else:
            remedy = (
                "leave friction out with --drives, or use --form recursive"
                if op == "sqrt"
                else "use another method, such as composite_body or newton_euler"
            )
            raise RequestError(
                f"{entry} by {program.method} is not a polynomial in sines and cosines: its"
                f" equations contain a {op}; {remedy}"
            )
        for used in args:
            if last[used] == r:  # a polynomial can take megabytes
                values.pop(used, None)
    return values[rows[-1]]


def _apply_unit_circle(product: Any, unit: Sequence[Any]) -> Any:
    """Replace c² by 1 − s² for every angle."""
    for degree, relation in zip(product.degrees(), unit, strict=False):
        if degree > 1:
            product = divmod(product, relation)[1]
    return product


def _sine_or_cosine(angle: Any, op: str, unknowns: Sequence[Any], n: int, entry: str) -> Any:
    """Return sin or cos of ±q + β, where β is a constant of KEPT_DIGITS digits."""
    terms = dict(angle.to_dict())
    offset = terms.pop((0,) * len(unknowns), fmpq(0))
    powers, x = terms.popitem() if len(terms) == 1 else ((), fmpq(0))
    if sum(powers) != 1 or abs(x) != 1 or 1 not in powers[2 * n : 3 * n]:
        raise ProgramError(f"{entry} contains the {op} of an expression that is not a joint angle")
    joint, sign = powers.index(1) - 2 * n, int(x.p)
    c, s = unknowns[joint], unknowns[n + joint] * sign
    if offset != 0:
        with k.precision():
            cosine, sine = (
                k.rational(k.to_fraction(x)) for x in (arb(offset).cos(), arb(offset).sin())
            )
        c, s = c * cosine - s * sine, s * cosine + c * sine
    return s if op == "sin" else c


# -- multiple angles -------------------------------------------------------------------------------


@cache
def multiple_angles(a: int, b: int) -> tuple[tuple[int, bool, Any], ...]:
    """Return cos^a sin^b as a sum of (multiple, is sine, coefficient), from (z + 1/z)^a (z − 1/z)^b
    over 2^(a+b) i^b.
    """
    powers = {0: 1}
    for sign in [1] * a + [-1] * b:
        shifted: dict[int, int] = {}
        for m, x in powers.items():
            shifted[m + 1] = shifted.get(m + 1, 0) + x
            shifted[m - 1] = shifted.get(m - 1, 0) + sign * x
        powers = shifted
    overall_sign = -1 if b % 4 > 1 else 1
    scale = fmpq(overall_sign, 2 ** (a + b))
    return tuple(
        (m, b % 2 == 1, scale * x * (2 if m else 1))
        for m, x in sorted(powers.items())
        if m >= 0 and x
    )


def harmonic_sums(part: Mapping[Pairs, Any]) -> dict[Index, list[Any]]:
    """Return Σ coefficient Π cos^a sin^b over the angles as {k: [A, B]}, A cos(k·q) + B sin(k·q).

    Angles are processed recursively, the last one first: cos(mq) and sin(mq) times a harmonic K of
    the angles after it give m + K and m − K, whose first multiple is m > 0.
    """
    if () in part:
        return {(): [part[()], fmpq(0)]}
    by_multiple: dict[tuple[int, bool], dict[Pairs, Any]] = {}
    for pairs, x in part.items():
        head, tail = pairs[0], pairs[1:]
        for m, sine, factor in multiple_angles(*head):
            tails = by_multiple.setdefault((m, sine), {})
            tails[tail] = tails.get(tail, 0) + factor * x
    sums: dict[Index, list[Any]] = {}

    def add(index: Index, cosine: Any, sine: Any) -> None:
        if index in sums:
            pair = sums[index]
            pair[0] += cosine
            pair[1] += sine
        else:
            sums[index] = [cosine, sine]

    for (m, is_sine), tail_part in by_multiple.items():
        for K, (A, B) in harmonic_sums(tail_part).items():
            if m == 0:
                add((0, *K), A, B)
                continue
            if not any(K):
                add((m, *K), *((fmpq(0), A) if is_sine else (A, fmpq(0))))
                continue
            A, B = A / 2, B / 2
            plus, minus = (m, *K), (m, *(-x for x in K))
            if (
                is_sine
            ):  # sin a cos b = ½[sin(a+b) + sin(a−b)], sin a sin b = ½[cos(a−b) − cos(a+b)]
                add(plus, -B, A)
                add(minus, B, A)
            else:  # cos a cos b = ½[cos(a+b) + cos(a−b)], cos a sin b = ½[sin(a+b) − sin(a−b)]
                add(plus, A, B)
                add(minus, A, -B)
    return sums
