"""Hard arguments for the generated sine and cosine: compiled C compared with ball arithmetic.

The sorts of arguments are:

- nearest to multiples of pi/2, by continued fractions, for each binade;
- near multiples of pi/2, and near odd multiples of pi/4, where the reduction changes its quadrant;
- at the end of the range, and in any binade, subnormal numbers included;
- near the worst arguments so far.

A try is about a thousand arguments of one sort, by one compiler at one level. The C has one
rounding per operation or fused a*b + c; it is that of `--trig inline` or the loop of `--trig auto`.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import flint
import numpy as np

from symgen.emission import printer
from symgen.reference.precision import Array
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target
from tests.adversary import Failure

WORD = (
    "The text's own sine and cosine are within the stated units in the last place for every angle"
    " of the stated range."
)

ULPS, RANGE = printer().ulps["inline"], printer().farthest
EACH = 1500
"""Number of arguments of a try; ball arithmetic takes about 10 microseconds for each."""
CALLER = """#include "arm_sincos.h"
void many(long count, const REAL *x, REAL *sine, REAL *cosine);
void many(long count, const REAL *x, REAL *sine, REAL *cosine)
{
    long i;
    for (i = 0; i < count; ++i) {
        const arm_pair found = arm_sincos(x[i]);
        sine[i] = found.sine;
        cosine[i] = found.cosine;
    }
}
"""
LOOP = """#define arm_ANGLES 8
#include "arm_sincos.h"
void many(long count, const REAL *x, REAL *sine, REAL *cosine);
void many(long count, const REAL *x, REAL *sine, REAL *cosine)
{
    long i;
    int k;
    for (i = 0; i < count; i += 7) {
        REAL angle[8];
        arm_turns found;
        angle[7] = (REAL)OTHER;
        for (k = 0; k < 7; ++k) {
            angle[k] = x[i + k < count ? i + k : 0];
        }
        found = arm_sincos(angle);
        for (k = 0; k < 7 && i + k < count; ++k) {
            sine[i + k] = found.sine[k];
            cosine[i + k] = found.cosine[k];
        }
    }
}
"""
"""C that computes seven angles together with an eighth, OTHER."""
LAST_ANGLES = ("0.0", "32768.0", "32769.0", "-1e30", "1e300*1e300", "0.0*1e300*1e300")
LEVELS = ("-O0", "-O1", "-O2", "-O3")
FUSED = ("-ffp-contract=fast", "-mfma")


@dataclass
class Climb:
    """The worst arguments of one real type so far, each with its error in units."""

    worst: list[tuple[float, float]] = field(default_factory=list)

    def add(self, x: Array, units: Array) -> None:
        best = np.argsort(units)[-20:]
        self.worst = sorted({*self.worst, *((float(units[i]), float(x[i])) for i in best)})[-60:]


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one real type, one sort of arguments and one build at each step."""
    climbs = {real: Climb() for real in REALS}
    for count in itertools.count():
        random = Random(f"sines/{seed}/{count}")
        real, sort = list(REALS)[count % 2], list(SORTS)[count // 2 % len(SORTS)]
        compiler = random.choice(
            [name for name in ("gcc", "clang") if shutil.which(name)] or ["cc"]
        )
        fused = random.random() < 0.3 and _fuses()
        flags = (random.choice(LEVELS), *(FUSED if fused else ("-ffp-contract=off",)))
        x = SORTS[sort](random, real, climbs[real])
        x = x[np.abs(x) <= RANGE]
        lanes = random.choice((None, *LAST_ANGLES))  # None: one angle per call
        results = _run_library(_built(real, compiler, flags, lanes), x)
        off = units(real, x, results)
        climbs[real].add(x, off)
        bad = int(off.argmax())
        if off[bad] <= ULPS and np.array_equal(
            np.signbit(results[0][x == 0]), np.signbit(x[x == 0])
        ):
            yield None
            continue
        beside = f"in a loop beside {lanes}" if lanes else "alone"
        sentence = (
            f"sine {results[0][bad]!r} and cosine {results[1][bad]!r} of the {real}"
            f" {float(x[bad]).hex()} are {off[bad]:.3f} units off, {ULPS} are stated ({sort};"
            f" {compiler} {' '.join(flags)}; {beside})"
        )
        yield Failure(
            sentence, {"arm_sincos.h": _text(real, lanes), "many.c": _caller(real, lanes)}
        )


# -- arguments -------------------------------------------------------------------------------------


def _near_turns(random: Random, real: str, _: Climb) -> Array:
    """Return m 2^e near k pi/2, with m/k a convergent or semiconvergent of (pi/2)/2^e."""
    digits, angles = REALS[real].digits, []
    with flint.ctx.workprec(400):
        for exponent in random.sample(range(-digits, 16 - digits), min(digits, 12)):
            remainder, (m0, k0), (m1, k1) = (
                flint.arb.pi() / 2 / flint.arb(2) ** exponent,
                (0, 1),
                (1, 0),
            )
            while m1 < 2**digits:
                quotient = int(remainder.floor().unique_fmpz())
                for numerator in {quotient, quotient // 2 + 1, 1} if quotient else {0}:
                    m, k = numerator * m1 + m0, numerator * k1 + k0
                    angles += [
                        math.ldexp(m * t, exponent)
                        for t in (1, 3, random.randint(2, 99))
                        if k and m * t < 2**digits
                    ]
                m0, k0, m1, k1 = m1, k1, quotient * m1 + m0, quotient * k1 + k0
                remainder = 1 / (remainder - quotient)
    return _with_negatives(real, np.array(angles))


def _about(random: Random, real: str, eighths: Callable[[], int]) -> Array:
    """Return numbers next to multiples of pi/4, and some units away from them."""
    with flint.ctx.workprec(200):
        multiples = [float(flint.arb.pi() / 4 * eighths()) for _ in range(EACH // 5)]
    x = np.array(multiples).astype(REALS[real].numpy)
    off = [np.nextafter(x, np.array(end, dtype=x.dtype)) for end in (0, np.inf)]
    displaced = x * (
        1 + np.array([random.gauss(0, 40 * REALS[real].eps) for _ in x], dtype=x.dtype)
    )
    return _with_negatives(real, np.concatenate([x, *off, displaced]))


def _near_half_turns(random: Random, real: str, _: Climb) -> Array:
    return _about(random, real, lambda: 2 * random.randint(1, 2 * RANGE * 2 // 7))


def _near_odd_quarters(random: Random, real: str, _: Climb) -> Array:
    return _about(random, real, lambda: 2 * random.randint(0, 2 * RANGE * 2 // 7) + 1)


def _near_end(random: Random, real: str, _: Climb) -> Array:
    """Return angles near the end of the range."""
    inside = [abs(random.gauss(0, 1)) * 10.0 ** random.randint(-12, 2) for _ in range(EACH)]
    return _with_negatives(real, RANGE - np.array([0.0, *inside]))


def _any_binade(random: Random, real: str, _: Climb) -> Array:
    """Return angles of every binade, a few subnormal ones, and both zeros."""
    least = -REALS[real].digits + REALS[real].exponent + 1
    drawn = [
        math.ldexp(
            1 + random.random(),
            random.randint(-20, 14) if random.random() < 0.7 else random.randint(least, 14),
        )
        for _ in range(EACH)
    ]
    return _with_negatives(real, np.array([*drawn, math.ldexp(1, least), 0.0, -0.0]))


def _near_worst(random: Random, real: str, climb: Climb) -> Array:
    """Return angles near the worst so far: some units, some turns, or a binade away."""
    angles = []
    for _, x in climb.worst or [(0.0, 1.0)]:
        for _ in range(EACH // 60):
            kind = random.random()
            if kind < 0.6:
                angles.append(
                    x * (1 + random.gauss(0, 1) * REALS[real].eps * 10.0 ** random.randint(0, 4))
                )
            elif kind < 0.9:
                angles.append(x + random.choice((-1, 1)) * math.pi / 2 * random.randint(1, 400))
            else:
                angles.append(math.remainder(x, math.pi / 2) * (1 + random.gauss(0, 1e-4)))
    return _with_negatives(real, np.array(angles))


def _with_negatives(real: str, x: Array) -> Array:
    x = x.astype(REALS[real].numpy)
    return np.concatenate([x, -x[::2]])


SORTS: dict[str, Callable[[Random, str, Climb], Array]] = {
    "next to a multiple of pi/2, by continued fractions": _near_turns,
    "about a multiple of pi/2": _near_half_turns,
    "about an odd multiple of pi/4": _near_odd_quarters,
    "near the end of the range": _near_end,
    "of any binade": _any_binade,
    "about the worst so far": _near_worst,
}

# -- the C and its errors ------------------------------------------------------------------


def _text(real: str, lanes: str | None) -> str:
    return printer().sincos(
        real, Target("arm", Sizes(1, 1, 1), TextOptions("auto" if lanes else "inline"))
    )


def _caller(real: str, lanes: str | None) -> str:
    return (LOOP.replace("OTHER", lanes) if lanes else CALLER).replace("REAL", real)


@cache
def _fuses() -> bool:
    """True if this processor has fused multiply-add."""
    info = Path("/proc/cpuinfo")
    return info.exists() and " fma " in info.read_text()


@cache
def _built(real: str, compiler: str, flags: tuple[str, ...], lanes: str | None) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="symgen-sines-") as name:
        folder = Path(name)
        (folder / "arm_sincos.h").write_text(_text(real, lanes), encoding="utf-8")
        (folder / "many.c").write_text(_caller(real, lanes), encoding="utf-8")
        command = [
            compiler,
            "-std=c99",
            *flags,
            "-shared",
            "-fPIC",
            "many.c",
            "-o",
            "many.so",
            "-lm",
        ]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return ctypes.CDLL(str(folder / "many.so"))


def _run_library(library: ctypes.CDLL, x: Array) -> tuple[Array, Array]:
    sine, cosine = np.empty_like(x), np.empty_like(x)
    library.many(
        ctypes.c_long(len(x)),
        *(ctypes.c_void_p(a.ctypes.data) for a in (np.ascontiguousarray(x), sine, cosine)),
    )
    return sine, cosine


def units(real: str, x: Array, results: tuple[Array, Array]) -> Array:
    """Return the larger error of sine and cosine in ulps; infinite for NaN or infinity."""
    digits, smallest_exponent, out = (
        REALS[real].digits,
        REALS[real].exponent + 1 - REALS[real].digits,
        [],
    )
    with flint.ctx.workprec(160):
        for angle, *sine_and_cosine in zip(x.tolist(), *(f.tolist() for f in results), strict=True):
            error = 0.0
            for got, want in zip(sine_and_cosine, flint.arb(angle).sin_cos(), strict=True):
                unit = max(math.frexp(float(want))[1] - digits, smallest_exponent)
                error = max(
                    error,
                    float(abs(want - got) * flint.arb(2) ** -unit)
                    if math.isfinite(got)
                    else math.inf,
                )
            out.append(error)
    return np.array(out)
