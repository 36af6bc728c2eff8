"""The folder of C: every file of `interface.md` for one robot, written whole or not at all.

`texts` makes the texts, and `symgen.delivery.atomic_replace` puts them into place.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from symgen.delivery import command, drives, loops
from symgen.delivery.atomic_replace import replace_folder
from symgen.delivery.cases import SelfTestCase, filled
from symgen.delivery.coordinates import (
    at_rest,
    entries,
    entry_names,
    followed,
    mentioned,
    of_header,
)
from symgen.delivery.omissions import omissions
from symgen.delivery.readme_evidence import context
from symgen.emission import printer, render, wrapper
from symgen.emission.adjustable import Parameter, first
from symgen.emission.backend import unrolled
from symgen.emission.checks import statuses
from symgen.emission.legend import legend
from symgen.emission.markdown import cell, code, prose
from symgen.ir.ports import describe, meaning, operations_text, single_real
from symgen.ir.program import Bound, Port
from symgen.ir.recursion import Form, Looped
from symgen.machine import firmware
from symgen.mechanism.mechanism import BASE, Mechanism, first_and_count
from symgen.pipeline.adjusting import adjusting
from symgen.pipeline.contacts import solves
from symgen.support.version import __version__
from symgen.vocabulary.functions import ALL_ROWS, FUNCTIONS, PREPARED, TASK_ROWS, USUAL
from symgen.vocabulary.options import AUTO, GPU, LOOPED, NORMAL, PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

SHOWN = 100
"""Joints that a README lists."""


def write(
    folder: str | PathLike[str],
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    *,
    name: str | None = None,
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    cases: Iterable[SelfTestCase] = (),
    evidence: Mapping[str, Any] | None = None,
    floors: Mapping[str, Mapping[int, Bound]] | None = None,
    functions_only: bool = False,
    left_out: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write the folder of `mechanism` and its `programs` (by function); returns the manifest.

    `name` replaces the robot's as the C name. `options` are those of the programs, which the manifest records. `evidence` is
    what is known of the C, plain data for the manifest and the README ("cost": `symgen.delivery.cost_sheet`, "proof":
    `symgen.delivery.proof_sheet`). `floors` are certified bounds of divisors by function and row (`Source`). `left_out` says
    why other functions are not in it, `missing` why some that were asked for are not. An existing folder is replaced when symgen
    wrote it; files in it that symgen did not write are kept. With `functions_only` it holds the functions and their headers,
    nothing else, not even the manifest. Raises RequestError when something else is at that place, or when the disk refuses.
    """
    files = texts(
        mechanism,
        programs,
        name=name,
        options=options,
        text=text,
        cases=cases,
        evidence=evidence,
        floors=floors,
        left_out=left_out,
        missing=missing,
    )
    manifest: dict[str, Any] = json.loads(files["manifest.json"])
    if functions_only:
        functions = {
            entry[kind]
            for entry in manifest["functions"].values()
            for kind in ("file", "batch")
            if kind in entry
        }
        around = (
            ".h",
            ".hpp",
            ".cuh",
            ".cu",
            "_set_parameters.c",
            "_assemble.c",
            *(f"_{wrap}.c" for wrap in text.wrap),
        )
        files = {
            name: content
            for name, content in files.items()
            if name in functions or name.endswith(around)
        }
        manifest["files"] = sorted(files)
    replace_folder(Path(folder), files, manifest["robot"])
    return manifest


