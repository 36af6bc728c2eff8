"""Numbers that change at run time, drawn anew: the robot is described again with them, and that is what the C is compared with.

So a check knows nothing of how parameters are regrouped: the reference reads them off a description.
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
"""m/s² by which each entry of gravity is drawn apart, at most."""


class Given(NamedTuple):
    """`mechanism` described anew, and what the C is given: `parameters`, and `prepared`, which is made of them."""

    mechanism: Mechanism
    parameters: tuple[Fraction, ...] = ()
    prepared: tuple[Fraction, ...] = ()

    @property
    def arguments(self) -> dict[str, tuple[Fraction, ...]]:
        """By name; none where no number changes."""
        return {"parameters": self.parameters, "prepared": self.prepared} if self.parameters else {}


def given(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions, seed: int
) -> Given:
    """The robot with other parameters, where its functions take some. `programs` hold REGROUP then."""
    if REGROUP not in programs:
        return Given(mechanism)
    asked = adjustable_parameters(mechanism, options.parameters)
    drawn = draw(mechanism, asked, seed)
    parameters = [x for one in asked for x in drawn[one.name]]
    prepared = programs[REGROUP].run({"parameters": parameters}, EXACT)["prepared"]
    return Given(
        adjust_mechanism(mechanism, drawn), tuple(parameters), tuple(map(Fraction, prepared))
    )


def draw(
    mechanism: Mechanism, asked: Sequence[Adjustable], seed: int
) -> dict[str, tuple[Fraction, ...]]:
    """Numbers that a robot may have, by name: of each link those of a body, on a grid that every real type holds."""
    random = Random(f"parameters/{seed}/{len(asked)}")
    found: dict[str, tuple[Fraction, ...]] = {
        one.name: (Fraction(random.randint(64, 1024), 1024),) for one in asked if one.joint
    }
    for link, load in dict.fromkeys((one.link, one.load) for one in asked if not one.joint):
        own = {
            one.kind: one.name
            for one in asked
            if (one.link, one.load) == (link, load) and not one.joint
        }
        if GRAVITY in own:
            found[GRAVITY] = tuple(
                Fraction(round(g * 1024), 1024) + PULL * random.randint(-8, 8) / 8
                for g in mechanism.gravity
            )
            continue
        mass, *rest = draw_load(random)
        drawn = {"mass": (mass,), "centre": tuple(rest[:3]), "inertia": tuple(rest[3:])}
        stays = declared_centre(mechanism, link, load)
        if "inertia" in own and not (
            "mass" in own and "centre" in own
        ):  # a body about the centre and of the mass that stay
            drawn["inertia"] = _about(drawn, stays, own)
        found |= {name: drawn[kind] for kind, name in own.items()}
    return found


def _about(
    drawn: Mapping[str, Sequence[Fraction]],
    stays: tuple[Fraction, Sequence[Fraction]],
    own: Mapping[str, str],
) -> tuple[Fraction, ...]:
    """Moments of what is drawn about its own centre, moved to where the centre stays, with the mass that stays."""
    mass, centre = drawn["mass"][0], drawn["centre"]
    there = drawn["centre"] if "centre" in own else stays[1]
    heavy = mass if "mass" in own else stays[0]
    moved = zip(drawn["inertia"], _steiner(centre), _steiner(there), strict=True)
    return tuple(
        Fraction(round((x - mass * away + heavy * here) * 2**20), 2**20) for x, away, here in moved
    )


def _steiner(c: Sequence[Fraction]) -> tuple[Fraction, ...]:
    x, y, z = c
    return (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)


def broadcast(numbers: Sequence[Fraction], count: int) -> Array:
    """(count, N)."""
    out = np.empty((count, len(numbers)), dtype=object)
    out[:] = list(numbers)
    return out
