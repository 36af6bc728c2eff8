"""What a verification found, for a person (`str`) and for a program (`facts`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from symgen.tables import html_table

KINDS = ("algebra", "text", "floating", "identities")
LINES = " line(s) that differ"
"""The unit of a text that is compared line for line, where a Program's is row for row."""
_ALIKE = {LINES: "line for line"}
_TITLES = {"algebra": "algebra", "text": "text", "floating": "floating point", "identities": "identities"}


@dataclass(frozen=True)
class Check:
    """One comparison: it passed when `error` ≤ `bound`. `unit` says what both are multiples of."""

    kind: str
    subject: str
    """The function (`forward_dynamics=riccati`) or the identity (`ID(FD(tau)) = tau`)."""
    error: float
    bound: float
    unit: str = ""
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.error <= self.bound   # False for NaN

    @property
    def miss(self) -> str:
        """How far it missed, in words."""
        if self.bound == 0:
            return f"{self.error:.3g}{self.unit}, where none is allowed"
        return f"{self.error:.3g}{self.unit} against {self.bound:.3g}{self.unit}"

    def facts(self) -> dict[str, Any]:
        return {"kind": self.kind, "subject": self.subject, "passed": self.passed, "error": _finite(self.error),
                "bound": self.bound, "unit": self.unit, "detail": self.detail}


@dataclass(frozen=True, repr=False)
class Report:
    """The outcome of `symgen.verify.verify` on one robot."""

    robot: str
    real: str
    states: int
    digits: int
    condition: float
    """Largest condition number of M over the states (infinite where M is singular)."""
    checks: tuple[Check, ...]
    costs: dict[str, int] = field(default_factory=dict)
    """mul + add + div of each function's Program."""
    refused: dict[str, str] = field(default_factory=dict)
    """Functions left out, each with its reason."""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when every check passed, and there was at least one."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def of(self, kind: str) -> tuple[Check, ...]:
        """The checks of one kind: algebra, text, floating or identities."""
        return tuple(check for check in self.checks if check.kind == kind)

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON types."""
        return {
            "robot": self.robot, "passed": self.passed, "real": self.real, "states": self.states, "digits": self.digits,
            "condition": _finite(self.condition), "operations": dict(self.costs), "refused": dict(self.refused),
            "notes": list(self.notes), "checks": [check.facts() for check in self.checks],
        }

    def __str__(self) -> str:
        head = f"{self.robot}: {self.states} states, {self.digits} digits, condition of M up to {self.condition:.1e}, {self.real}"
        lines = [head, "", *_table(self._functions())]
        if self.of("identities"):
            lines += ["", *_table(self._identities())]
        lines += ["", *(f"refused: {name}: {why}" for name, why in self.refused.items()), *self.notes]
        details = [f"FAILED {_TITLES[c.kind]}, {c.subject}: {c.miss}" + f": {c.detail}" * bool(c.detail) for c in self.failures]
        verdict = "verified" if self.passed else f"{len(details)} of {len(self.checks)} checks failed"
        return "\n".join([*(line.rstrip() for line in lines), *details, f"{self.robot}: {verdict}"]).replace("\n\n\n", "\n\n")

    def __repr__(self) -> str:
        return f"<symgen.Report {self._closing}; {len(self.checks)} checks at {self.states} states, {self.real}>"

    @property
    def _closing(self) -> str:
        """The last line of the report: what came of it."""
        return str(self).rpartition("\n")[2]

    def _repr_html_(self) -> str:
        """For a notebook: the tables, then what the report says below them."""
        title, text = self._closing, str(self)
        tables = [html_table(title, self._functions())]
        if self.of("identities"):
            tables.append(html_table("functions with each other", self._identities()))
        plain = {line for rows in (self._functions(), self._identities()) for line in map(str.rstrip, _table(rows))}
        rest = [line for line in text.splitlines()[1:-1] if line and line not in plain]
        return "\n".join([*tables, *(f"<p>{escape(line)}</p>" for line in rest)])

    def _functions(self) -> list[tuple[str, ...]]:
        found = {(check.kind, check.subject): check for check in self.checks}
        rows: list[tuple[str, ...]] = [("function", "operations", "algebra", "text", "floating point (round-offs of bound)")]
        for subject in dict.fromkeys(check.subject for check in self.checks if check.kind != "identities"):
            algebra, text, floating = (found.get((kind, subject)) for kind in ("algebra", "text", "floating"))
            rows.append((
                subject, str(self.costs.get(subject, "")),
                "-" if algebra is None else f"{algebra.error:.0e}" + ("" if algebra.passed else " FAILED"),
                "-" if text is None else "FAILED" if not text.passed else _ALIKE.get(text.unit, "row for row"),
                "-" if floating is None else f"{floating.error:.2g} of {floating.bound:.0f}" + " FAILED" * (not floating.passed),
            ))
        return rows

    def _identities(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("identity", "algebra", "compiled (round-offs of bound)")]
        for title in dict.fromkeys(check.subject for check in self.of("identities")):
            own = {check.unit: check for check in self.of("identities") if check.subject == title}
            exact, compiled = own.get(""), own.get(" eps")
            rows.append((
                title,
                "-" if exact is None else f"{exact.error:.0e}" + " FAILED" * (not exact.passed),
                "-" if compiled is None else f"{compiled.error:.2g} of {compiled.bound:.0f}" + " FAILED" * (not compiled.passed),
            ))
        return rows


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _finite(value: float) -> float | str:
    return value if value - value == 0 else str(value)   # JSON has no infinity
