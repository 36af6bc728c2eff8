"""What the header, the README and the manifest of a folder say of loops that joints close; nothing where there are none."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from symgen.emission import printer
from symgen.emission.markdown import prose
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import assembly_report
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING, GAINS
from symgen.vocabulary.target import Target

COLUMNS = 120


def of_header(mechanism: Mechanism) -> list[str]:
    """Lines of the C header, in ASCII."""
    if not mechanism.loops:
        return []
    said = f"Joints close loops of this robot. {_sentence(assembly_report.AS_IF_OPEN)}"
    known = assembly_report.facts(mechanism)
    said += "" if "refused" in known else f" {_sentence(assembly_report.rows(mechanism))}"
    said += f" {_sentence(assembly_report.LEAST)}" if known.get("redundant") else ""
    said += (
        f" {_sentence(assembly_report.SHARED)}"
        if "refused" not in known and assembly_report.shared(mechanism)
        else ""
    )
    return textwrap.wrap(said, COLUMNS)


def of_manifest(
    mechanism: Mechanism, programs: Mapping[str, Form], target: Target
) -> dict[str, Any]:
    """Under `closing` what closing them showed, and the driver that closes them."""
    if not mechanism.loops:
        return {}
    found = assembly_report.facts(mechanism)
    driver = printer().assembling(programs, target)
    if driver:
        header, file = driver
        found["assemble"] = {
            "symbol": target.symbol(ASSEMBLE),
            "file": file,
            "header": header,
            "calls": list(ASSEMBLING),
            "arguments": [{"name": "q", "shape": [mechanism.nq]}],
            "result": {"name": "q_out", "shape": [mechanism.nq]},
            **printer().assembly(programs),
        }
    return {"closing": found}


def of_readme(mechanism: Mechanism, programs: Mapping[str, Form]) -> dict[str, Any]:
    """`loops`, sentences; and `assembly`, what is said of the driver, where there is one."""
    known = (
        []
        if not mechanism.loops or "refused" in assembly_report.facts(mechanism)
        else [assembly_report.rows(mechanism)]
    )
    known += (
        [assembly_report.PULLED]
        if any(port.name == GAINS.name for one in programs.values() for port in one.inputs)
        else []
    )
    said = [
        prose(_sentence(one))
        for one in (*assembly_report.sentences(mechanism), *known, assembly_report.AS_IF_OPEN)
        if mechanism.loops
    ]
    return {"loops": said, "assembly": printer().assembly(programs)}


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
