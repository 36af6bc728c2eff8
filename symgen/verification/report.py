"""Report of a verification: as text (`str`) and as plain data (`facts`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import isnan
from typing import Any

from symgen.support.tables import html_table
from symgen.verification.refusals import lines_by_reason

FUNCTIONS = ("algebra", "text", "floating")
"""Kinds of checks of one function each."""
_BESIDE_FUNCTIONS = ("blocks", "device", "files")
FILES = " file(s) that differ"
"""Unit of the check of a folder's files."""
_WORST_FIRST = ("failed", "not judged", "passed")
READ = ("text", "blocks", "device")
"""Kinds of checks that parse a text."""
TITLES = {
    "algebra": "algebra",
    "text": "text",
    "floating": "floating point",
    "identities": "identities",
    "blocks": "many states",
    "device": "on a GPU",
    "files": "files",
}


@dataclass(frozen=True)
class Check:
    """One comparison. It fails unless `error` ≤ `bound`. Both are multiples of `unit`."""

    kind: str
    subject: str
    """The function (`forward_dynamics=riccati`) or the identity (`ID(FD(tau)) = tau`)."""
    error: float
    bound: float
    unit: str = ""
    detail: str = ""
    unjudged: str = ""
    """Reason why an error within the bound proves nothing; empty otherwise."""
    lost: bool = False
    """True if the reason is a precision loss, or that another version wrote the text. Then an error
    beyond the bound proves nothing either.
    """
    judged: int = 0
    """Number of compared items, if the report mentions it."""

    @property
    def verdict(self) -> str:
        """Return "passed", "failed" or "not judged"."""
        if not self.error <= self.bound and not self.lost:  # NaN fails as well
            return "failed"
        return "not judged" if self.unjudged else "passed"

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def mark(self) -> str:
        """Return the verdict that follows a figure in a table."""
        return {"failed": " FAILED", "not judged": " not judged", "passed": ""}[self.verdict]

    @property
    def miss(self) -> str:
        """Return the error and its bound as text."""
        if self.bound == 0:
            return f"{self.error:.3g}{self.unit}, and 0 are allowed"
        return f"{self.error:.3g}{self.unit} against {self.bound:.3g}{self.unit}"

    def facts(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "subject": self.subject,
            "verdict": self.verdict,
            "passed": self.passed,
            "why": self.unjudged,
            "error": _finite(self.error),
            "bound": self.bound,
            "unit": self.unit,
            "detail": self.detail,
        }


