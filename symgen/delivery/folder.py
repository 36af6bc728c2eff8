"""Folder of C: every file of `interface.md` for one robot, written whole or not at all.

`texts` makes the texts, and `symgen.delivery.atomic_replace` puts them into place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from symgen.delivery import coordinates, drives, loops
from symgen.delivery.atomic_replace import replace_folder
from symgen.delivery.cases import self_test_context
from symgen.delivery.contents import FolderContents, wrench_remark
from symgen.delivery.manifest import manifest, wrapped_command
from symgen.emission import printer, render, wrapper
from symgen.emission.adjustable import first
from symgen.emission.backend import unrolled
from symgen.emission.checks import statuses
from symgen.emission.legend import legend
from symgen.emission.markdown import cell, code, prose
from symgen.ir.loops import Form
from symgen.ir.ports import describe, meaning, operations_text
from symgen.ir.program import Port
from symgen.machine import firmware
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.contacts import solve_count
from symgen.support.tables import span
from symgen.support.version import __version__
from symgen.vocabulary.functions import FUNCTIONS, PREPARED
from symgen.vocabulary.options import GPU
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

FUNCTION_ENDINGS = (".h", ".hpp", ".cuh", ".cu", "_set_parameters.c", "_assemble.c")
"""Endings of files beside the functions that a folder with functions only holds."""


def write(
    folder: str | PathLike[str], files: Mapping[str, str], functions_only: bool = False
) -> dict[str, Any]:
    """Write the folder with the files of `texts`, and return the manifest.

    An existing folder is replaced if symgen wrote it; other files in it stay. With `functions_only`
    the folder holds the functions and their headers only, without the manifest. Raises RequestError
    if something else is at that path, or if the disk refuses.
    """
    facts: dict[str, Any] = json.loads(files["manifest.json"])
    if functions_only:
        wraps = facts["options"].get("wrap", ())
        files = _functions_only(files, facts["functions"].values(), wraps)
        facts["files"] = sorted(files)
    replace_folder(Path(folder), files, facts["robot"])
    return facts


def _functions_only(
    files: Mapping[str, str], functions: Iterable[Mapping[str, Any]], wraps: Iterable[str]
) -> dict[str, str]:
    """Return the functions, their headers and their wrappers."""
    sources = {entry[key] for entry in functions for key in ("file", "batch") if key in entry}
    endings = (*FUNCTION_ENDINGS, *(f"_{wrap}.c" for wrap in wraps))
    return {
        name: content
        for name, content in files.items()
        if name in sources or name.endswith(endings)
    }


def texts(contents: FolderContents) -> dict[str, str]:
    """Return every file of the folder by name. The same contents give the same texts."""
    from symgen.description.canonical import to_toml

    target, programs, text = contents.target, contents.programs, contents.text
    facts = manifest(contents)
    functions = printer().texts(programs, target, divisor_bounds=contents.divisor_bounds)
    sources = _sources(contents, functions)
    files = dict(sources.texts)
    files[f"{target.name}.toml"] = to_toml(contents.mechanism)
    common = _common_context(contents, facts["real"])
    files[f"{target.name}_selftest.c"] = _render("selftest.c.j2", common, _selftest(contents))
    files["CMakeLists.txt"] = _render("CMakeLists.txt.j2", common, _build(contents, sources))
    own_sines = {"own_sines": target.sincos_file in files}
    files["README.md"] = _render(
        "README.md.j2", common, readme_context(contents, facts) | own_sines
    )
    if text.target is not None:
        files |= firmware.firmware_texts(target, text.target, programs)
    facts["files"] = sorted([*files, "manifest.json"])
    files["manifest.json"] = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return files


def _render(template: str, common: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    """Fill one template of the C's language; no name is in both contexts."""
    return render(printer().name, template, **common, **context)


def _common_context(contents: FolderContents, real: str) -> dict[str, Any]:
    """Names that the templates of self-test, build and README share."""
    wraps, target = contents.text.wrap, contents.target
    return target.context | {
        "real": real,
        "cpp": "cpp17" in wraps,
        "casadi": "casadi" in wraps,
        "cuda": GPU in wraps,
        "at_rates": target.rates,
        "statuses": statuses(contents.programs.values(), target),
    }


def _selftest(contents: FolderContents) -> dict[str, Any]:
    """Names of the template of the self-test."""
    tests = self_test_context(contents.programs, contents.target, list(contents.cases))
    return tests | {"adjustable": first(contents.parameters)}


# -- sources and their build --


