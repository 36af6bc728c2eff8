"""Report of a proof: as text (`str`) and as plain data (`facts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

from symgen.certificate.divisors import DivisorCertificate, OwnInertia
from symgen.certificate.ranges import Ranges
from symgen.support.tables import table
from symgen.verification.proof import eva
from symgen.verification.proof.round_off import RoundOff

Row = Sequence[object]


@dataclass(frozen=True)
class Divisor:
    """A certificate and its observation: `least` is the smallest computed value over the states
    (None: not observed).
    """

    certificate: DivisorCertificate
    least: float | None = None

    @property
    def holds(self) -> bool:
        return (
            self.certificate.lower_bound is None
            or self.least is None
            or self.least >= self.certificate.lower_bound
        )


@dataclass(frozen=True)
class Proved:
    """Result for one function: its divisors that are not constants, and its round-off."""

    function: str
    method: str
    divisors: tuple[Divisor, ...]
    round_off: RoundOff

    @property
    def holds(self) -> bool:
        return self.round_off.holds and all(divisor.holds for divisor in self.divisors)


@dataclass(frozen=True, repr=False)
class Proof:
    """Outcome of `symgen.verification.proof.prove` on one robot.

    `joints` are the inertias of each entry of v by its own link, `units` their units. `finite` are
    Frama-C's results by function (None: it did not run).
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
    """True if the inertias include the armature of drives."""
    folder: str = ""
    """The folder whose C was proved; empty if the C was printed for the proof."""

    @property
    def holds(self) -> bool:
        """True if no observation contradicts a claim."""
        return all(function.holds for function in self.functions)

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        return (
            f"<symgen Proof {self.robot}: {len(self.functions)} functions, {self.real}; {verdict}>"
        )

    def facts(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
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
                    "joint": joint.joint,
                    "link": joint.link,
                    "own_inertia": _number(joint.value),
                    "unit": unit,
                    "reason": joint.reason,
                }
                for joint, unit in zip(self.joints, self.units, strict=True)
            ],
            "functions": {
                entry.function: {
                    "method": entry.method,
                    "divisors": [self._divisor(d) for d in entry.divisors],
                    "round_off": _round_off(entry.round_off),
                }
                for entry in self.functions
            },
        } | (
            {}
            if self.finite is None
            else {"eva": {name: proof.facts for name, proof in self.finite.items()}}
        )

    def _divisor(self, divisor: Divisor) -> dict[str, Any]:
        certificate = divisor.certificate
        joint = None if certificate.joint is None else self.joints[certificate.joint]
        return {
            "row": certificate.row,
            "joint": joint and joint.joint,
            "link": joint and joint.link,
            "exact": _number(certificate.exact_bound),
            "round_off": _number(certificate.round_off),
            "certified": _number(certificate.lower_bound),
            "least_seen": divisor.least,
            "reason": certificate.reason,
        } | ({"what": certificate.description} if certificate.description else {})

    def __str__(self) -> str:
        subject = f"{self.robot}, the folder {self.folder}" if self.folder else self.robot
        lines = [
            f"{subject}, {self.real}",
            "",
            "the link's own inertia H^T M H, a lower bound of its pivot D of the mass matrix",
            *self._of_several(),
            *self._with_rotors(),
            "",
            *self._inertia_bounds(),
        ]
        for entry in self.functions:
            if entry.divisors:
                lines += [
                    "",
                    f"divisors of {entry.function}={entry.method}",
                    "",
                    *self._divisors(entry),
                ]
        if self.finite is not None:
            lines += [
                "",
                "every operation over the ranges, by Frama-C's Eva",
                "",
                *eva.lines(self.finite),
            ]
        if any(entry.round_off.bound for entry in self.functions):
            lines += ["", "round-off", "", *self._round_offs()]
        lines += ["", "assumed:", *(f"  {text}" for text in self.assumptions), ""]
        wrong = [entry.function for entry in self.functions if not entry.holds]
        counted = [d.certificate.certified for entry in self.functions for d in entry.divisors]
        verdict = (
            f"{sum(counted)} of {len(counted)} divisors certified"
            if counted
            else "no division"
            if self.functions
            else "no function with a proof"
        )
        observation = (
            "no observation exceeds its bound"
            if not wrong
            else f"CONTRADICTED by observations: {', '.join(wrong)}"
        )
        return "\n".join([*lines, f"{self.robot}: {verdict}; {observation}"])

    def _of_several(self) -> list[str]:
        """Return the remark on joints with several velocities, whose link has several rows."""
        several = len({joint.link for joint in self.joints}) < len(self.joints)
        return (
            ["(of a joint with several velocities: the link's own pivot, the later ones free)"]
            if several
            else []
        )

    def _with_rotors(self) -> list[str]:
        """Return the remark on armature, if a drive has a rotor."""
        return ["(with the armature of the joint's drive)"] if self.armed else []

    def _inertia_bounds(self) -> list[str]:
        rows: list[Row] = [("joint", "link", "H^T M H", "", "")]
        for joint, unit in zip(self.joints, self.units, strict=True):
            rows.append(
                (
                    joint.joint,
                    joint.link,
                    *(
                        (_below(joint.value), unit, "")
                        if joint.value is not None
                        else ("no certificate", "", joint.reason)
                    ),
                )
            )
        return table(rows, texts=(0, 1, 3, 4))

    def _divisors(self, proved: Proved) -> list[str]:
        rows: list[Row] = [
            ("joint", "link", "D exact >=", "round-off <=", "D computed >=", "least seen", "")
        ]
        for divisor in proved.divisors:
            certificate = divisor.certificate
            names = (
                certificate.description
                or ("(a sum of squares)" if certificate.certified else "(none)"),
                "",
            )
            if certificate.joint is not None:
                names = self.joints[certificate.joint].joint, self.joints[certificate.joint].link
            rows.append(
                (
                    *names,
                    _below(certificate.exact_bound),
                    _above(certificate.round_off),
                    "no certificate"
                    if certificate.lower_bound is None
                    else _below(certificate.lower_bound),
                    _significant(divisor.least),
                    certificate.reason,
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
        for proved in self.functions:
            round_off, location = (
                proved.round_off,
                "the ranges" if proved.round_off.everywhere else f"{self.states} states",
            )
            for name in round_off.bound:
                rows.append(
                    (
                        proved.function,
                        proved.method,
                        name,
                        location,
                        _above(round_off.most(name)),
                        _significant(round_off.largest_observed(name), 2),
                        _significant(round_off.ratio(name), 2),
                        _significant(round_off.largest.get(name), 3),
                    )
                )
        return table(rows, texts=(0, 1, 2, 3))


def _round_off(round_off: RoundOff) -> dict[str, Any]:
    return {
        "proved_for": "ranges" if round_off.everywhere else "states",
        "results": {
            name: {
                "bound": _finite(round_off.most(name)),
                "observed": round_off.largest_observed(name),
                "nearest": round_off.nearest(name),
                "ratio": _finite(round_off.ratio(name)),
                "largest": round_off.largest.get(name),
            }
            for name in round_off.bound
        },
    }


def _finite(value: float | None) -> float | None:
    """Return the value, or None for an infinite one: JSON has no infinity."""
    return None if value is None or value - value != 0 else value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _significant(value: Any, digits: int = 6) -> str:
    return "-" if value is None or value == float("inf") else f"{float(value):.{digits}g}"


def _below(value: Fraction | None, digits: int = 6) -> str:
    """Return a lower bound as text, rounded down."""
    return "-" if value is None else _rounded(value, digits, ROUND_FLOOR)


def _above(value: Fraction | float | None, digits: int = 2) -> str:
    """Return an upper bound as text, rounded up."""
    if value is None:
        return "-"
    return "none" if value - value != 0 else _rounded(Fraction(value), digits, ROUND_CEILING)


def _rounded(value: Fraction, digits: int, how: str) -> str:
    with localcontext(prec=digits, rounding=how):
        return f"{float(Decimal(value.numerator) / Decimal(value.denominator)):.{digits}g}"
