"""What is known of the C of a folder, as its README prints it: words and cells for `README_firmware.md.j2`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from math import isfinite
from typing import Any

from symgen.emission.markdown import cell, prose
from symgen.support.tables import span

Facts = Mapping[str, Any]
_ARGUMENTS = (("q", "position"), ("v", "velocity"), ("tau", "force"))


def context(evidence: Facts) -> dict[str, Any]:
    """The names that the template reads, from the facts of the manifest ("cost": `symgen.delivery.cost_sheet`, "proof":
    `symgen.delivery.proof_sheet`)."""
    return _cost(evidence.get("cost", {})) | _proof(evidence.get("proof", {}))


def _cost(sheet: Facts) -> dict[str, Any]:
    functions: Mapping[str, Facts] = sheet.get("functions", {})
    depths = [cost["stack_with_libm"] for cost in functions.values()]
    timed = any(cost["cycles"] is not None for cost in functions.values())
    return {
        "timed": timed,
        "cost": {
            key: sheet[key]
            for key in (
                "title",
                "compiler",
                "emulator",
                "states",
                "flash",
                "flash_with_libm",
                "ram_with_libm",
                "newlib",
                "timing",
                "untold",
            )
            if key in sheet
        },
        "unmeasured": sheet.get("missing", ""),
        "compiled_with": " ".join((sheet.get("optimize", ""), *sheet.get("flags", ()))),
        "costs": [
            [
                f"`{name}`",
                *(
                    span(cost[key])
                    for key in (
                        "instructions",
                        "alone",
                        *(("cycles", "cycles_alone") if timed else ()),
                    )
                ),
                cost["flash"],
                cost["flash_with_libm"],
                cost["stack"],
                _known(cost["stack_with_libm"]),
                cost["ram"],
                " ".join(cost["undefined"]) or "nothing",
            ]
            for name, cost in functions.items()
        ],
        "most_stack": max((cost["stack"] for cost in functions.values()), default=0),
        "most_depth": 0 if None in depths else max(depths, default=0),
    }


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _proof(sheet: Facts) -> dict[str, Any]:
    functions: Mapping[str, Facts] = sheet.get("functions", {})
    joints: Iterable[Facts] = sheet.get("joints", ())
    eva: Mapping[str, Facts] = sheet.get("eva", {})
    return {
        "proof_states": sheet.get("states", 0),
        "ranges": [
            [cell(joint["joint"]), *(_span(sheet["ranges"][name][i]) for name, _ in _ARGUMENTS)]
            for i, joint in enumerate(joints)
        ],
        "inertias": [
            [cell(joint["joint"]), cell(joint["link"]), _certificate(joint)] for joint in joints
        ],
        "floors": [
            [f"`{name}`", *_floors(function["divisors"])]
            for name, function in functions.items()
            if function["divisors"]
        ],
        "round_offs": [
            [f"`{name}`", result, _over(function, sheet), _bound(found["bound"])]
            for name, function in functions.items()
            for result, found in function["round_off"]["results"].items()
        ],
        "eva_missing": sheet.get("eva_missing", ""),
        "eva_idle": "eva" in sheet and not eva,
        "finite": [
            [
                f"`{name}`",
                "yes"
                if one["proved"]
                else f"no: {len(one['alarms'])} operations are not excluded to fail",
                "; ".join(f"`{line}`" for line in one["admitted"]) or "nothing",
            ]
            for name, one in eva.items()
        ],
        "assumptions": [prose(sentence) for sentence in sheet.get("assumptions", [])],
    }


def _span(ends: Iterable[float]) -> str:
    return " to ".join(f"{end:.6g}" for end in ends)


def _certificate(joint: Facts) -> str:
    own = joint["own_inertia"]
    return (
        f"no certificate: {prose(joint['reason'])}"
        if own is None
        else f"{_rounded(own, 6, ROUND_FLOOR)} {joint['unit']}"
    )


def _floors(divisors: Iterable[Facts]) -> tuple[str, str]:
    """The certified ones with their floors, and the others."""
    found = list(divisors)
    held = [
        f"{_divisor(one, 'a sum of squares')} ≥ {_rounded(one['certified'], 6, ROUND_FLOOR)}"
        for one in found
        if one["certified"] is not None
    ]
    open_ = [_divisor(one, "one that is no pivot") for one in found if one["certified"] is None]
    return ", ".join(held) or "none", ", ".join(open_) or "none"


def _divisor(one: Facts, other: str) -> str:
    """The joint whose pivot it is, or what it is else."""
    return cell(one["joint"]) if one["joint"] else one.get("what", other).strip("()")


def _bound(value: float | None) -> str:
    """A bound, rounded up."""
    return (
        "none known" if value is None or not isfinite(value) else _rounded(value, 2, ROUND_CEILING)
    )


def _rounded(value: float, digits: int, how: str) -> str:
    with localcontext(prec=digits, rounding=how):
        return f"{float(+Decimal(repr(value))):.{digits}g}"  # a decimal of so many digits stays what it is


def _over(function: Facts, sheet: Facts) -> str:
    return (
        "all of the ranges"
        if function["round_off"]["proved_for"] == "ranges"
        else f"{sheet['states']} random states of them"
    )
