"""What a proof found, for a person (`str`) and for a program (`facts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

from symgen.certificate.divisors import Floor, OwnInertia
from symgen.certificate.ranges import Ranges
from symgen.support.tables import table
from symgen.verification.proof import eva
from symgen.verification.proof.round_off import RoundOff

Row = Sequence[object]


@dataclass(frozen=True)
class Divisor:
    """A certificate and its observation: `least` is the smallest computed value over the states (None: not observed)."""

    floor: Floor
    least: float | None = None

    @property
    def holds(self) -> bool:
        return self.floor.floor is None or self.least is None or self.least >= self.floor.floor


@dataclass(frozen=True)
class Proved:
    """For one function: its divisors that are no constants, and its round-off."""

    function: str
    method: str
    divisors: tuple[Divisor, ...]
    round_off: RoundOff

    @property
    def holds(self) -> bool:
        return self.round_off.holds and all(divisor.holds for divisor in self.divisors)


@dataclass(frozen=True, repr=False)
class Proof:
    """The outcome of `symgen.verification.proof.prove` on one robot.

    `joints` say of each entry of v its own inertia, and `units` what that is in.
    `finite` is what Frama-C found by function (None: it was not asked).
    """

    robot: str
    real: str
    states: int
    joints: tuple[OwnInertia, ...]
    units: tuple[str, ...]
    functions: tuple[Proved, ...]
    ranges: Ranges
    assumptions: tuple[str, ...]
    finite: Mapping[str, eva.Proof] | None = None
    armed: bool = False
    """Whether the armature of a drive is part of what a joint has by its link."""
    folder: str = ""
    """The folder whose C was proved; empty where the C was printed for the proof."""

    @property
    def holds(self) -> bool:
        """Whether no observation contradicts a claim."""
        return all(function.holds for function in self.functions)

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        return (
            f"<symgen Proof {self.robot}: {len(self.functions)} functions, {self.real}; {verdict}>"
        )

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON types."""
        return {
            "robot": self.robot,
            "folder": self.folder or None,
            "real": self.real,
            "states": self.states,
            "holds": self.holds,
            "assumptions": list(self.assumptions),
            "ranges": {
                name: [[float(low), float(high)] for low, high in self.ranges.of[name]]
                for name in ("q", "v", "a", "tau")
            },
            "joints": [
                {
                    "joint": own.joint,
                    "link": own.link,
                    "own_inertia": _number(own.value),
                    "unit": unit,
                    "reason": own.reason,
                }
                for own, unit in zip(self.joints, self.units, strict=True)
            ],
            "functions": {
                one.function: {
                    "method": one.method,
                    "divisors": [self._divisor(d) for d in one.divisors],
                    "round_off": _round_off(one.round_off),
                }
                for one in self.functions
            },
        } | (
            {}
            if self.finite is None
            else {"eva": {name: one.facts for name, one in self.finite.items()}}
        )

    def _divisor(self, divisor: Divisor) -> dict[str, Any]:
        floor = divisor.floor
        own = None if floor.joint is None else self.joints[floor.joint]
        return {
            "row": floor.row,
            "joint": own and own.joint,
            "link": own and own.link,
            "exact": _number(floor.exact),
            "round_off": _number(floor.lost),
            "certified": _number(floor.floor),
            "least_seen": divisor.least,
            "reason": floor.reason,
        } | ({"what": floor.what} if floor.what else {})

    def __str__(self) -> str:
        subject = f"{self.robot}, the folder {self.folder}" if self.folder else self.robot
        lines = [
            f"{subject}, {self.real}",
            "",
            "the link's own inertia H^T M H, which its pivot D of the mass matrix never "
            "falls below",
            *self._of_several(),
            *self._with_rotors(),
            "",
            *self._own(),
        ]
        for one in self.functions:
            if one.divisors:
                lines += ["", f"divisors of {one.function}={one.method}", "", *self._divisors(one)]
        if self.finite is not None:
            lines += [
                "",
                "every operation over the ranges, by Frama-C's Eva",
                "",
                *eva.lines(self.finite),
            ]
        if any(one.round_off.bound for one in self.functions):
            lines += ["", "round-off", "", *self._round_offs()]
        lines += ["", "assumed:", *(f"  {text}" for text in self.assumptions), ""]
        wrong = [one.function for one in self.functions if not one.holds]
        counted = [d.floor.certified for one in self.functions for d in one.divisors]
        verdict = (
            f"{sum(counted)} of {len(counted)} divisors certified"
            if counted
            else "no division"
            if self.functions
            else "no function of which anything is proved"
        )
        seen = (
            "nothing observed exceeds its bound"
            if not wrong
            else f"CONTRADICTED by what was observed: {', '.join(wrong)}"
        )
        return "\n".join([*lines, f"{self.robot}: {verdict}; {seen}"])

    def _of_several(self) -> list[str]:
        """What stands for it where a joint has several velocities, and its link so many rows."""
        several = len({own.link for own in self.joints}) < len(self.joints)
        return (
            ["(of a joint with several velocities: the link's own pivot, the later ones free)"]
            if several
            else []
        )

    def _with_rotors(self) -> list[str]:
        """What is part of it where a drive has a rotor."""
        return ["(with the armature of the joint's drive)"] if self.armed else []

    def _own(self) -> list[str]:
        rows: list[Row] = [("joint", "link", "H^T M H", "", "")]
        for own, unit in zip(self.joints, self.units, strict=True):
            rows.append(
                (
                    own.joint,
                    own.link,
                    *(
                        (_below(own.value), unit, "")
                        if own.value is not None
                        else ("no certificate", "", own.reason)
                    ),
                )
            )
        return table(rows, texts=(0, 1, 3, 4))

    def _divisors(self, one: Proved) -> list[str]:
        rows: list[Row] = [
            ("joint", "link", "D exact >=", "round-off <=", "D computed >=", "least seen", "")
        ]
        for divisor in one.divisors:
            floor = divisor.floor
            names = (floor.what or ("(a sum of squares)" if floor.certified else "(none)"), "")
            if floor.joint is not None:
                names = self.joints[floor.joint].joint, self.joints[floor.joint].link
            rows.append(
                (
                    *names,
                    _below(floor.exact),
                    _above(floor.lost),
                    "no certificate" if floor.floor is None else _below(floor.floor),
                    _near(divisor.least),
                    floor.reason,
                )
            )
        return table(rows, texts=(0, 1, 6))

    def _round_offs(self) -> list[str]:
        rows: list[Row] = [
            (
                "function",
                "method",
                "result",
                "proved for",
                "bound",
                "seen",
                "bound/seen",
                "largest answer",
            )
        ]
        for one in self.functions:
            found, where = (
                one.round_off,
                "the ranges" if one.round_off.everywhere else f"{self.states} states",
            )
            for name in found.bound:
                rows.append(
                    (
                        one.function,
                        one.method,
                        name,
                        where,
                        _above(found.most(name)),
                        _near(found.seen(name), 2),
                        _near(found.ratio(name), 2),
                        _near(found.largest.get(name), 3),
                    )
                )
        return table(rows, texts=(0, 1, 2, 3))


def _round_off(found: RoundOff) -> dict[str, Any]:
    return {
        "proved_for": "ranges" if found.everywhere else "states",
        "results": {
            name: {
                "bound": _finite(found.most(name)),
                "observed": found.seen(name),
                "nearest": found.nearest(name),
                "ratio": _finite(found.ratio(name)),
                "largest": found.largest.get(name),
            }
            for name in found.bound
        },
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity; None is no bound."""
    return None if value is None or value - value != 0 else value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _near(value: Any, digits: int = 6) -> str:
    return "-" if value is None or value == float("inf") else f"{float(value):.{digits}g}"


def _below(value: Fraction | None, digits: int = 6) -> str:
    """A lower bound, rounded down."""
    return "-" if value is None else _rounded(value, digits, ROUND_FLOOR)


def _above(value: Fraction | float | None, digits: int = 2) -> str:
    """An upper bound, rounded up."""
    if value is None:
        return "-"
    return "none" if value - value != 0 else _rounded(Fraction(value), digits, ROUND_CEILING)


def _rounded(value: Fraction, digits: int, how: str) -> str:
    with localcontext(prec=digits, rounding=how):
        return f"{float(Decimal(value.numerator) / Decimal(value.denominator)):.{digits}g}"
