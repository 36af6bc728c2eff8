"""Chains of links for proofs over exact numbers: rationals, and rational functions of every number
of the links.

The first link of a builder's input is the tip, as in RK; `Chain` counts from the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from flint import fmpq

from symgen.papers.blocks import cross_matrix, identity, zeros
from symgen.papers.chain import Chain, LinkNumbers, quaternion_rotation, spatial_inertia
from symgen.papers.rational_functions import Functions
from symgen.papers.rk import Operators
from symgen.reference.precision import Array
from tests.shared.robots_for_tests import rationals


def serial(links: Sequence[tuple[Array, Array, Array, Any, Array, Array]]) -> Chain:
    """A serial chain from (rotation, shift, axis as a twist, mass, first moment, moments about the
    joint) of links, tip first.
    """
    ordered = list(reversed(links))
    numbers = []
    for i, (rotation, offset, axis, mass, h, moments) in enumerate(ordered):
        centre = h * (1 / mass)
        spin = cross_matrix(centre)
        numbers.append(
            LinkNumbers(
                f"link{i}",
                i - 1,
                rotation,
                offset,
                np.array([axis], dtype=object),
                mass,
                centre,
                moments + mass * (spin @ spin),
                spatial_inertia(mass, h, moments),
            )
        )
    return Chain("serial", tuple(numbers), zeros(3), False)


def fractions(source: Random, count: int) -> Array:
    """Small rationals, zero seldom."""
    return np.array([fmpq(*x.as_integer_ratio()) for x in rationals(source, count)], dtype=object)


def rotation(source: Random) -> Array:
    """The rotation of a random rational unit quaternion."""
    x, y, z = fractions(source, 3)
    below = 1 + x * x + y * y + z * z
    return quaternion_rotation([2 * x / below, 2 * y / below, 2 * z / below, 2 / below - 1])


def body(source: Random) -> tuple[Array, Array]:
    """Return the first moment, and the moments about the joint, of a box of unit mass in a random
    orientation.
    """
    R, half = rotation(source), [fmpq(source.randint(1, 9), 7) for _ in range(3)]
    moments = np.diag(
        np.array([half[1] + half[2], half[0] + half[2], half[0] + half[1]], dtype=object)
    )
    centre = fractions(source, 3)
    spin = cross_matrix(centre)
    return centre, R @ moments @ R.T - spin @ spin


def rational_chain(n: int, seed: int) -> Chain:
    """A chain with rational rotations between its links, revolute and prismatic joints about any
    axes.
    """
    source = Random(f"operators/{n}/{seed}")
    links = []
    for _ in range(n):
        h, nothing = rotation(source)[:, 2], [fmpq(0)] * 3
        axis = [*h, *nothing] if source.random() < 0.7 else [*nothing, *h]
        mass, (centre, moments) = fmpq(source.randint(1, 9), 5), body(source)
        links.append(
            (rotation(source), fractions(source, 3), axis, mass, mass * centre, mass * moments)
        )
    return serial(links)


def spatial_chain(kinds: str, all_symbols: bool = False) -> Chain:
    """A chain in space, tip first, "r" for a joint that turns about z and "p" for one that slides
    along z.

    Symbols are every joint coordinate, tan(q/2) of a joint that turns, and every mass;
    `all_symbols`: also the mass centres, the tensors and the shifts. All other numbers are random
    rationals.
    """
    source = Random(f"spatial/{kinds}")
    inertial = ("hx", "hy", "hz", "xx", "xy", "xz", "yy", "yz", "zz", "lx", "ly", "lz")
    symbol_names = ["q", "m", *(inertial if all_symbols else ())]
    field = Functions([f"{name}{k + 1}" for k in range(len(kinds)) for name in symbol_names])
    links = []
    for k, kind in enumerate(kinds):
        q, m, *inertial_symbols = field.symbols()[
            k * len(symbol_names) : (k + 1) * len(symbol_names)
        ]
        between = rotation(source)
        offset = (
            np.array(inertial_symbols[9:], dtype=object) if all_symbols else fractions(source, 3)
        )
        if kind == "r":
            unit = 1 / (1 + q * q)
            c, s = (1 - q * q) * unit, 2 * q * unit
            R = between @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=object)
        else:
            R, offset = between, offset + between[:, 2] * q
        axis = [0, 0, int(kind == "r"), 0, 0, int(kind == "p")]
        if all_symbols:
            xx, xy, xz, yy, yz, zz = inertial_symbols[3:9]
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
            links.append(
                (R, offset, axis, m, np.array(inertial_symbols[:3], dtype=object), moments)
            )
        else:
            centre, moments = body(source)
            links.append((R, offset, axis, m, centre * m, moments * m))
    return serial(links)


def symbolic_chain(n: int) -> Chain:
    """Links that turn about z in the plane, every number a symbol, with the D(k) for symbols.

    The moment of inertia about each joint is chosen so that D(k), which is linear in it, is its
    symbol; no generality is lost, and all is polynomial in the symbols and 1/D(k).
    """
    symbol_names = ("m", "hx", "hy", "x", "y", "D")
    field = Functions([f"{name}{k + 1}" for k in range(n) for name in symbol_names])
    links: list[Any] = []
    for k in range(n):
        m, hx, hy, x, y, D = field.symbols()[k * len(symbol_names) : (k + 1) * len(symbol_names)]
        moments = zeros(3, 3)
        offset, h = (
            np.array([x, y, fmpq(0)], dtype=object),
            np.array([hx, hy, fmpq(0)], dtype=object),
        )
        turn = [0, 0, 1, 0, 0, 0]
        carried = zeros(6, 6)
        if links:
            o = Operators(serial(links))
            P, _, G, _ = o.riccati[0]
            carried = o.steps[0] @ (P - G @ (o.links[0].axes @ P)) @ o.steps[0].T
        moments[2, 2] = D - carried[2, 2]
        links.append((identity(3), offset, turn, m, h, moments))
    return serial(links)
