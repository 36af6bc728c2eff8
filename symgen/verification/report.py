"""What a verification found, for a person (`str`) and for a program (`facts`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import isnan
from typing import Any

from symgen.support.tables import html_table
from symgen.verification.refusals import said_once

FUNCTIONS = ("algebra", "text", "floating")
"""The kinds that judge one function each."""
_BESIDE_FUNCTIONS = ("blocks", "device", "files")
FILES = " file(s) that differ"
"""The unit of a folder's files."""
_WORST_FIRST = ("failed", "not judged", "passed")
READ = ("text", "blocks", "device")
"""Kinds of checks that read a text back."""
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
    """One comparison. It failed unless `error` ≤ `bound`, if it can fail. Both are multiples of `unit`."""

    kind: str
    subject: str
    """The function (`forward_dynamics=riccati`) or the identity (`ID(FD(tau)) = tau`)."""
    error: float
    bound: float
    unit: str = ""
    detail: str = ""
    unjudged: str = ""
    """Why an error within the bound proves nothing; empty where it does."""
    lost: bool = False
    """Whether that is because the answer loses its digits, or another version wrote the text. Then an error beyond the bound
    proves nothing either."""
    judged: int = 0
    """How many things it looked at, where that is worth a word."""

    @property
    def verdict(self) -> str:
        """ "passed", "failed" or "not judged"."""
        if not self.error <= self.bound and not self.lost:  # so does NaN
            return "failed"
        return "not judged" if self.unjudged else "passed"

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def mark(self) -> str:
        """The verdict printed after a figure in a table."""
        return {"failed": " FAILED", "not judged": " not judged", "passed": ""}[self.verdict]

    @property
    def miss(self) -> str:
        """By how much it missed, in words."""
        if self.bound == 0:
            return f"{self.error:.3g}{self.unit}, where none is allowed"
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
    """The outcome of `symgen.verification.verify.verify` on one robot."""

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
    folder: str = ""
    """The folder whose C was checked; empty where the C was printed for the check."""

    @property
    def passed(self) -> bool:
        """True when there was a check, none failed, every text was read, and no function loses its digits, for which nobody
        can say that it is right.
        """
        return bool(self.checks) and not (self.failures or self.lost or self.unread)

    @property
    def failures(self) -> tuple[Check, ...]:
        return self._with("failed")

    @property
    def unjudged(self) -> tuple[Check, ...]:
        """The checks that prove nothing, each with its `unjudged` reason."""
        return self._with("not judged")

    @property
    def lost(self) -> tuple[str, ...]:
        """The functions whose floating point is not judged because they lose their digits."""
        return tuple(
            check.subject for check in self.unjudged if check.kind == "floating" and check.lost
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """The functions whose text another version of symgen wrote, and this one cannot read."""
        unread = (check for check in self.unjudged if check.kind in READ and check.lost)
        return tuple(dict.fromkeys(check.subject for check in unread))

    def _with(self, verdict: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.verdict == verdict)

    @property
    def verdicts(self) -> dict[str, str]:
        """For each function: "failed" if one of its checks failed, else "not judged" if one was not judged, else "passed"."""
        found: dict[str, str] = {}
        for check in (check for check in self.checks if check.kind in FUNCTIONS):
            found[check.subject] = min(
                found.get(check.subject, "passed"), check.verdict, key=_WORST_FIRST.index
            )
        return found

    @property
    def closing(self) -> str:
        """The outcome, in a sentence that claims no more than was run."""
        count, missed, open_ = len(self.checks), len(self.failures), len(self.unjudged)
        behind = f", {open_} not judged" if open_ else ""
        if missed:
            return f"{missed} of {count} checks failed{behind}"
        if not count:
            return "nothing was checked"
        if open_:
            return f"{count - open_} of {count} checks passed{behind}"
        if self.refused:
            return f"verified, but for {len(self.refused)} left out: {', '.join(self.refused)}"
        return "verified"

    def of(self, kind: str) -> tuple[Check, ...]:
        """The checks of one kind: algebra, text, floating, identities, blocks, device or files."""
        return tuple(check for check in self.checks if check.kind == kind)

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON types."""
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
            *(f"left out: {line}" for line in said_once(self.refused)),
            *self.notes,
        ]
        lines = [
            *(line.rstrip() for line in lines),
            *self._details(),
            f"{self.robot}: {self.closing}",
        ]
        return "\n".join(lines).replace("\n\n\n", "\n\n")

    def _passed_files(self) -> list[str]:
        """Lines on what is right besides the functions of one state: many states, a GPU, and the other files of a folder."""
        passed = {kind: [c for c in self.of(kind) if c.passed] for kind in _BESIDE_FUNCTIONS}
        lines = []
        if blocks := passed["blocks"]:
            lines.append(
                f"many states: {len(blocks)} function{'s' * (len(blocks) != 1)}, lane by lane the same rows, bit for bit the same results"
            )
        if device := passed["device"]:
            lines.append(
                f"on a GPU: {len(device)} function{'s' * (len(device) != 1)}, thread by thread the same rows; none was run there"
            )
        return lines + [
            f"files: {check.judged} as symgen prints them, byte for byte"
            for check in passed["files"]
            if check.judged
        ]

    def _details(self) -> list[str]:
        """A line on every check that failed, and then on every check that is not judged."""
        return [
            *(
                f"FAILED {TITLES[c.kind]}, {c.subject}: {c.miss}" + f": {c.detail}" * bool(c.detail)
                for c in self.failures
            ),
            *(f"not judged {TITLES[c.kind]}, {c.subject}: {c.unjudged}" for c in self.unjudged),
        ]

    def __repr__(self) -> str:
        return f"<symgen.Report {self.robot}: {self.closing}; {len(self.checks)} checks at {self.states} states, {self.real}>"

    def _repr_html_(self) -> str:
        """For a notebook: the tables, then what the report says below them."""
        title, text = f"{self.robot}: {self.closing}", str(self)
        tables = [html_table(title, self._functions())]
        if self.of("identities"):
            tables.append(html_table("functions with each other", self._identities()))
        plain = {
            line
            for rows in (self._functions(), self._identities())
            for line in map(str.rstrip, _table(rows))
        }
        rest = [line for line in text.splitlines()[1:-1] if line and line not in plain]
        return "\n".join([*tables, *(f"<p>{escape(line)}</p>" for line in rest)])

    def _functions(self) -> list[tuple[str, ...]]:
        found = {(check.kind, check.subject): check for check in self.checks}
        rows: list[tuple[str, ...]] = [
            ("function", "operations", "algebra", "text", "floating point (round-offs of bound)")
        ]
        for subject in dict.fromkeys(
            check.subject for check in self.checks if check.kind in FUNCTIONS
        ):
            algebra, text, floating = (
                found.get((kind, subject)) for kind in ("algebra", "text", "floating")
            )
            rows.append(
                (
                    subject,
                    str(self.costs.get(subject, "")),
                    "-" if algebra is None else f"{algebra.error:.0e}" + algebra.mark,
                    "-" if text is None else "row for row" if text.passed else "FAILED",
                    "-" if floating is None else _of(floating),
                )
            )
        return rows

    def _identities(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("identity", "algebra", "compiled (round-offs of bound)")]
        for title in dict.fromkeys(check.subject for check in self.of("identities")):
            own = {check.unit: check for check in self.of("identities") if check.subject == title}
            exact, compiled = own.get(""), own.get(" eps")
            rows.append(
                (
                    title,
                    "-" if exact is None else f"{exact.error:.0e}" + exact.mark,
                    "-" if compiled is None else _of(compiled),
                )
            )
        return rows


def lost_digits(round_offs: float) -> str:
    """Why floating point is not judged when it may be off by so many round-offs."""
    return f"loses its digits here ({round_offs:.2g} round-offs)"


def _of(check: Check) -> str:
    """An error beside its bound, in round-offs."""
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
