"""Robots with other run-time numbers: the C with such arguments is compared with a robot that is
described with these numbers.

So the check is independent of how parameters are regrouped: the reference reads them off a
description.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import NamedTuple

import numpy as np

from symgen.ir.loops import Form
from symgen.ir.program import EXACT
from symgen.mechanism.adjustable import (
    GRAVITY,
    Adjustable,
    adjust_mechanism,
    adjustable_parameters,
    declared_centre,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import draw_load
from symgen.vocabulary.functions import REGROUP
from symgen.vocabulary.options import ProgramOptions

PULL = Fraction(1, 4)
"""m/s²: largest change of each entry of gravity."""


class AdjustedRobot(NamedTuple):
    """`mechanism` with other numbers, and the arguments of the C: `parameters`, and `prepared`,
    which is computed from them.
    """

    mechanism: Mechanism
    parameters: tuple[Fraction, ...] = ()
    prepared: tuple[Fraction, ...] = ()

    @property
    def arguments(self) -> dict[str, tuple[Fraction, ...]]:
        """Return the arguments by name; none if no number changes at run time."""
        return {"parameters": self.parameters, "prepared": self.prepared} if self.parameters else {}


def draw_adjusted_robot(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions, seed: int
) -> AdjustedRobot:
    """Return the robot with other parameters, if its functions take run-time parameters; `programs`
    contain REGROUP then.
    """
    if REGROUP not in programs:
        return AdjustedRobot(mechanism)
    chosen = adjustable_parameters(mechanism, options.parameters)
    numbers = draw_parameters(mechanism, chosen, seed)
    parameters = [x for parameter in chosen for x in numbers[parameter.name]]
    prepared = programs[REGROUP].run({"parameters": parameters}, EXACT)["prepared"]
    return AdjustedRobot(
        adjust_mechanism(mechanism, numbers), tuple(parameters), tuple(map(Fraction, prepared))
    )


def draw_parameters(
    mechanism: Mechanism, chosen: Sequence[Adjustable], seed: int
) -> dict[str, tuple[Fraction, ...]]:
    """Return physical numbers for the chosen parameters, by name, on a grid that every real type
    represents exactly.
    """
    random = Random(f"parameters/{seed}/{len(chosen)}")
    numbers: dict[str, tuple[Fraction, ...]] = {
        parameter.name: (Fraction(random.randint(64, 1024), 1024),)
        for parameter in chosen
        if parameter.joint
    }
    for link, load in dict.fromkeys(
        (parameter.link, parameter.load) for parameter in chosen if not parameter.joint
    ):
        names = {
            parameter.kind: parameter.name
            for parameter in chosen
            if (parameter.link, parameter.load) == (link, load) and not parameter.joint
        }
        if GRAVITY in names:
            numbers[GRAVITY] = tuple(
                Fraction(round(g * 1024), 1024) + PULL * random.randint(-8, 8) / 8
                for g in mechanism.gravity
            )
            continue
        mass, *centre_and_moments = draw_load(random)
        drawn = {
            "mass": (mass,),
            "centre": tuple(centre_and_moments[:3]),
            "inertia": tuple(centre_and_moments[3:]),
        }
        declared = declared_centre(mechanism, link, load)
        if "inertia" in names and not (
            "mass" in names and "centre" in names
        ):  # the inertia belongs to a declared centre or mass
            drawn["inertia"] = _moments_about(drawn, declared, names)
        numbers |= {name: drawn[kind] for kind, name in names.items()}
    return numbers


def _moments_about(
    drawn: Mapping[str, Sequence[Fraction]],
    declared: tuple[Fraction, Sequence[Fraction]],
    names: Mapping[str, str],
) -> tuple[Fraction, ...]:
    """Return drawn moments, moved from the drawn centre to the declared centre and mass where these
    are not drawn.
    """
    mass, centre = drawn["mass"][0], drawn["centre"]
    kept_centre = drawn["centre"] if "centre" in names else declared[1]
    kept_mass = mass if "mass" in names else declared[0]
    drawn_and_shifts = zip(drawn["inertia"], _steiner(centre), _steiner(kept_centre), strict=True)
    return tuple(
        Fraction(round((x - mass * at_drawn + kept_mass * at_kept) * 2**20), 2**20)
        for x, at_drawn, at_kept in drawn_and_shifts
    )


def _steiner(c: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the moments of a unit point mass at c."""
    x, y, z = c
    return (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)


def broadcast(numbers: Sequence[Fraction], count: int) -> Array:
    """Return the numbers at every state, (count, N)."""
    values = np.empty((count, len(numbers)), dtype=object)
    values[:] = list(numbers)
    return values
