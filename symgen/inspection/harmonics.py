"""A division-free Program over trigonometric polynomials: every sum and product exact, c² + s² = 1 taken at once.

A polynomial holds the cosine and sine of each turning joint and, as further unknowns, whatever else the Program takes:
the coordinates of sliding joints, v, a, kept parameters. At the end cos^a sin^b of every joint becomes multiple angles,
and their products become cosines and sines of sums, Σ A cos(k·q) + B sin(k·q) with k's first entry that is not zero positive.
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
"""Eight angles, or six where velocities enter by pairs. Beyond, a form takes minutes and nobody reads it."""
NOISE = 55
"""Digits to which a sum of products of 64-digit constants is trusted."""
Input = tuple[int, int]
"""(argument, element)."""
Index = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
Monomial = tuple[int, ...]
Wave = tuple[bool, Index, Monomial]
"""(sine?, multiples of the angles, powers of the other unknowns)."""


def needed(program: Program, targets: Sequence[int]) -> list[int]:
    """The rows that the targets come from, in order."""
    seen: set[int] = set()
    stack = list(targets)
    while stack:
        row = stack.pop()
        if row not in seen:
            seen.add(row)
            stack.extend(program.rows[row].args)
    return sorted(seen)


def waves(
    program: Program, target: int, angles: Sequence[Input], exact: bool, entry: str
) -> tuple[list[Input], dict[Wave, Any]]:
    """The harmonics of one row over `angles`, with the inputs that the monomials are powers of; `entry` is for messages.

    Where the Program's constants are not `exact`, the coefficients of powers of c and s are `rounded` to NOISE digits.
    Raises RequestError where there may be more than MOST_TERMS terms, or where the Program divides.
    """
    rows = needed(program, [target])
    taken = sorted({program.rows[r].value for r in rows if program.rows[r].op == "input"})
    turned = [x for x in angles if x in taken]
    others = [x for x in taken if x not in turned]
    n = len(turned)
    rates = sum(program.inputs[port].name == "v" for port, _ in others)
    most = 5**n * (1 + rates * (rates + 1) // 2)
    if most > MOST_TERMS:
        raise RequestError(
            f"{entry} turns with {n} angles and may have {most} terms in multiple angles; read it with --form "
            "recursive, or lock joints that do not matter with --lock"
        )
    polynomial = _over_polynomials(program, rows, turned, others, entry).to_dict()
    if not exact:
        polynomial = rounded(polynomial, NOISE)
    by_monomial: dict[Monomial, dict[Pairs, Any]] = {}
    for powers, x in polynomial.items():
        pairs = tuple((int(powers[i]), int(powers[n + i])) for i in range(n))
        monomial = (
            *powers[3 * n : 3 * n + len(others)],
            *powers[2 * n : 3 * n],
        )  # a screw's angle is a length as well
        by_monomial.setdefault(tuple(int(p) for p in monomial), {})[pairs] = x
    places = [angles.index(x) for x in turned]
    found: dict[Wave, Any] = {}
    for monomial, part in by_monomial.items():
        for short, (cosine, sine) in _in_sums(part).items():
            index = [0] * len(angles)
            for place, multiple in zip(places, short, strict=True):
                index[place] = multiple
            for kind, x in ((False, cosine), (True, sine)):
                if x != 0:
                    found[kind, tuple(index), monomial] = x
    return others + turned, found


def rounded(coefficients: dict[Any, Any], digits: int) -> dict[Any, Any]:
    """Each to `digits` decimal places, or to as many digits of the largest one where that is above 1 (SI units)."""
    largest = max((abs(x) for x in coefficients.values()), default=fmpq(0))
    unit = fmpq(10) ** (digits - len(str(largest.p // largest.q)) + 1)
    whole = ((key, (x * unit + fmpq(1, 2)).floor()) for key, x in coefficients.items())
    return {key: fmpq(n) / unit for key, n in whole if n != 0}


def _over_polynomials(
    program: Program,
    rows: Sequence[int],
    turned: Sequence[Input],
    others: Sequence[Input],
    entry: str,
) -> Any:
    """The last of `rows` as a polynomial in cosines, sines, the angles themselves and the other inputs, in this order."""
    n = len(turned)
    names = [f"{stem}{i}" for stem in "csq" for i in range(n)] + [
        f"x{i}" for i in range(len(others))
    ]
    ring = fmpq_mpoly_ctx.get(names or ["x"], "lex")
    unknowns = ring.gens()
    unit = [unknowns[i] ** 2 + unknowns[n + i] ** 2 - 1 for i in range(n)]
    bound = {x: unknowns[2 * n + i] for i, x in enumerate([*turned, *others])}
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
            values[r] = _turned(a, op, unknowns, n, entry)
        elif op == "mul":
            values[r] = _reduced(a * values[args[1]], unit)
        elif op in ("add", "sub"):
            values[r] = a + values[args[1]] if op == "add" else a - values[args[1]]
        else:
            instead = (
                "leave friction out with --drives, or take its equations with --form recursive"
                if op == "sqrt"
                else "take another method, such as composite_body or newton_euler"
            )
            raise RequestError(
                f"{entry} by {program.method} is no polynomial in sines and cosines, its equations hold a {op}; "
                f"{instead}"
            )
        for used in args:
            if last[used] == r:  # a polynomial can take megabytes
                values.pop(used, None)
    return values[rows[-1]]


def _reduced(product: Any, unit: Sequence[Any]) -> Any:
    """c² = 1 − s² for every angle."""
    for degree, relation in zip(product.degrees(), unit, strict=False):
        if degree > 1:
            product = divmod(product, relation)[1]
    return product


def _turned(angle: Any, op: str, unknowns: Sequence[Any], n: int, entry: str) -> Any:
    """sin or cos of ±q + β, β a constant of KEPT_DIGITS."""
    joint, sign, offset = None, 1, fmpq(0)
    for powers, x in angle.to_dict().items():
        if not any(powers):
            offset = x
        elif sum(powers) == 1 and abs(x) == 1 and 1 in powers[2 * n : 3 * n]:
            joint, sign = powers.index(1) - 2 * n, int(x.p)
    if joint is None or len(angle) > 2:
        raise ProgramError(f"{entry} holds the {op} of what is no joint's angle")
    c, s = unknowns[joint], unknowns[n + joint] * sign
    if offset != 0:
        with k.precision():
            cosine, sine = (
                k.rational(k.to_fraction(x)) for x in (arb(offset).cos(), arb(offset).sin())
            )
        c, s = c * cosine - s * sine, s * cosine + c * sine
    return s if op == "sin" else c


# -- multiple angles ---------------------------------------------------------------------------------------------------------


@cache
def in_multiples(a: int, b: int) -> tuple[tuple[int, bool, Any], ...]:
    """cos^a sin^b as a sum of (multiple, sine?, coefficient), from (z + 1/z)^a (z − 1/z)^b over 2^(a+b) i^b."""
    powers = {0: 1}
    for sign in [1] * a + [-1] * b:
        shifted: dict[int, int] = {}
        for m, x in powers.items():
            shifted[m + 1] = shifted.get(m + 1, 0) + x
            shifted[m - 1] = shifted.get(m - 1, 0) + sign * x
        powers = shifted
    turn = -1 if b % 4 > 1 else 1
    scale = fmpq(turn, 2 ** (a + b))
    return tuple(
        (m, b % 2 == 1, scale * x * (2 if m else 1))
        for m, x in sorted(powers.items())
        if m >= 0 and x
    )


def _in_sums(part: Mapping[Pairs, Any]) -> dict[Index, list[Any]]:
    """Σ coefficient Π cos^a sin^b over the angles as {k: [A, B]}, A cos(k·q) + B sin(k·q).

    One angle after the other, the last one first: cos(mq) and sin(mq) times a harmonic K of those behind it give m + K and
    m − K, whose first multiple is m > 0.
    """
    if () in part:
        return {(): [part[()], fmpq(0)]}
    behind: dict[tuple[int, bool], dict[Pairs, Any]] = {}
    for pairs, x in part.items():
        head, tail = pairs[0], pairs[1:]
        for m, sine, factor in in_multiples(*head):
            into = behind.setdefault((m, sine), {})
            into[tail] = into.get(tail, 0) + factor * x
    found: dict[Index, list[Any]] = {}

    def add(index: Index, cosine: Any, sine: Any) -> None:
        if index in found:
            at = found[index]
            at[0] += cosine
            at[1] += sine
        else:
            found[index] = [cosine, sine]

    for (m, is_sine), rest in behind.items():
        for K, (A, B) in _in_sums(rest).items():
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
    return found
