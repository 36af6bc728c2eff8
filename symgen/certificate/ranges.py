"""Box of states for the proofs: declared joint ranges, and assumed ranges where a description
declares none.

No description limits accelerations, and many omit velocities or efforts: each such range is an
assumption, stated with its joint. Positions are in rad or m, velocities in rad/s or m/s,
accelerations in rad/s² or m/s², forces in N·m or N. Limits belong to joints of one coordinate. For
a joint with several, every range is an assumption, stated with the coordinate. The entries of a
quaternion range within ±1; that they have unit length is stated separately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from symgen.ir.program import Program
from symgen.mechanism.joints import Coordinate
from symgen.mechanism.mechanism import Joint, Limits, Mechanism
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary import derivatives

Range = tuple[Fraction, Fraction]
TURN = Fraction(math.pi) + Fraction(1, 10**15)
"""π, rounded up."""
STROKE = Fraction(1)
RATE, FORCE = Fraction(5), Fraction(100)
ACCELERATION = Fraction(10)
_PAYLOAD: tuple[Range, ...] = (
    (Fraction(0), Fraction(5)),
    *[(Fraction(-1, 5), Fraction(1, 5))] * 3,
    *[(Fraction(-1, 5) if k in (1, 2, 4) else Fraction(0), Fraction(1, 5)) for k in range(6)],
)
"""Mass (kg), centre (m), moments xx xy xz yy yz zz (kg·m²) of a run-time load."""
_WRENCH: tuple[Range, ...] = (
    *[(Fraction(-10), Fraction(10))] * 3,
    *[(Fraction(-100), Fraction(100))] * 3,
)
_STEP: tuple[Range, ...] = ((Fraction(-1), Fraction(1)),)
"""Range of a time step (s)."""
_GAINS: tuple[Range, ...] = ((Fraction(0), Fraction(10_000)), (Fraction(0), Fraction(200)))
"""Ranges of the gains of Baumgarte stabilization (1/s², 1/s)."""
_PARAMETER: Range = (Fraction(-100), Fraction(100))
"""Range of an inertial parameter of a link: kg, kg·m or kg·m²."""
_SWITCH: Range = (Fraction(0), Fraction(1))
"""Range of the switch of a contact."""
_STATED = {
    "pi": "pi: inertial parameters within ±100 kg, kg m and kg m²",
    "dt": "dt: time steps within ±1 s",
    "payload": (
        "payload: a load that a body can be, mass up to 5 kg, centre within ±0.2 m along each axis,"
        " moments to 0.2 kg m²"
    ),
    "wrench": "wrench: moments up to 10 N m, forces up to 100 N",
    "gains": "gains: K_p from 0 to 10000 1/s^2, K_d from 0 to 200 1/s",
}


_ALONE = "limits are those of joints of one coordinate"
_ASSUMED = {
    "m": ((-STROKE, STROKE), f"{_ALONE}, ±{float(STROKE):g} m assumed"),
    "rad": ((-TURN, TURN), f"{_ALONE}, ±pi rad assumed"),
    "1": (
        (Fraction(-1), Fraction(1)),
        "the entries of a unit quaternion, within ±1; intervals do not know that its length is 1, "
        "so that bounds over the ranges are wider",
    ),
}
"""Assumed range and its statement, by unit, of the coordinates of a joint with several."""


@dataclass(frozen=True)
class Ranges:
    """`of` has the range of every element of every argument; `assumed` states in sentences what no
    description declares.
    """

    of: Mapping[str, tuple[Range, ...]]
    assumed: tuple[str, ...]

    def for_program(self, program: Program) -> dict[str, tuple[Range, ...]]:
        """Return the ranges of a Program's arguments; RequestError for an argument without a range.

        Additional arguments of a derivative are in ±1: the derivative is linear in them.
        """
        if derivatives.parse_derivative(program.function) is not None:
            return {
                port.name: self.of.get(port.name, ((Fraction(-1), Fraction(1)),) * port.size)
                for port in program.inputs
            }
        for port in program.inputs:
            if port.name not in self.of:
                raise RequestError(
                    f"{program.function} takes '{port.name}', for which no range is known; leave it"
                    " out with -f"
                )
        return {port.name: self.of[port.name] for port in program.inputs}


def declared_ranges(
    mechanism: Mechanism,
    acceleration: Fraction = ACCELERATION,
    *,
    wrenches: int = 1,
    contacts: int = 0,
) -> Ranges:
    """Return the box of `mechanism`; `acceleration` (rad/s², m/s²) bounds accelerations, which no
    description limits.

    `wrenches` is the number of run-time wrenches, `contacts` that of contacts. RequestError for
    limits that are not in order, and for an acceleration that is not positive.
    """
    if acceleration <= 0:
        raise ArgumentError(
            "the range of accelerations must be positive; give --acceleration in rad/s² and m/s²,"
            " as 10"
        )
    of_joints = _OfJoints()
    for index, (joint, limits) in enumerate(zip(mechanism.joints, mechanism.ranges, strict=True)):
        if mechanism.joint_couplings[index] is None:
            of_joints.add_positions(mechanism, index, joint, limits)
            of_joints.add_rates(mechanism, index, joint, limits)
    positions, assumed = tuple(of_joints.positions), of_joints.assumed
    everywhere = (
        f"all joints: accelerations within ±{float(acceleration):g} rad/s² or m/s² (no description"
        " limits them)"
    )
    n = mechanism.nv
    return Ranges(
        {
            "q": positions,
            "v": tuple(of_joints.velocities),
            "a": ((-acceleration, acceleration),) * n,
            "tau": tuple(of_joints.efforts),
            "b": ((-FORCE, FORCE),) * n,
            "payload": _PAYLOAD,
            "wrench": _WRENCH * wrenches,
            "gains": _GAINS,
            "pi": (_PARAMETER,) * mechanism.sizes.NP,
            "dt": _STEP,
            "q_next": positions,
            "restitution": ((Fraction(0), Fraction(1)),),
            **({"active": (_SWITCH,) * contacts} if contacts else {}),
        },
        (*(f"{', '.join(joints)}: {sentence}" for sentence, joints in assumed.items()), everywhere),
    )


@dataclass
class _OfJoints:
    """Ranges of the entries of q, v and tau, and the names of the entries by assumption."""

    positions: list[Range] = field(default_factory=list)
    velocities: list[Range] = field(default_factory=list)
    efforts: list[Range] = field(default_factory=list)
    assumed: dict[str, list[str]] = field(default_factory=dict)

    def add_positions(self, mechanism: Mechanism, index: int, joint: Joint, limits: Limits) -> None:
        """Add the coordinates of one joint."""
        for name, coordinate in _names(
            mechanism.coordinate_names, mechanism.q_slices[index], joint.type.positions
        ):
            range_, sentence = (
                _position(mechanism, joint, limits)
                if _is_single(joint)
                else _one_of_several(coordinate)
            )
            self.positions.append(range_)
            if sentence:
                self.assumed.setdefault(sentence, []).append(name)

    def add_rates(self, mechanism: Mechanism, index: int, joint: Joint, limits: Limits) -> None:
        """Add the velocities and the forces of one joint."""
        for name, rate in _names(
            mechanism.velocity_names, mechanism.v_slices[index], joint.type.velocities
        ):
            for kind, declared, default, ranges, unit in (
                ("velocity", limits.velocity, RATE, self.velocities, rate.rate_unit),
                ("effort", limits.effort, FORCE, self.efforts, rate.force_unit),
            ):
                if _is_single(joint) and declared is not None and declared > 0:
                    ranges.append((-declared, declared))
                    continue
                ranges.append((-default, default))
                reason = f"{kind} {_ALONE}"
                if _is_single(joint):
                    reason = f"no {kind} limit declared"
                sentence = f"{reason}, ±{float(default):g} {unit} assumed"
                self.assumed.setdefault(sentence, []).append(name)


def _is_single(joint: Joint) -> bool:
    """True for a joint with one coordinate and one velocity."""
    return joint.type.nq == joint.type.nv == 1


def assumptions_about(names: Sequence[str]) -> list[str]:
    """Return the assumptions on arguments of these names, which no description declares."""
    return [_STATED[name] for name in names if name in _STATED]


def _names(
    names: Sequence[str], joint_slice: slice, coordinates: Sequence[Coordinate]
) -> list[tuple[str, Coordinate]]:
    """Return the coordinates or velocities of one joint, each with its name in the mechanism."""
    return list(zip(names[joint_slice], coordinates, strict=True))


def _one_of_several(coordinate: Coordinate) -> tuple[Range, str]:
    """Return the range of one of several coordinates, and the statement of the assumption."""
    return _ASSUMED[coordinate.unit]


def _position(mechanism: Mechanism, joint: Joint, limits: Limits) -> tuple[Range, str]:
    """Return the range, and the statement of the assumption, "" if it is declared."""
    low, high = limits.lower, limits.upper
    if (joint.type.limited or limits is not joint.limits) and low is not None and high is not None:
        if low > high:
            raise ArgumentError(
                f"{mechanism.name}: joint '{joint.name}' has limits that are not in order "
                f"({float(low):g} to {float(high):g}); correct them in the description"
            )
        return (low, high), ""
    (coordinate,) = joint.type.positions
    if coordinate.unit == "m":
        return (-STROKE, STROKE), f"no limits declared, ±{float(STROKE):g} m assumed"
    reason = "no limits declared" if joint.type.limited else "turning without limits"
    return (-TURN, TURN), f"{reason}, ±pi rad assumed"
