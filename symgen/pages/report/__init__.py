"""`report`: one robot's facts as one self-contained HTML page: tree, pose, inertias, sparsity,
costs, verification.

    symgen.pages.report.report(mechanism, "panda.html")

The same robot and version give the same bytes. So the page holds counts; `symgen compare` measures
times.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from symgen import emission, methods
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.pose import middle, skeleton
from symgen.pages.report.show import counted, facts
from symgen.pages.report.sparsity import pictures
from symgen.pages.report.tree import draw
from symgen.pipeline import build, contacts
from symgen.pipeline.request import Request
from symgen.support import files
from symgen.support.errors import RequestError, SymgenError
from symgen.support.version import __version__
from symgen.verification.report import Check, Report
from symgen.verification.verify import verify
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import HOST, TextOptions

Progress = Callable[[str, int, int], None]


def report(
    mechanism: Mechanism,
    out: str | os.PathLike[str],
    *,
    states: int = 16,
    progress: Progress | None = None,
) -> Path:
    """Write the page to `out`, whole or not at all, and return its path.

    `states` is the number of seeded states at which the functions are verified. Raises RequestError
    if `out` cannot be written.
    """
    tell = progress or (lambda step, done, total: None)
    path = Path(out)
    if not path.parent.is_dir():
        raise RequestError(
            f"{path}: the folder {path.parent} does not exist; make it first, or name another file"
            " with -o"
        )
    verified = verify(
        Request(mechanism, text=TextOptions(HOST)),
        states=states,
        progress=lambda step, done, all_: tell(f"verifying: {step}", done, all_),
    )
    costs = _costs(mechanism, tell)
    tell("drawing", 1, 1)
    described = facts(mechanism)
    text = emission.render(
        "report",
        "page.html.j2",
        version=__version__,
        robot=described,
        counted=counted(mechanism),
        tree=draw(mechanism),
        pose=_pose(mechanism),
        mass=sum(body["mass"] for body in described["bodies"]),
        joints=_joints(described),
        links=_links(described),
        warnings=[note for note in described["notes"] if note["kind"] == "warning"],
        notes=[note for note in described["notes"] if note["kind"] != "warning"],
        costs=costs,
        sparsity=pictures(mechanism),
        verified=_verified(verified),
    )
    try:
        files.write_file(path, text.encode())
    except OSError as error:
        raise RequestError(
            f"{path}: {error.strerror}; name a file that can be written with -o"
        ) from None
    return path


def _pose(mechanism: Mechanism) -> dict[str, Any]:
    q = middle(mechanism)
    ranged = q != [float(x) for joint in mechanism.leading for x in joint.type.neutral]
    words = (
        "Every joint is in the middle of its range, or at 0 if it has no range."
        if ranged
        else "Every joint is at 0."
    )
    return {"drawn": skeleton(mechanism, q), "words": words}


def _joints(described: dict[str, Any]) -> list[list[str]]:
    """Return index, name, type, parent → child, axis and range of every joint."""
    rows = []
    for i, joint in enumerate(described["joints"]):
        coupling = joint.get("follows")
        kind = joint_type(joint["type"])
        low, high = joint["limits"]["lower"], joint["limits"]["upper"]
        rows.append(
            [
                str(i),
                joint["name"],
                joint["type"],
                f"{joint['parent']} → {joint['child']}",
                " ".join(_figure(x) for x in joint["axis"]) if joint["axis"] else "none",
                f"follows {coupling['joint']}"
                if coupling
                else "none"
                if kind.nq > 1 or (low is None and high is None)
                else f"{_figure(low)} … {_figure(high)} {kind.positions[0].unit}",
            ]
        )
    return rows


def _links(described: dict[str, Any]) -> list[list[str]]:
    """Return body, link, mass, centre and moments of every moving part."""
    return [
        [
            body["name"],
            part["link"],
            _figure(part["mass"]),
            *(_figure(x) for x in part["centre"]),
            *(_figure(x) for x in part["moments"]),
        ]
        for body in described["bodies"]
        for part in body["parts"]
        if part["mass"] or any(part["moments"])
    ]


def _figure(x: float | None) -> str:
    return "" if x is None else f"{x:.5g}"


def _costs(mechanism: Mechanism, tell: Progress) -> list[dict[str, Any]]:
    """Return every function with its methods, operations, depth, temporaries and default, or the
    reason why it does not exist.
    """
    functions = []
    for done, (function, declaration) in enumerate(FUNCTIONS.items()):
        tell(f"counting {function} by every method", done, len(FUNCTIONS))
        refused = build.refusal(mechanism, function, None) or contacts.refusal(
            mechanism, function, ()
        )
        rows: list[dict[str, Any]] = []
        for method in methods.applicable_providers(function, mechanism) if refused is None else ():
            try:
                program = build.program(mechanism, function, method)
            except SymgenError as error:
                rows.append({"method": method, "why": str(error)})
                continue
            ops = program.operations
            rows.append(
                {
                    "method": method,
                    "why": "",
                    "cost": program.cost,
                    "figures": [
                        ops["mul"],
                        ops["add"],
                        ops["div"],
                        ops["sin"] + ops["cos"],
                        program.depth,
                        program.temporaries,
                    ],
                }
            )
        least = min((row["cost"] for row in rows if "cost" in row), default=0)
        for row in rows:
            row["width"] = round(100 * least / row["cost"], 1) if row.get("cost") else 0
            row["best"] = row.get("cost") == least
        functions.append(
            {"function": function, "what": declaration.what, "refused": refused, "rows": rows}
        )
    return functions


def _verified(report: Report) -> dict[str, Any]:
    def line(check: Check) -> list[str]:
        return [
            check.kind,
            check.subject,
            f"{check.error:.2g}{check.unit}",
            f"{check.bound:.2g}{check.unit}",
            {"failed": "FAILED"}.get(check.verdict, check.verdict)
            + f": {check.unjudged}" * (check.verdict == "not judged"),
        ]

    complete = bool(report.checks) and all(check.passed for check in report.checks)
    return {
        "complete": complete,
        "closing": report.closing,
        "states": report.states,
        "digits": report.digits,
        "condition": f"{report.condition:.1e}",
        "checks": [line(check) for check in report.checks],
        "refused": sorted(report.refused.items()),
        "notes": report.notes,
    }