@dataclass
class _Sources:
    """Texts of the functions and of their wrappers, and the lists of files that CMake builds."""

    texts: dict[str, str]
    compiled: list[str]
    headers: list[str]
    shared: list[dict[str, str]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)

    def add_wrapper(self, library: str, texts: Mapping[str, str]) -> None:
        """Add the files of a wrapper; each of its C files becomes a shared library."""
        self.texts |= texts
        self.headers += [file for file in texts if not file.endswith((".c", ".cu"))]
        self.kernels += [file for file in texts if file.endswith(".cu")]
        self.shared += [{"name": library, "file": file} for file in texts if file.endswith(".c")]


def _sources(contents: FolderContents, functions: Mapping[str, str]) -> _Sources:
    """Print the setter of parameters and the wrappers; list them with the files of the functions,
    as CMake builds them.
    """
    programs, target, divisor_bounds = contents.programs, contents.target, contents.divisor_bounds
    backend = printer()
    setter = (
        backend.adjustable(contents.parameters, unrolled(programs), target)
        if contents.parameters
        else {}
    )
    beside = [*setter, *backend.assembling(programs, target)]  # the driver is among `functions`
    batch_header = [target.batch_header] if target.text.batch else []
    sources = _Sources(
        {**functions, **setter},
        [target.c_file(name) for name in programs] + [f for f in beside if f.endswith(".c")],
        [target.header, *batch_header, *(f for f in beside if f.endswith(".h"))],
    )
    for wrap in contents.text.wrap:
        language = wrapper(wrap)
        wrapped = programs if language.loops else unrolled(programs)
        sources.add_wrapper(
            f"{target.name}_{wrap}", language.files(wrapped, target, divisor_bounds)
        )
    return sources


def _build(contents: FolderContents, sources: _Sources) -> dict[str, Any]:
    """Names of the template of CMakeLists.txt."""
    programs, target, backend = contents.programs, contents.target, printer()
    blocks = {name: target.batch_file(name) for name in programs if target.text.batch}
    return {
        **firmware.measured_flags(contents.text.target),
        "release": ".".join(re.findall(r"\d+", __version__)[:3]),  # CMake takes numbers only
        "files": sources.compiled + list(blocks.values()),
        "blocks": list(blocks.values()),
        "long": [file for name, file in blocks.items() if backend.is_cut(programs[name])],
        "headers": sources.headers,
        "shared": sources.shared,
        "kernels": sources.kernels,
        "unscheduled": [
            target.c_file(name) for name, form in programs.items() if backend.unscheduled(form)
        ],
        "threaded": threaded(programs),
    }


# -- README.md: the words and table cells that its templates print --


SHOWN = 100
"""Joints that a README lists."""

Facts = Mapping[str, Any]


def readme_context(contents: FolderContents, facts: Facts) -> dict[str, Any]:
    """Names that the templates read. `facts` are those of the manifest."""
    programs, text = contents.programs, contents.text
    return {
        **firmware.measured_flags(text.target),
        **_robot(contents, facts),
        **_functions(contents, facts),
        **_frames(contents.options.frames, list(contents.programs)),
        **_contacts(contents),
        "example": _example(contents, facts),
        "machine": text.target,
        "command": wrapped_command(facts["command"]),
        **legend(programs.values()),
        **evidence_context({key: facts[key] for key in contents.evidence if key in facts}),
        "threaded": threaded(programs),
        "adjustable": bool(contents.parameters),
        "adjusted": [code(name) for name in contents.options.parameters],
    }


def threaded(programs: Mapping[str, Form]) -> bool:
    """True if a function goes through more links at the same time than a block has lanes."""
    return any(form.at_once > printer().lanes(form.real) for form in programs.values())


# -- README.md: the robot --


def _robot(contents: FolderContents, facts: Facts) -> dict[str, Any]:
    """Joints, gravity, drives and loops, what is not modelled, and the options."""
    mechanism = contents.mechanism
    joints = _joint_rows(mechanism, facts["joints"])
    return {
        "robot": code(mechanism.name),
        "base": code(mechanism.base),
        "not_modelled": [
            {"kind": prose(omission["kind"]), "text": prose(omission["text"])}
            for omission in facts["not_modelled"]
        ],
        "gravity": ", ".join(f"{component:g}" for component in facts["gravity"]),
        "joints": joints[:SHOWN],
        "more_joints": len(joints[SHOWN:]),
        **drives.of_readme(mechanism, contents.options.parameters),
        **loops.of_readme(mechanism, contents.programs),
        "options": _option_rows(facts["options"]),
    }


def _joint_rows(mechanism: Mechanism, joints: Sequence[Facts]) -> list[dict[str, Any]]:
    """Table of joints: names, type, and the entries of q and v."""
    names = [
        {key: cell(joint[key]) for key in ("name", "parent", "child")}
        | {"type": joint["type"], "index": index}
        for index, joint in enumerate(joints)
    ]
    coordinate_cells = coordinates.entries(mechanism)
    return [row | cells for row, cells in zip(names, coordinate_cells, strict=True)]