def texts(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    *,
    name: str | None = None,
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    cases: Iterable[SelfTestCase] = (),
    evidence: Mapping[str, Any] | None = None,
    floors: Mapping[str, Mapping[int, Bound]] | None = None,
    left_out: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Every file of the folder by name. The same arguments give the same texts."""
    from symgen.description.canonical import to_toml

    options = options or ProgramOptions()
    told = (
        *of_header(mechanism),
        *drives.of_header(mechanism, options.parameters),
        *loops.of_header(mechanism),
    )
    target = Target(
        name or mechanism.name,
        mechanism.sizes,
        text,
        mechanism.source_sha256,
        options.frames,
        tuple(_with_unfelt(mechanism, options.wrenches, str)),
        told,
        all(joint.type.directed for joint in mechanism.joints),
        options.contacts,
        drives.forces(mechanism, options.parameters),
        "armature" in drives.applied(mechanism, options.parameters),
    )
    described = _manifest(mechanism, programs, target, options)
    not_modelled = [*omissions(mechanism, left_out, missing), *_of_checks(options, text)]
    words = command.command(
        target.name, described | {"not_modelled": not_modelled}, bool(evidence), name
    )
    described |= {"command": shlex.join(words), "not_modelled": not_modelled}
    common = target.context | {
        "real": described["real"],
        "cpp": "cpp17" in text.wrap,
        "casadi": "casadi" in text.wrap,
        "cuda": GPU in text.wrap,
        "at_rates": target.rates,
        "statuses": statuses(programs.values(), target),
    }
    backend = printer()
    files = backend.texts(programs, target, floors=floors)
    asked = _parameters(mechanism, options)
    adjustable = backend.adjustable(asked, unrolled(programs), target) if asked else {}
    files |= adjustable
    headers, shared, kernels = [target.header, *([target.batch] if text.batch else [])], [], []
    driver = backend.assembling(programs, target)  # among the backend's texts
    headers += [file for file in (*adjustable, *driver) if file.endswith(".h")]
    for wrap in text.wrap:
        beside = wrapper(wrap)
        around = beside.files(programs if beside.loops else unrolled(programs), target, floors)
        headers += [file for file in around if not file.endswith((".c", ".cu"))]
        kernels += [file for file in around if file.endswith(".cu")]
        shared += [
            {"name": f"{target.name}_{wrap}", "file": file}
            for file in around
            if file.endswith(".c")
        ]
        files |= around
    files[f"{target.name}.toml"] = to_toml(mechanism)
    tests = filled(programs, target, list(cases))
    files[f"{target.name}_selftest.c"] = render(
        backend.name, "selftest.c.j2", **common, **tests, adjustable=first(asked)
    )
    release = ".".join(re.findall(r"\d+", __version__)[:3])  # CMake takes numbers only
    sources = [target.file(function) for function in programs] + [
        file for file in (*adjustable, *driver) if file.endswith(".c")
    ]
    blocks = [target.file_of_many(function) for function in programs] if text.batch else []
    long = [
        target.file_of_many(function)
        for function, program in programs.items()
        if text.batch and backend.is_cut(program)
    ]
    measured = firmware.measured_flags(text.target)
    built = {
        "release": release,
        "files": sources + blocks,
        "blocks": blocks,
        "long": long,
        "headers": headers,
        "shared": shared,
        "kernels": kernels,
        "unscheduled": [
            target.file(function)
            for function, program in programs.items()
            if backend.unscheduled(program)
        ],
        "threaded": any(
            _at_once(one) > backend.lanes(described["real"]) for one in programs.values()
        ),
    }
    files["CMakeLists.txt"] = render(
        backend.name, "CMakeLists.txt.j2", **common, **built, **measured
    )
    known = {key: facts for key, facts in (evidence or {}).items() if facts}
    described |= known
    said = (
        measured
        | _readme(mechanism, programs, described)
        | {"machine": text.target, "command": command.lines(words)}
    )
    cuts = {
        target.symbol(function): backend.parts(program, target)
        for function, program in programs.items()
    }
    said["parted"] = [
        {"symbol": symbol, "parts": count, "bytes": shared * REALS[described["real"]].size}
        for symbol, (count, shared) in cuts.items()
        if count
    ]
    said |= legend(programs.values()) | context(known) | {"own_sines": target.sincos in files}
    said |= {
        "threaded": built["threaded"],
        "adjustable": bool(asked),
        "adjusted": [code(name) for name in options.parameters],
    }
    files["README.md"] = render(backend.name, "README.md.j2", **common, **said)
    if text.target is not None:
        files |= firmware.texts(target, text.target, programs)
    described["files"] = sorted([*files, "manifest.json"])
    files["manifest.json"] = (
        json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )
    return files


def _of_checks(options: ProgramOptions, text: TextOptions) -> list[dict[str, Any]]:
    """That of numbers which may change at run time round-off is not bounded."""
    if not (text.checked and options.parameters):
        return []
    return [
        {
            "kind": "checks",
            "text": "pivots of M are compared with half of what the joint's own link and rotor have, by the "
            "numbers at run time; that round-off cannot take the other half is not proved",
        }
    ]


def _parameters(mechanism: Mechanism, options: ProgramOptions) -> list[Parameter]:
    """The numbers that may change at run time, with what the description says they are."""
    if not options.parameters:
        return []
    known = adjusting(mechanism, options.parameters)
    defaults = iter(known.defaults)
    return [
        Parameter(
            one.words, f"{one.name}: {one.unit}", tuple(next(defaults) for _ in range(one.size))
        )
        for one in known.asked
    ]


def _manifest(
    mechanism: Mechanism, programs: Mapping[str, Form], target: Target, options: ProgramOptions
) -> dict[str, Any]:
    def ports(found: Sequence[Port]) -> list[dict[str, Any]]:
        return [{"name": port.name, "shape": list(port.shape)} for port in found]

    functions = {}
    for function, program in programs.items():
        results = ports(program.outputs)
        functions[function] = (
            {
                "method": program.method,
                "symbol": target.symbol(function),
                "file": target.file(function),
                **({"batch": target.file_of_many(function)} if target.text.batch else {}),
                "arguments": ports(program.inputs),
                "result": results[0] if len(results) == 1 else results,
                "operations": program.operations,
                "depth": program.depth,
            }
            | ({} if program.rounds is None else {"rounds": program.rounds})
            | _looped(program, target.checked)
        )
    parents = [
        mechanism.base if j.parent == BASE else mechanism.bodies[j.parent].name
        for j in mechanism.joints
    ]
    return {
        "symgen": __version__,
        "robot": target.name,
        "source_sha256": mechanism.source_sha256,
        "real": single_real(programs.values()),
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "gravity": [float(g) for g in mechanism.gravity],
        **drives.friction_speed(mechanism, options.parameters),
        **drives.borne(mechanism),
        "joints": [
            {
                "name": joint.name,
                "type": joint.kind,
                "parent": parent,
                "child": body.name,
                "q": first_and_count(mechanism.q_slices[i]),
                "v": first_and_count(mechanism.v_slices[i]),
                **entry_names(joint),
                **followed(mechanism, i),
                **drives.of_joint(joint),
            }
            for i, (joint, body, parent) in enumerate(
                zip(mechanism.joints, mechanism.bodies, parents, strict=True)
            )
        ],
        **(
            {"loops": [loop.facts(mechanism.carriers) for loop in mechanism.loops]}
            if mechanism.loops
            else {}
        ),
        **loops.of_manifest(mechanism, programs, target),
        "functions": functions,
        "options": {"name": mechanism.name} | _recorded(options, target.text),
    }


def _looped(form: Form, checked: bool) -> dict[str, Any]:
    """What the manifest says besides of a loop over links: how many these are, bytes of tables, numbers of work."""
    if not isinstance(form, Looped):
        return {}
    return {
        "form": LOOPED,
        "links": len(form),
        "constants": form.constants,
        "work": printer().work(form, checked),
    }


def _at_once(form: Form) -> int:
    """How many links a function goes through at the same time."""
    return form.at_once if isinstance(form, Looped) else 1


def _recorded(options: ProgramOptions, text: TextOptions) -> dict[str, Any]:
    """What was chosen, as the manifest holds it: what is not asked for is absent, but for a frame and a load."""
    stated = {"jacobian_frame": options.jacobian_frame, "jacobian_order": options.jacobian_order}
    links = {"frame": options.frame, "payload": options.payload} | (
        {"wrench": options.wrench} if options.wrench else {}
    )
    named = {
        key: list(value) if isinstance(value, tuple) else value for key, value in links.items()
    }
    chosen: dict[str, Any] = {"trig": text.trig} | named
    asked = {
        "checked": text.checked,
        "target": text.target,
        "wrap": list(text.wrap),
        "batch": text.batch,
    }
    chosen |= {key: value for key, value in asked.items() if value}
    chosen |= stated if options.convention != USUAL else {}
    chosen |= (
        {"task_rows": ",".join(TASK_ROWS[row] for row in options.rows)}
        if options.rows != ALL_ROWS
        else {}
    )
    chosen |= {"contact": list(options.contacts)} if options.contacts else {}
    chosen |= {"effort": options.effort} if options.effort != NORMAL else {}
    chosen |= {"parameter": list(options.parameters)} if options.parameters else {}
    chosen |= {"baumgarte": True} if options.baumgarte else {}
    chosen |= {"form": options.form} if options.form != AUTO else {}
    return {key: chosen[key] for key in sorted(chosen)}


def _of_frames(frame: str | list[str] | None, programs: Mapping[str, Form]) -> dict[str, Any]:
    """The frames by name, the functions that speak of them, and those that speak of the first of several."""
    names = [frame] if isinstance(frame, str) else frame or []
    framed = [name for name in programs if name in FUNCTIONS and FUNCTIONS[name].needs_frame]
    first = [name for name in framed if len(names) > 1 and not FUNCTIONS[name].needs_frames]
    still = [
        name for name in framed if name != "forward_kinematics" and not FUNCTIONS[name].follows
    ]
    return {
        "frames": [code(name) for name in names] if framed else [],
        "framed": [f"`{name}`" for name in framed if name not in first],
        "of_the_first": [f"`{name}`" for name in first],
        "not_following": [f"`{name}`" for name in still],
    }


def _of_contacts(
    mechanism: Mechanism, programs: Mapping[str, Form], contacts: list[str] | None
) -> dict[str, Any]:
    """The points that may touch something, where a function speaks of them; and in a word by how many solves the least forces are
    given, where some can do nothing.
    """
    spoken = [name for name in programs if FUNCTIONS[name].counts("NT")]
    taken = solves(mechanism, tuple(contacts or ())) if spoken else 1
    return {
        "contacts": [code(point) for point in contacts or ()] if spoken else [],
        "redundant": ""
        if taken == 1
        else ("three", "four", "five", "six", "seven", "eight")[taken - 3],
    }


def _of_wrenches(mechanism: Mechanism, wrench: str | list[str] | None) -> list[str]:
    """The links that feel wrenches, as the README names them."""
    return _with_unfelt(mechanism, [wrench] if isinstance(wrench, str) else wrench or [], code)


def _with_unfelt(
    mechanism: Mechanism, links: Sequence[str], spelt: Callable[[str], str]
) -> list[str]:
    """Links that feel wrenches, by name; with those that none of the joints carries, what becomes of their numbers."""
    return [
        spelt(link)
        + (" (on the base: felt by nothing)" if mechanism.frame(link).body == BASE else "")
        for link in links
    ]


def _readme(
    mechanism: Mechanism, programs: Mapping[str, Form], described: dict[str, Any]
) -> dict[str, Any]:
    joints = [
        {key: cell(joint[key]) for key in ("name", "parent", "child")}
        | {"type": joint["type"], "index": i}
        | said
        for i, (joint, said) in enumerate(zip(described["joints"], entries(mechanism), strict=True))
    ]
    functions, meanings = [], {}
    for function, program in programs.items():
        arguments, results = describe(program)
        meanings.update({a.name: meaning(a, mechanism.sizes) for a in (*arguments, *results)})
        functions.append(
            {
                "symbol": described["functions"][function]["symbol"],
                "method": program.method,
                "arguments": ", ".join(a.name for a in arguments),
                "results": ", ".join(a.name for a in results),
                "operations": operations_text(program),
                "depth": program.depth,
            }
        )
    first = next(iter(programs.values()))
    said = {
        key: ", ".join(value) if isinstance(value, list) else str(value)
        for key, value in described["options"].items()
        if value is not None and key != "name"
    }
    options = {key: code(value) for key, value in said.items()}
    return {
        "robot": code(mechanism.name),
        "base": code(mechanism.base),
        **_of_frames(described["options"].get("frame"), programs),
        "not_modelled": [
            {"kind": prose(o["kind"]), "text": prose(o["text"])} for o in described["not_modelled"]
        ],
        "gravity": ", ".join(f"{g:g}" for g in described["gravity"]),
        "apart": [code(name) for name, one in programs.items() if printer().apart(one)],
        "parted_links": [
            {"name": code(name), "count": _at_once(one)}
            for name, one in programs.items()
            if _at_once(one) > 1
        ],
        "looped": [code(name) for name, one in programs.items() if isinstance(one, Looped)],
        "loop_bytes": REALS[first.real].size
        * sum(one.constants for one in programs.values() if isinstance(one, Looped)),
        "joints": joints[:SHOWN],
        "more_joints": len(joints[SHOWN:]),
        **mentioned(mechanism, list(meanings)),
        **drives.of_readme(mechanism, described["options"].get("parameter", ())),
        **loops.of_readme(mechanism, programs),
        "functions": functions,
        "meanings": [{"name": meant, "what": what} for meant, what in meanings.items()],
        "options": [{"name": key, "value": value} for key, value in options.items()],
        **_of_contacts(mechanism, programs, described["options"].get("contact")),
        "wrenches": _of_wrenches(mechanism, described["options"].get("wrench"))
        if "wrench" in meanings
        else [],
        "example": {
            "symbol": described["functions"][first.function]["symbol"],
            "lanes": printer().lanes(first.real),
            "stem": described["functions"][first.function]["symbol"].removeprefix(
                f"{described['robot']}_"
            ),
            "function": first.function,
            "answer": first.outputs[0].name if len(first.outputs) == 1 else "results",
            "arguments": [
                {"name": p.name, "size": p.size, "prepared": p.name == PREPARED.name}
                | at_rest(mechanism, p.name)
                for p in first.inputs
            ],
            "works": isinstance(first, Looped),
            "prepared": any(p.name == PREPARED.name for p in first.inputs),
            "results": [{"name": p.name, "size": p.size} for p in first.outputs],
        },
    }