@dataclass(frozen=True, repr=False)
class Report:
    """Outcome of `symgen.verify` on one robot."""

    robot: str
    real: str
    states: int
    digits: int
    condition: float
    """Largest condition number of M over the states (infinite if M is singular)."""
    checks: tuple[Check, ...]
    costs: dict[str, int] = field(default_factory=dict)
    """mul + add + div of each function's Program."""
    refused: dict[str, str] = field(default_factory=dict)
    """Functions that were left out, each with its reason."""
    notes: tuple[str, ...] = ()
    folder: str = ""
    """The folder whose C was checked; empty if the C was printed for the check."""

    @property
    def passed(self) -> bool:
        """True if there was at least one check, no check failed, every text was read, and no
        function has a precision loss.
        """
        return bool(self.checks) and not (self.failures or self.lost or self.unread)

    @property
    def failures(self) -> tuple[Check, ...]:
        return self._with("failed")

    @property
    def unjudged(self) -> tuple[Check, ...]:
        """Return the checks that prove nothing, each with its `unjudged` reason."""
        return self._with("not judged")

    @property
    def lost(self) -> tuple[str, ...]:
        """Return the functions whose floating point is not judged because of a precision loss."""
        return tuple(
            check.subject for check in self.unjudged if check.kind == "floating" and check.lost
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the functions whose text was written by another version of symgen and cannot be
        read by this one.
        """
        unread = (check for check in self.unjudged if check.kind in READ and check.lost)
        return tuple(dict.fromkeys(check.subject for check in unread))

    def _with(self, verdict: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.verdict == verdict)

    @property
    def verdicts(self) -> dict[str, str]:
        """Return for each function "failed" if one of its checks failed, else "not judged" if one
        was not judged, else "passed".
        """
        by_function: dict[str, str] = {}
        for check in (check for check in self.checks if check.kind in FUNCTIONS):
            by_function[check.subject] = min(
                by_function.get(check.subject, "passed"), check.verdict, key=_WORST_FIRST.index
            )
        return by_function

    @property
    def closing(self) -> str:
        """Return the outcome in a sentence that claims no more than was run."""
        count, failed, unjudged = len(self.checks), len(self.failures), len(self.unjudged)
        suffix = f", {unjudged} not judged" if unjudged else ""
        if failed:
            return f"{failed} of {count} checks failed{suffix}"
        if not count:
            return "nothing was checked"
        if unjudged:
            return f"{count - unjudged} of {count} checks passed{suffix}"
        if self.refused:
            return f"verified, except {len(self.refused)} left out: {', '.join(self.refused)}"
        return "verified"

    def of(self, kind: str) -> tuple[Check, ...]:
        """Return the checks of one kind: algebra, text, floating, identities, blocks, device or
        files.
        """
        return tuple(check for check in self.checks if check.kind == kind)

    def facts(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            "robot": self.robot,
            "folder": self.folder or None,
            "passed": self.passed,
            "closing": self.closing,
            "functions": self.verdicts,
            "real": self.real,
            "states": self.states,
            "digits": self.digits,
            "condition": _finite(self.condition),
            "operations": dict(self.costs),
            "refused": dict(self.refused),
            "notes": list(self.notes),
            "checks": [check.facts() for check in self.checks],
        }

    def __str__(self) -> str:
        condition = "" if isnan(self.condition) else f" condition of M up to {self.condition:.1e},"
        subject = f"{self.robot}, the folder {self.folder}" if self.folder else self.robot
        head = f"{subject}: {self.states} states, {self.digits} digits,{condition} {self.real}"
        lines = [head, "", *_table(self._functions())]
        if self.of("identities"):
            lines += ["", *_table(self._identities())]
        lines += [
            "",
            *self._passed_files(),
            *(f"left out: {line}" for line in lines_by_reason(self.refused)),
            *self.notes,
        ]
        lines = [
            *(line.rstrip() for line in lines),
            *self._details(),
            f"{self.robot}: {self.closing}",
        ]
        return "\n".join(lines).replace("\n\n\n", "\n\n")

    def _passed_files(self) -> list[str]:
        """Return lines on passed checks besides the single-state functions: blocks of states, a
        GPU, and the other files of a folder.
        """
        passed = {kind: [c for c in self.of(kind) if c.passed] for kind in _BESIDE_FUNCTIONS}
        lines = []
        if blocks := passed["blocks"]:
            lines.append(
                f"many states: {len(blocks)} function{'s' * (len(blocks) != 1)}, lane by lane the"
                " same rows, bit for bit the same results"
            )
        if device := passed["device"]:
            lines.append(
                f"on a GPU: {len(device)} function{'s' * (len(device) != 1)}, thread by thread the"
                " same rows; none was run there"
            )
        return lines + [
            f"files: {check.judged} as symgen prints them, byte for byte"
            for check in passed["files"]
            if check.judged
        ]

    def _details(self) -> list[str]:
        """Return a line on every check that failed, then on every check that is not judged."""
        return [
            *(
                f"FAILED {TITLES[c.kind]}, {c.subject}: {c.miss}" + f": {c.detail}" * bool(c.detail)
                for c in self.failures
            ),
            *(f"not judged {TITLES[c.kind]}, {c.subject}: {c.unjudged}" for c in self.unjudged),
        ]

    def __repr__(self) -> str:
        return (
            f"<symgen.Report {self.robot}: {self.closing}; {len(self.checks)} checks at"
            f" {self.states} states, {self.real}>"
        )

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the tables, then the text below them."""
        title, text = f"{self.robot}: {self.closing}", str(self)
        tables = [html_table(title, self._functions())]
        if self.of("identities"):
            tables.append(html_table("functions with each other", self._identities()))
        table_lines = {
            line
            for rows in (self._functions(), self._identities())
            for line in map(str.rstrip, _table(rows))
        }
        remaining = [line for line in text.splitlines()[1:-1] if line and line not in table_lines]
        return "\n".join([*tables, *(f"<p>{escape(line)}</p>" for line in remaining)])

    def _functions(self) -> list[tuple[str, ...]]:
        by_kind = {(check.kind, check.subject): check for check in self.checks}
        rows: list[tuple[str, ...]] = [
            ("function", "operations", "algebra", "text", "floating point (round-offs of bound)")
        ]
        for subject in dict.fromkeys(
            check.subject for check in self.checks if check.kind in FUNCTIONS
        ):
            algebra, text, floating = (
                by_kind.get((kind, subject)) for kind in ("algebra", "text", "floating")
            )
            rows.append(
                (
                    subject,
                    str(self.costs.get(subject, "")),
                    "-" if algebra is None else f"{algebra.error:.0e}" + algebra.mark,
                    "-" if text is None else "row for row" if text.passed else "FAILED",
                    "-" if floating is None else _error_of_bound(floating),
                )
            )
        return rows

    def _identities(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("identity", "algebra", "compiled (round-offs of bound)")]
        for title in dict.fromkeys(check.subject for check in self.of("identities")):
            by_unit = {
                check.unit: check for check in self.of("identities") if check.subject == title
            }
            exact, compiled = by_unit.get(""), by_unit.get(" eps")
            rows.append(
                (
                    title,
                    "-" if exact is None else f"{exact.error:.0e}" + exact.mark,
                    "-" if compiled is None else _error_of_bound(compiled),
                )
            )
        return rows


def precision_loss(round_offs: float) -> str:
    """Return why floating point is not judged if the error may be this many round-offs."""
    return f"precision loss ({round_offs:.2g} round-offs)"


def _error_of_bound(check: Check) -> str:
    """Return an error beside its bound, in round-offs."""
    bound = f"{check.bound:.0f}" if check.bound < 1e6 else f"{check.bound:.2g}"
    return f"{check.error:.2g} of {bound}{check.mark}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _finite(value: float) -> float | str:
    return value if value - value == 0 else str(value)  # JSON has no infinity
