"""manifest.json: joints, functions, options and omissions of a folder for programs, and the command
that makes it again.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from symgen.delivery import coordinates, drives, loops
from symgen.delivery.contents import FolderContents
from symgen.delivery.omissions import missing_words
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.ir.program import Port
from symgen.mechanism.mechanism import BASE, Mechanism, first_and_count
from symgen.support.version import __version__
from symgen.vocabulary.arrays import ALL_ROWS, TASK_ROWS, USUAL
from symgen.vocabulary.functions import PREPARING
from symgen.vocabulary.options import AUTO, LOOPED, NORMAL, Links, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target


def manifest(contents: FolderContents) -> dict[str, Any]:
    """Return the contents of manifest.json, except the list of files."""
    mechanism, programs, target = contents.mechanism, contents.programs, contents.target
    facts = {
        "symgen": __version__,
        "robot": target.name,
        "source_sha256": mechanism.source_sha256,
        "real": single_real(programs.values()),
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "gravity": [float(component) for component in mechanism.gravity],
        **drives.friction_speed(mechanism, contents.options.parameters),
        **drives.gravity_compensation(mechanism),
        "joints": [_joint_facts(mechanism, index) for index in range(len(mechanism.joints))],
        **_loop_facts(mechanism),
        **loops.of_manifest(mechanism, programs, target),
        "functions": {name: _function_facts(name, form, target) for name, form in programs.items()},
        "options": {"name": mechanism.name} | _recorded(contents.options, target.text),
    }
    words = command(contents, facts)
    evidence = {key: sheet for key, sheet in contents.evidence.items() if sheet}
    recorded = {"command": shlex.join(words), "not_modelled": contents.not_modelled}
    return facts | recorded | evidence


def _joint_facts(mechanism: Mechanism, index: int) -> dict[str, Any]:
    """One joint: its type and links, and its entries of q and v."""
    joint = mechanism.joints[index]
    parent = mechanism.base if joint.parent == BASE else mechanism.bodies[joint.parent].name
    return {
        "name": joint.name,
        "type": joint.kind,
        "parent": parent,
        "child": mechanism.bodies[index].name,
        "q": first_and_count(mechanism.q_slices[index]),
        "v": first_and_count(mechanism.v_slices[index]),
        **coordinates.entry_names(joint),
        **coordinates.followed(mechanism, index),
        **drives.of_joint(joint),
    }


def _loop_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Key `loops` of a mechanism with closed loops."""
    if not mechanism.loops:
        return {}
    return {"loops": [loop.facts(mechanism.body_names) for loop in mechanism.loops]}


def _function_facts(function: str, form: Form, target: Target) -> dict[str, Any]:
    """One function: method, symbol, files, arguments, results and costs."""
    results = _port_facts(form.outputs)
    batch = {"batch": target.batch_file(function)} if target.text.batch else {}
    rounds = {} if form.rounds is None else {"rounds": form.rounds}
    return {
        "method": form.method,
        "symbol": target.symbol(function),
        "file": target.c_file(function),
        **batch,
        "arguments": _port_facts(form.inputs),
        "result": results[0] if len(results) == 1 else results,
        "operations": form.operations,
        "depth": form.depth,
        **rounds,
        **_looped_facts(form, target.checked),
    }


def _port_facts(ports: Sequence[Port]) -> list[dict[str, Any]]:
    """Names and shapes of arguments or results."""
    return [{"name": port.name, "shape": list(port.shape)} for port in ports]


def _looped_facts(form: Form, checked: bool) -> dict[str, Any]:
    """Return the keys that only functions with loops over links have.

    They are the number of links, the bytes of tables and the size of the workspace.
    """
    if not form.looped:
        return {}
    return {
        "form": LOOPED,
        "links": len(form),
        "constants": form.constant_count,
        "work": printer().work(form, checked),
    }


def _recorded(options: ProgramOptions, text: TextOptions) -> dict[str, Any]:
    """Options that are not the default, by name; trig, frame and payload always."""
    convention = {
        "jacobian_frame": options.jacobian_frame,
        "jacobian_order": options.jacobian_order,
    }
    task_rows = ",".join(TASK_ROWS[row] for row in options.rows)
    chosen = {
        "trig": text.trig,
        "frame": _as_json(options.frame),
        "payload": options.payload,
        **_if_set("wrench", _as_json(options.wrench)),
        **_if_set("checked", text.checked),
        **_if_set("target", text.target),
        **_if_set("wrap", list(text.wrap)),
        **_if_set("batch", text.batch),
        **(convention if options.convention != USUAL else {}),
        **_if_set("task_rows", task_rows, options.rows != ALL_ROWS),
        **_if_set("contact", list(options.contacts)),
        **_if_set("effort", options.effort, options.effort != NORMAL),
        **_if_set("parameter", list(options.parameters)),
        **_if_set("baumgarte", options.baumgarte),
        **_if_set("form", options.form, options.form != AUTO),
    }
    return {key: chosen[key] for key in sorted(chosen)}


