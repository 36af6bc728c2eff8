"""Loop closures of a robot for header, README and manifest; empty texts if there are none."""

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
    """Return lines of the C header, in ASCII."""
    if not mechanism.loops:
        return []
    text = f"Joints close loops of this robot. {_sentence(assembly_report.AS_IF_OPEN)}"
    facts = assembly_report.facts(mechanism)
    text += "" if "refused" in facts else f" {_sentence(assembly_report.rows(mechanism))}"
    text += f" {_sentence(assembly_report.LEAST)}" if facts.get("redundant") else ""
    text += (
        f" {_sentence(assembly_report.SHARED)}"
        if "refused" not in facts and assembly_report.shared(mechanism)
        else ""
    )
    return textwrap.wrap(text, COLUMNS)


def of_manifest(
    mechanism: Mechanism, programs: Mapping[str, Form], target: Target
) -> dict[str, Any]:
    """Return the manifest's key `closing`: facts of the assembly, and the driver that closes the
    loops.
    """
    if not mechanism.loops:
        return {}
    facts = assembly_report.facts(mechanism)
    driver = printer().assembling(programs, target)
    if driver:
        header, file = driver
        facts["assemble"] = {
            "symbol": target.symbol(ASSEMBLE),
            "file": file,
            "header": header,
            "calls": list(ASSEMBLING),
            "arguments": [{"name": "q", "shape": [mechanism.nq]}],
            "result": {"name": "q_out", "shape": [mechanism.nq]},
            **printer().assembly(programs),
        }
    return {"closing": facts}


def of_readme(mechanism: Mechanism, programs: Mapping[str, Form]) -> dict[str, Any]:
    """Return the README's `loops`, sentences, and `assembly`, the driver if there is one."""
    further = (
        []
        if not mechanism.loops or "refused" in assembly_report.facts(mechanism)
        else [assembly_report.rows(mechanism)]
    )
    further += (
        [assembly_report.PULLED]
        if any(port.name == GAINS.name for item in programs.values() for port in item.inputs)
        else []
    )
    sentences = [
        prose(_sentence(item))
        for item in (*assembly_report.sentences(mechanism), *further, assembly_report.AS_IF_OPEN)
        if mechanism.loops
    ]
    return {"loops": sentences, "assembly": printer().assembly(programs)}


def _sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[0].upper()}{words[1:]}."