def _option_rows(options: Facts) -> list[dict[str, str]]:
    """Recorded options and their values."""
    values = {
        key: ", ".join(value) if isinstance(value, list) else str(value)
        for key, value in options.items()
        if value is not None and key != "name"
    }
    return [{"name": key, "value": code(value)} for key, value in values.items()]


# -- README.md: the functions --


def _functions(contents: FolderContents, facts: Facts) -> dict[str, Any]:
    """Table of functions, meanings of arguments and results, and properties that single functions
    have.
    """
    mechanism, programs = contents.mechanism, contents.programs
    looped = {name: form for name, form in programs.items() if form.looped}
    size = REALS[facts["real"]].size
    meanings = _meanings(contents)
    return {
        "functions": [
            _function_row(form, facts["functions"][name]["symbol"])
            for name, form in programs.items()
        ],
        "meanings": [{"name": name, "what": text} for name, text in meanings.items()],
        **coordinates.mentioned(mechanism, list(meanings)),
        "wrenches": [
            code(link) + wrench_remark(mechanism, link) for link in contents.options.wrenches
        ]
        if "wrench" in meanings
        else [],
        "apart": [
            code(name) for name, form in programs.items() if printer().forbids_aliasing(form)
        ],
        "parted_links": [
            {"name": code(name), "count": form.at_once}
            for name, form in looped.items()
            if form.at_once > 1
        ],
        "looped": [code(name) for name in looped],
        "loop_bytes": size * sum(form.constant_count for form in looped.values()),
        "parted": _functions_in_parts(programs, contents.target, size),
    }


def _meanings(contents: FolderContents) -> dict[str, str]:
    """Meaning of every argument and result, by name."""
    meanings: dict[str, str] = {}
    for form in contents.programs.values():
        for ports in describe(form):
            for port in ports:
                meanings[port.name] = meaning(port, contents.mechanism.sizes)
    return meanings


def _function_row(form: Form, symbol: str) -> dict[str, Any]:
    """One function: its call and its costs."""
    arguments, results = describe(form)
    return {
        "symbol": symbol,
        "method": form.method,
        "arguments": ", ".join(port.name for port in arguments),
        "results": ", ".join(port.name for port in results),
        "operations": operations_text(form),
        "depth": form.depth,
    }


def _functions_in_parts(
    programs: Mapping[str, Form], target: Target, size: int
) -> list[dict[str, Any]]:
    """Return the functions that are cut in parts, with the number of parts and of shared bytes."""
    parts_and_bytes = {
        target.symbol(name): printer().parts(form, target) for name, form in programs.items()
    }
    return [
        {"symbol": symbol, "parts": count, "bytes": shared * size}
        for symbol, (count, shared) in parts_and_bytes.items()
        if count
    ]


def _example(contents: FolderContents, facts: Facts) -> dict[str, Any]:
    """The call of the first function that the README shows."""
    form = next(iter(contents.programs.values()))
    symbol = facts["functions"][form.function]["symbol"]
    return {
        "symbol": symbol,
        "lanes": printer().lanes(form.real),
        "stem": symbol.removeprefix(f"{facts['robot']}_"),
        "function": form.function,
        "answer": form.outputs[0].name if len(form.outputs) == 1 else "results",
        "arguments": [_example_argument(port, contents.mechanism) for port in form.inputs],
        "works": form.looped,
        "prepared": any(port.name == PREPARED.name for port in form.inputs),
        "results": [{"name": port.name, "size": port.size} for port in form.outputs],
    }


def _example_argument(port: Port, mechanism: Mechanism) -> dict[str, Any]:
    """Declaration of one argument of the example."""
    return {
        "name": port.name,
        "size": port.size,
        "prepared": port.name == PREPARED.name,
        **coordinates.at_rest(mechanism, port.name),
    }


# -- README.md: links that the options name --


def _frames(frames: Sequence[str], programs: Sequence[str]) -> dict[str, list[str]]:
    """Return frames by name, functions that use all of them, and functions that use the first of
    several.
    """
    functions = {name: FUNCTIONS[name] for name in programs if name in FUNCTIONS}
    framed = {name: function for name, function in functions.items() if function.needs_frame}
    of_all, of_the_first = list(framed), list[str]()
    if len(frames) > 1:
        of_all = [name for name in framed if framed[name].uses_all_frames]
        of_the_first = [name for name in framed if not framed[name].uses_all_frames]
    fixed = {name for name, function in framed.items() if not function.follows_convention}
    return {
        "frames": list(map(code, frames)) if framed else [],
        "framed": _quoted(of_all),
        "of_the_first": _quoted(of_the_first),
        "not_following": _quoted(n for n in framed if n in fixed - {"forward_kinematics"}),
    }


