"""The manifest records every choice, and its command makes the same folder again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from symgen.delivery.contents import FolderContents
from symgen.delivery.manifest import (
    KNOWN_FACTS,
    KNOWN_OPTIONS,
    command,
    manifest,
    name_in_command,
    why_unknown,
    wrapped_command,
)
from symgen.delivery.omissions import MISSING
from symgen.ir.program import Program
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.c_programs import arm
from tests.shared.folders import mechanism


def contents(
    options: dict[str, Any] | None = None, text: dict[str, Any] | None = None, **more: Any
) -> FolderContents:
    programs = {name: arm()[name] for name in ("mass_matrix", "mass_matrix_and_bias")}
    return FolderContents(
        mechanism(),
        programs,
        options=ProgramOptions(**(options or {})),
        text=TextOptions(**(text or {})),
        **more,
    )


def test_the_manifest_states_the_robot_and_its_joints() -> None:
    facts = manifest(contents())
    assert {key: facts[key] for key in ("robot", "source_sha256", "real", "nq", "nv")} == {
        "robot": "arm",
        "source_sha256": "5ha",
        "real": "double",
        "nq": 2,
        "nv": 2,
    }
    assert facts["gravity"] == [0.0, 0.0, -9.81]
    assert facts["joints"] == [
        {
            "name": "shoulder",
            "type": "revolute",
            "parent": "base",
            "child": "upper",
            "q": [0, 1],
            "v": [0, 1],
        },
        {
            "name": "elbow",
            "type": "revolute",
            "parent": "upper",
            "child": "lower",
            "q": [1, 1],
            "v": [1, 1],
        },
    ]
    assert not {"loops", "closing", "friction_speed", "gravcomp", "cost"} & set(facts)


def test_the_manifest_states_what_each_function_takes_and_gives() -> None:
    single, pair = manifest(contents())["functions"].values()
    assert single["symbol"] == "arm_mass_matrix"
    assert single["file"] == "arm_mass_matrix.c"
    assert single["method"] == "by_hand"
    assert single["arguments"] == [{"name": "q", "shape": [2]}]
    assert single["result"] == {"name": "M", "shape": [2, 2]}
    assert pair["arguments"] == [{"name": "q", "shape": [2]}, {"name": "v", "shape": [2]}]
    assert pair["result"] == [{"name": "M", "shape": [2, 2]}, {"name": "c", "shape": [2]}]
    programs = arm()
    for entry in (single, pair):
        form = programs[entry["symbol"].removeprefix("arm_")]
        assert (entry["operations"], entry["depth"]) == (form.operations, form.depth)
        assert not {"batch", "rounds", "form", "links"} & set(entry)
        assert set(entry) <= KNOWN_FACTS
    batch = manifest(contents(text={"batch": True}))["functions"]["mass_matrix"]
    assert batch["batch"] == "arm_mass_matrix_batch.c"


CHOICES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {}, {}),
    ({"frame": "lower"}, {}, {"frame": "lower"}),
    ({"frame": ("lower", "upper")}, {}, {"frame": ["lower", "upper"]}),
    ({"payload": "lower"}, {}, {"payload": "lower"}),
    ({"wrench": "lower"}, {}, {"wrench": "lower"}),
    ({"wrench": ("lower", "upper")}, {}, {"wrench": ["lower", "upper"]}),
    (
        {"jacobian_order": "linear"},
        {},
        {"jacobian_frame": ProgramOptions().jacobian_frame, "jacobian_order": "linear"},
    ),
    ({"task_rows": "wx,z"}, {}, {"task_rows": "wx,z"}),
    ({"contact": "lower:1,0,0"}, {}, {"contact": ["lower:1,0,0"]}),
    ({"effort": "high"}, {}, {"effort": "high"}),
    ({"parameters": ("lower.mass",)}, {}, {"parameter": ["lower.mass"]}),
    ({"baumgarte": True}, {}, {"baumgarte": True}),
    ({"form": "looped"}, {}, {"form": "looped"}),
    ({}, {"trig": "macro"}, {"trig": "macro"}),
    ({}, {"checked": True}, {"checked": True}),
    ({}, {"target": "cortex-m4f"}, {"target": "cortex-m4f"}),
    ({}, {"wrap": ("cpp17", "casadi")}, {"wrap": ["cpp17", "casadi"]}),
    ({}, {"batch": True}, {"batch": True}),
]


@pytest.mark.parametrize(("options", "text", "recorded"), CHOICES)
def test_options_are_recorded_that_are_not_the_default(
    options: dict[str, Any], text: dict[str, Any], recorded: dict[str, Any]
) -> None:
    facts = manifest(contents(options, text))
    usual = {"name": "arm", "trig": "libm", "frame": None, "payload": None}
    assert facts["options"] == usual | recorded
    assert set(facts["options"]) <= KNOWN_OPTIONS
    assert list(facts["options"])[1:] == sorted(facts["options"].keys() - {"name"})


def parsed(words: list[str]) -> dict[str, list[str]]:
    """Return the values of each option of a command."""
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if word.startswith("--") and value:
            values.setdefault(name, []).append(value)
        elif word.startswith("--") and word[2:] in ("checked", "batch", "baumgarte", "no-evidence"):
            values[word] = []
        elif word.startswith("-"):
            values.setdefault(word, []).append(next(rest))
    return values


@pytest.mark.parametrize(("options", "text", "recorded"), CHOICES)
def test_the_command_states_every_choice(
    options: dict[str, Any], text: dict[str, Any], recorded: dict[str, Any]
) -> None:
    chosen = contents(options, text)
    facts = manifest(chosen)
    words = shlex.split(facts["command"])
    assert words == command(chosen, facts)
    assert words[:5] == ["symgen", "generate", "arm.toml", "-o", "../arm-again"]
    expected: dict[str, list[str]] = {
        "-f": ["mass_matrix=by_hand", "mass_matrix_and_bias=by_hand"],
        "--real": ["double"],
        "--trig": ["libm"],
    }
    for name, value in recorded.items():
        flag = f"--{name.replace('_', '-')}"
        expected[flag] = value if isinstance(value, list) else [] if value is True else [value]
    if "target" in text:
        expected["--no-evidence"] = []
    assert parsed(words[5:]) == expected


def test_the_command_asks_for_missing_functions_and_for_evidence() -> None:
    missing = {"forward_dynamics=riccati": "it is too long"}
    folder = contents(text={"target": "cortex-m4f"}, missing=missing, evidence={"cost": {"x": 1}})
    facts = manifest(folder)
    words = command(folder, facts)
    assert words[words.index("--real") - 2 : words.index("--real")] == [
        "-f",
        "forward_dynamics=riccati",
    ]
    assert "--no-evidence" not in words
    assert facts["cost"] == {"x": 1}
    assert {"kind": MISSING, "text": "it is too long", "functions": [*missing]} in (
        facts["not_modelled"]
    )
    empty = replace(folder, evidence={"cost": {"x": 1}, "proof": {}})
    assert "proof" not in manifest(empty)


def test_a_name_and_values_with_a_leading_minus_are_one_word() -> None:
    folder = contents(name="leg")
    facts = manifest(folder)
    words = command(folder, facts)
    assert words[2:5] == ["leg.toml", "-o", "../leg-again"]
    assert words[words.index("--name") + 1] == "leg"
    assert "--name" not in command(contents(), manifest(contents()))
    minus = {**facts, "options": {**facts["options"], "payload": "-x", "wrench": ["-a", "b"]}}
    words = command(folder, minus)
    assert "--payload=-x" in words
    at = words.index("--wrench=-a")
    assert words[at + 1 : at + 3] == ["--wrench", "b"]


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("symgen generate arm.toml --name leg -f M", "leg"),
        ("symgen generate arm.toml --name=leg -f M", "leg"),
        ("symgen generate arm.toml --name 'a b' --name c", "a b"),
        ("symgen generate arm.toml", None),
        ("symgen generate --name", None),
        ("symgen generate 'unclosed --name leg x", None),
        ("", None),
    ],
)
def test_the_name_of_a_recorded_command_is_read(recorded: str, name: str | None) -> None:
    assert name_in_command(recorded) == name


def test_a_long_command_is_broken_between_options() -> None:
    words = ["symgen", "generate", "arm.toml", "-o", "../x"]
    words += [part for k in range(6) for part in ("-f", f"function_{k}=method")] + ["--checked"]
    recorded = shlex.join(words)
    for width in (30, 45, 110):
        lines = wrapped_command(recorded, width)
        assert all(line.endswith(" \\") for line in lines[:-1])
        assert not lines[-1].endswith("\\")
        assert all(len(line) <= width + 4 for line in lines)
        assert shlex.split(" ".join(line.removesuffix(" \\") for line in lines)) == words
        assert not any(line.removesuffix(" \\").endswith(("-f", "-o")) for line in lines)
        assert [line[:2] == "  " for line in lines] == [False] + [True] * (len(lines) - 1)
        assert (len(lines) == 1) == (len(recorded) < width)
    assert wrapped_command("symgen generate -f 'a b'") == ["symgen generate -f 'a b'"]


def test_a_line_is_as_long_as_the_width_allows() -> None:
    lines = wrapped_command("aaaa bbbb cccc dddd", 9)
    assert lines == ["aaaa bbbb \\", "  cccc \\", "  dddd"]
    assert wrapped_command("aaaaaaaa bb", 5) == ["aaaaaaaa \\", "  bb"]
    assert wrapped_command("x -f a b -g -h", 4) == [
        "x \\",
        "  -f a \\",
        "  b \\",
        "  -g \\",
        "  -h",
    ]


# -- folders of another version ------------------------------------------------------------------


def recorded_facts() -> tuple[dict[str, Any], dict[str, Program]]:
    folder = contents()
    return manifest(folder), {name: arm()[name] for name in folder.programs}


def test_a_function_of_this_version_is_known() -> None:
    facts, programs = recorded_facts()
    for name, program in programs.items():
        assert why_unknown(facts, name, program) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"options": {"new_option": 1, "another": 2}}, "its option 'another' is unknown"),
        ({"fact": {"new_fact": 1}}, "its fact 'new_fact' is unknown"),
        ({"fact": {"arguments": []}}, "its arguments have changed"),
        ({"fact": {"arguments": [{"name": "q", "shape": [3]}]}}, "its arguments have changed"),
        ({"fact": {"result": {"name": "M", "shape": [4]}}}, "its results have changed"),
        ({"fact": {"result": []}}, "its results have changed"),
    ],
)
def test_an_unknown_choice_of_another_version_is_named(
    change: dict[str, dict[str, Any]], reason: str
) -> None:
    facts, programs = recorded_facts()
    facts["options"] |= change.get("options", {})
    facts["functions"]["mass_matrix"] |= change.get("fact", {})
    assert why_unknown(facts, "mass_matrix", programs["mass_matrix"]) == reason
    expected = reason if "options" in change else ""
    assert why_unknown(facts, "mass_matrix_and_bias", programs["mass_matrix_and_bias"]) == expected