def _as_json(links: Links) -> str | list[str] | None:
    """One link or several as JSON holds them."""
    return links if links is None or isinstance(links, str) else list(links)


def _if_set(key: str, value: object, recorded: bool | None = None) -> dict[str, Any]:
    """The option as an entry if it is recorded; by default if the value is truthy."""
    return {key: value} if (bool(value) if recorded is None else recorded) else {}


# -- the command that makes the folder again --

NAMED_OPTIONS = (
    "frame",
    "payload",
    "wrench",
    "jacobian_frame",
    "jacobian_order",
    "task_rows",
    "contact",
    "effort",
    "form",
    "parameter",
    "trig",
    "target",
)
"""Options with values, in the order in which the command names them."""

KNOWN_OPTIONS = frozenset({*NAMED_OPTIONS, "name", "wrap", "baumgarte", "checked", "batch"})
"""Options that a manifest may record."""
KNOWN_FACTS = frozenset(
    {"method", "symbol", "file", "batch", "arguments", "result", "operations", "depth", "rounds"}
    | {"form", "links", "constants", "work"}
)
"""Facts that a manifest may record of a function."""


def why_unknown(recorded: Mapping[str, Any], function: str, form: Form) -> str:
    """Return why this version cannot interpret a function in another version's manifest; "" if it
    can.

    `recorded` is the manifest. An unknown option or fact may change what the function computes.
    """
    entry = recorded["functions"][function]
    options = sorted(set(recorded["options"]) - KNOWN_OPTIONS)
    facts = sorted(set(entry) - KNOWN_FACTS)
    results = _port_facts(form.outputs)
    if options:
        return f"its option '{options[0]}' is unknown"
    if facts:
        return f"its fact '{facts[0]}' is unknown"
    if entry.get("arguments") != _port_facts(form.inputs):
        return "its arguments have changed"
    if entry.get("result") != (results[0] if len(results) == 1 else results):
        return "its results have changed"
    return ""


def command(contents: FolderContents, facts: Mapping[str, Any]) -> list[str]:
    """Return the words of the canonical command, which runs in the folder and writes the same bytes
    to ../NAME-again.

    `facts` are those of the manifest. The command states every choice, but no property of the
    machine. NAME.toml has the choices of the reader (gravity, locked joints, snaps).
    """
    options, name = facts["options"], facts["robot"]
    words = ["symgen", "generate", f"{name}.toml", "-o", f"../{name}-again"]
    for function, entry in facts["functions"].items():
        if function not in PREPARING:
            words += ["-f", f"{function}={entry['method']}"]
    for word in missing_words(contents.not_modelled):
        words += ["-f", word]
    words += ["--real", facts["real"], *_option_words("name", contents.name)]
    for option in NAMED_OPTIONS:
        words += _option_words(option, options.get(option))
    words += _option_words("wrap", options.get("wrap"))
    words += [f"--{flag}" for flag in ("baumgarte", "checked", "batch") if options.get(flag)]
    return words + (["--no-evidence"] if options.get("target") and not contents.evidence else [])


def _option_words(option: str, chosen: str | list[str] | None) -> list[str]:
    """Words of one option, once for each value. A value that begins with "-" is joined by "="."""
    flag = f"--{option.replace('_', '-')}"
    values = chosen if isinstance(chosen, list) else [] if chosen is None else [chosen]
    words = []
    for value in values:
        words += [f"{flag}={value}"] if value.startswith("-") else [flag, value]
    return words


def name_in_command(recorded: str) -> str | None:
    """Value of --name in a recorded command. None if the command has no --name, or is none."""
    try:
        words = shlex.split(recorded)
    except ValueError:
        return None
    names = [
        words[i + 1] if word == "--name" else word.removeprefix("--name=")
        for i, word in enumerate(words[:-1])
        if word == "--name" or word.startswith("--name=")
    ]
    return names[0] if names else None


def wrapped_command(recorded: str, width: int = 110) -> list[str]:
    """Return the lines of a command for a shell, broken after backslashes, never between an option
    and its value.
    """
    groups: list[str] = []
    for word in shlex.split(recorded):
        option_without_value = (
            groups and groups[-1].startswith("-") and " " not in groups[-1] and word[:1] != "-"
        )
        if option_without_value:
            groups[-1] += f" {shlex.quote(word)}"
        else:
            groups.append(shlex.quote(word))
    lines = [""]
    for group in groups:
        if lines[-1] and len(lines[-1]) + len(group) > width:
            lines.append(" ")
        lines[-1] += f" {group}" if lines[-1] else group
    return [line + " \\" for line in lines[:-1]] + lines[-1:]
