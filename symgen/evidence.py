"""What was found out about the C of a folder, as its README prints it: words and cells for `README_firmware.md.j2`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def context(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the template reads, from the facts of the manifest ("cost": `symgen.cost_sheet`)."""
    return _cost(evidence.get("cost", {}))


def _cost(sheet: Mapping[str, Any]) -> dict[str, Any]:
    functions: Mapping[str, Mapping[str, Any]] = sheet.get("functions", {})
    return {
        "cost": {key: sheet[key] for key in ("title", "compiler", "emulator", "states", "flash") if key in sheet},
        "unmeasured": sheet.get("missing", ""),
        "compiled_with": " ".join((sheet.get("optimize", ""), "-ffp-contract=off", *sheet.get("flags", ()))),
        "costs": [
            [f"`{name}`", *(f"{least} to {most}" for least, most in (cost["instructions"], cost["alone"])),
             cost["flash"], cost["stack"], cost["ram"], " ".join(cost["undefined"]) or "nothing"]
            for name, cost in functions.items()
        ],
        "most_stack": max((cost["stack"] for cost in functions.values()), default=0),
    }