def _quoted(names: Iterable[str]) -> list[str]:
    """Names of functions in backquotes."""
    return [f"`{name}`" for name in names]


def _contacts(contents: FolderContents) -> dict[str, Any]:
    """Return the contact points, and in a word how many solves give the minimum-norm forces of
    redundant contacts.
    """
    points = contents.options.contacts
    if not any(FUNCTIONS[name].counts("NT") for name in contents.programs):
        return {"contacts": [], "redundant": ""}
    count = solve_count(contents.mechanism, points)
    words = {1: "", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
    return {"contacts": [code(point) for point in points], "redundant": words[count]}


# -- README.md: costs on a target, and proofs --

_ARGUMENTS = (("q", "position"), ("v", "velocity"), ("tau", "force"))


def evidence_context(evidence: Facts) -> dict[str, Any]:
    """Names of `README_firmware.md.j2`, from the facts of the manifest ("cost" and "proof":
    `symgen.delivery.evidence`).
    """
    return _cost(evidence.get("cost", {})) | _proof(evidence.get("proof", {}))


def _cost(sheet: Facts) -> dict[str, Any]:
    """Return the README's rows of a cost sheet."""
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
                "unknown",
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
                _count_or_unknown(cost["stack_with_libm"]),
                cost["ram"],
                " ".join(cost["undefined"]) or "nothing",
            ]
            for name, cost in functions.items()
        ],
        "most_stack": max((cost["stack"] for cost in functions.values()), default=0),
        "most_depth": 0 if None in depths else max(depths, default=0),
    }


def _count_or_unknown(count: int | None) -> str:
    """Return a count, or "unknown"."""
    return "unknown" if count is None else str(count)


def _proof(sheet: Facts) -> dict[str, Any]:
    """Return the README's rows of a proof sheet."""
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
        "divisor_bounds": [
            [f"`{name}`", *_divisor_bounds(function["divisors"])]
            for name, function in functions.items()
            if function["divisors"]
        ],
        "round_offs": [
            [f"`{name}`", result, _over(function, sheet), _bound(facts["bound"])]
            for name, function in functions.items()
            for result, facts in function["round_off"]["results"].items()
        ],
        "eva_missing": sheet.get("eva_missing", ""),
        "eva_idle": "eva" in sheet and not eva,
        "finite": [
            [
                f"`{name}`",
                "yes" if verdict["proved"] else f"no: {len(verdict['alarms'])} alarms",
                "; ".join(f"`{line}`" for line in verdict["admitted"]) or "nothing",
            ]
            for name, verdict in eva.items()
        ],
        "assumptions": [prose(sentence) for sentence in sheet.get("assumptions", [])],
    }


def _span(bounds: Iterable[float]) -> str:
    """Return a range in words."""
    return " to ".join(f"{end:.6g}" for end in bounds)


def _certificate(joint: Facts) -> str:
    """Return the certified inertia of a joint, or the reason against it."""
    inertia = joint["own_inertia"]
    return (
        f"no certificate: {prose(joint['reason'])}"
        if inertia is None
        else f"{_rounded(inertia, 6, ROUND_FLOOR)} {joint['unit']}"
    )


def _divisor_bounds(divisors: Iterable[Facts]) -> tuple[str, str]:
    """Return the certified divisors with their lower bounds, and the other divisors."""
    all_divisors = list(divisors)
    held = [
        f"{_divisor(divisor, 'a sum of squares')} ≥"
        f" {_rounded(divisor['certified'], 6, ROUND_FLOOR)}"
        for divisor in all_divisors
        if divisor["certified"] is not None
    ]
    open_ = [
        _divisor(divisor, "one that is no pivot")
        for divisor in all_divisors
        if divisor["certified"] is None
    ]
    return ", ".join(held) or "none", ", ".join(open_) or "none"


def _divisor(divisor: Facts, default: str) -> str:
    """Return the joint of a pivot, or the description of another divisor."""
    return cell(divisor["joint"]) if divisor["joint"] else divisor.get("what", default).strip("()")


def _bound(value: float | None) -> str:
    """Return a bound, rounded up."""
    return (
        "none known" if value is None or not isfinite(value) else _rounded(value, 2, ROUND_CEILING)
    )


def _rounded(value: float, digits: int, rounding: str) -> str:
    """Return a number rounded to significant digits in one direction."""
    with localcontext(prec=digits, rounding=rounding):
        return (  # a decimal with at most so many digits is unchanged
            f"{float(+Decimal(repr(value))):.{digits}g}"
        )


def _over(function: Facts, sheet: Facts) -> str:
    """Return the states that a bound of round-off covers, in words."""
    return (
        "all of the ranges"
        if function["round_off"]["proved_for"] == "ranges"
        else f"{sheet['states']} random states of them"
    )
