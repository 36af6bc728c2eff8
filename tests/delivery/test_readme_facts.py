"""Facts that the README prints: costs and proofs, options, functions and an example."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import symgen
from symgen.delivery import folder as folder_module
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import (
    SHOWN,
    _frames,
    evidence_context,
    readme_context,
    texts,
    threaded,
    write,
)
from symgen.delivery.manifest import manifest
from symgen.emission import printer
from symgen.ir.program import Port
from symgen.mechanism.mechanism import Body, Frame, Joint, Part
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.ir.loop_toys import in_parts
from tests.shared.c_programs import Builder, arm, vector
from tests.shared.folders import cases, mechanism
from tests.shared.recursions import sums

# -- costs ---------------------------------------------------------------------------------------

COST = {
    "instructions": [10, 20],
    "alone": [9, 9],
    "cycles": [30, 40],
    "cycles_alone": None,
    "flash": 100,
    "flash_with_libm": 300,
    "stack": 64,
    "stack_with_libm": 96,
    "ram": 8,
    "undefined": ["sinf", "cosf"],
}
BIGGER = COST | {"stack": 128, "stack_with_libm": 80, "undefined": []}


def cost(*functions: dict[str, Any], **more: Any) -> dict[str, Any]:
    by_name = {f"f{k}": function for k, function in enumerate(functions)}
    return evidence_context({"cost": {"functions": by_name, **more}})


def test_a_row_of_costs_has_the_figures_in_their_order() -> None:
    facts = cost(COST, BIGGER)
    assert facts["timed"] is True
    assert facts["costs"] == [
        ["`f0`", "10 to 20", "9", "30 to 40", "unknown", 100, 300, 64, "96", 8, "sinf cosf"],
        ["`f1`", "10 to 20", "9", "30 to 40", "unknown", 100, 300, 128, "80", 8, "nothing"],
    ]
    assert (facts["most_stack"], facts["most_depth"]) == (128, 96)


def test_cycles_have_columns_where_one_function_has_them() -> None:
    untimed = COST | {"cycles": None}
    facts = cost(untimed, untimed)
    assert facts["timed"] is False
    assert facts["costs"][0][:4] == ["`f0`", "10 to 20", "9", 100]
    assert cost(untimed, COST)["timed"] is True


def test_an_unknown_depth_of_the_stack_is_that_of_all() -> None:
    facts = cost(COST, COST | {"stack_with_libm": None})
    assert [row[-3] for row in facts["costs"]] == ["96", "unknown"]
    assert facts["most_depth"] == 0


def test_a_sheet_without_functions_has_zeros() -> None:
    facts = evidence_context({})
    assert (facts["most_stack"], facts["most_depth"], facts["costs"]) == (0, 0, [])
    assert (facts["timed"], facts["unmeasured"], facts["cost"]) == (False, "", {})
    assert facts["compiled_with"].strip() == ""
    assert cost(missing="gcc is not installed")["unmeasured"] == "gcc is not installed"


def test_the_flags_and_the_words_of_a_sheet_are_printed() -> None:
    words = {"title": "Cortex-M4F", "states": 4, "unknown": ["ram"], "target": "cortex-m4f"}
    facts = cost(optimize="-O2", flags=["-mthumb", "-g"], **words)
    assert facts["compiled_with"] == "-O2 -mthumb -g"
    assert facts["cost"] == {key: words[key] for key in ("title", "states", "unknown")}


# -- proofs --------------------------------------------------------------------------------------


def proof(**facts: Any) -> dict[str, Any]:
    return evidence_context({"proof": facts})


def divisor(certified: float | None, joint: str | None = None, **more: Any) -> dict[str, Any]:
    return {"joint": joint, "certified": certified, **more}


def test_ranges_of_a_joint_are_those_of_its_place() -> None:
    ranges = {
        "q": [[-1.5, 1.5], [-3, 3.25]],
        "v": [[0, 2], [-1e-7, 1]],
        "a": [[0, 0], [0, 0]],
        "tau": [[-10, 10], [-1234567.8, 0.5]],
    }
    joints = [
        {"joint": "hip", "link": "thigh", "own_inertia": 0.12345678, "unit": "kg m^2"},
        {"joint": "a|b", "link": "shank", "own_inertia": None, "unit": "kg", "reason": "no mass"},
    ]
    facts = proof(ranges=ranges, joints=joints, states=7)
    assert facts["proof_states"] == 7
    assert facts["ranges"] == [
        ["`hip`", "-1.5 to 1.5", "0 to 2", "-10 to 10"],
        ["`a\\|b`", "-3 to 3.25", "-1e-07 to 1", "-1.23457e+06 to 0.5"],
    ]
    assert facts["inertias"] == [
        ["`hip`", "`thigh`", "0.123456 kg m^2"],
        ["`a\\|b`", "`shank`", "no certificate: no mass"],
    ]


def test_lower_bounds_are_rounded_down_and_upper_bounds_up() -> None:
    """Six digits of an inertia or a divisor, two of a round-off."""
    divisors = [
        divisor(0.1234569999, "hip"),
        divisor(2.0, None, what="(a sum)"),
        divisor(3.0),
        divisor(None, "knee"),
        divisor(None),
        divisor(None, None, what="x + y"),
    ]
    results = {"a": {"bound": 1.201e-15}, "b": {"bound": None}, "c": {"bound": float("inf")}}
    results |= {"d": {"bound": 0.0}, "e": {"bound": 1.2}}
    facts = proof(
        states=16,
        functions={
            "f": {
                "divisors": divisors,
                "round_off": {"results": results, "proved_for": "ranges"},
            },
            "g": {
                "divisors": [],
                "round_off": {"results": {"a": {"bound": 99.1}}, "proved_for": "states"},
            },
            "h": {
                "divisors": [divisor(None, "hip")],
                "round_off": {"results": {}, "proved_for": "states"},
            },
            "i": {
                "divisors": [divisor(1.5, "hip")],
                "round_off": {"results": {}, "proved_for": "states"},
            },
        },
    )
    assert facts["divisor_bounds"] == [
        [
            "`f`",
            "`hip` ≥ 0.123456, a sum ≥ 2, a sum of squares ≥ 3",
            "`knee`, one that is no pivot, x + y",
        ],
        ["`h`", "none", "`hip`"],
        ["`i`", "`hip` ≥ 1.5", "none"],
    ]
    assert facts["round_offs"] == [
        ["`f`", "a", "all of the ranges", "1.3e-15"],
        ["`f`", "b", "all of the ranges", "none known"],
        ["`f`", "c", "all of the ranges", "none known"],
        ["`f`", "d", "all of the ranges", "0"],
        ["`f`", "e", "all of the ranges", "1.2"],
        ["`g`", "a", "16 random states of them", "1e+02"],
    ]


def test_verdicts_of_eva_are_printed_with_what_they_admit() -> None:
    proved = {"proved": True, "alarms": [], "admitted": ["x < 1", "y"]}
    refused = {"proved": False, "alarms": ["a", "b", "c"], "admitted": []}
    facts = proof(eva={"f": proved, "g": refused}, assumptions=["q is *finite*"])
    assert facts["finite"] == [
        ["`f`", "yes", "`x < 1`; `y`"],
        ["`g`", "no: 3 alarms", "nothing"],
    ]
    assert facts["assumptions"] == [r"q is \*finite\*"]
    assert (facts["eva_idle"], facts["eva_missing"]) == (False, "")
    assert proof(eva={})["eva_idle"] is True
    assert proof()["eva_idle"] is False
    assert proof(eva_missing="no Frama-C")["eva_missing"] == "no Frama-C"
    assert proof()["proof_states"] == 0


def test_the_readme_has_the_evidence_of_the_manifest() -> None:
    text = TextOptions(target="cortex-m4f")
    evidence = {"cost": {"functions": {"f0": COST}}, "proof": {}}
    facts = context(contents(text=text, evidence=evidence))
    assert facts["most_stack"] == COST["stack"]
    assert facts["proof_states"] == 0
    assert context(contents(text=text))["costs"] == []


# -- functions and options -----------------------------------------------------------------------


def contents(functions: tuple[str, ...] = ("mass_matrix",), **settings: Any) -> FolderContents:
    programs = {name: arm()[name] for name in functions}
    return FolderContents(mechanism(), programs, **settings)


def context(folder: FolderContents) -> dict[str, Any]:
    return readme_context(folder, manifest(folder))


def test_the_readme_lists_joints_and_options() -> None:
    folder = contents(
        options=ProgramOptions(frame=("lower", "upper"), wrench="lower"),
        text=TextOptions(wrap=("cpp17", "casadi")),
    )
    facts = context(folder)
    assert (facts["robot"], facts["base"], facts["gravity"]) == ("`arm`", "`base`", "0, 0, -9.81")
    assert facts["joints"] == [
        {
            "name": f"`{name}`",
            "parent": f"`{parent}`",
            "child": f"`{child}`",
            "type": "revolute",
            "index": k,
            "unit": "rad",
            "q": f"q[{k}] (rad)",
            "v": f"v[{k}] its rate",
        }
        for k, (name, parent, child) in enumerate(
            [("shoulder", "base", "upper"), ("elbow", "upper", "lower")]
        )
    ]
    assert facts["more_joints"] == 0
    assert facts["options"] == [
        {"name": "frame", "value": "`lower, upper`"},
        {"name": "trig", "value": "`libm`"},
        {"name": "wrap", "value": "`cpp17, casadi`"},
        {"name": "wrench", "value": "`lower`"},
    ]
    assert not facts["adjustable"]


def test_joints_beyond_a_hundred_are_counted() -> None:
    count = SHOWN + 3
    joints = tuple(Joint(f"j{i}", "revolute", i - 1) for i in range(count))
    bodies = tuple(Body(f"b{i}", (Part(f"b{i}", (), Fraction(1)),)) for i in range(count))
    folder = contents()
    facts = context(replace(folder, mechanism=replace(mechanism(), joints=joints, bodies=bodies)))
    assert SHOWN == 100
    assert len(facts["joints"]) == SHOWN
    assert facts["joints"][-1]["name"] == "`j99`"
    assert facts["more_joints"] == 3


def test_the_readme_lists_functions_and_the_meaning_of_their_arguments() -> None:
    facts = context(contents(("mass_matrix_and_bias", "mass_matrix")))
    pair, single = facts["functions"]
    assert pair["symbol"] == "arm_mass_matrix_and_bias"
    assert (pair["arguments"], pair["results"], pair["method"]) == ("q, v", "M, c", "by_hand")
    assert (single["arguments"], single["results"]) == ("q", "M")
    assert single["depth"] == arm()["mass_matrix"].depth
    assert [entry["name"] for entry in facts["meanings"]] == ["q", "v", "M", "c"]
    assert all(entry["what"] for entry in facts["meanings"])
    assert facts["looped"] == facts["parted"] == facts["parted_links"] == []
    assert facts["loop_bytes"] == 0


def test_the_wrench_is_explained_where_a_function_takes_one() -> None:
    options = ProgramOptions(wrench=("lower", "upper"))
    assert context(contents(options=options))["wrenches"] == []
    builder = Builder("gravity_force", [vector("q"), vector("wrench", 6)])
    form = builder.program([Port("g", (2,), (builder.input(0, 0), builder.input(1, 0)))])
    folder = contents(options=options)
    facts = context(replace(folder, programs={form.function: form}))
    assert facts["wrenches"] == ["`lower`", "`upper`"]


def test_a_wrench_on_the_base_has_no_effect() -> None:
    options = ProgramOptions(wrench=("pedestal", "upper"))
    on_base = replace(mechanism(), frames=(*mechanism().frames, Frame("pedestal", -1)))
    builder = Builder("gravity_force", [vector("q"), vector("wrench", 6)])
    form = builder.program([Port("g", (1,), (builder.input(1, 0),))])
    folder = FolderContents(on_base, {form.function: form}, options=options)
    assert context(folder)["wrenches"] == ["`pedestal` (on the base: no effect)", "`upper`"]


def test_the_example_calls_the_first_function() -> None:
    facts = context(contents(("mass_matrix_and_bias", "mass_matrix")))["example"]
    assert facts["symbol"] == "arm_mass_matrix_and_bias"
    assert facts["stem"] == facts["function"] == "mass_matrix_and_bias"
    assert facts["answer"] == "results"
    assert (facts["works"], facts["prepared"]) == (False, False)
    assert facts["results"] == [{"name": "M", "size": 4}, {"name": "c", "size": 2}]
    assert facts["arguments"] == [
        {"name": name, "size": 2, "prepared": False, "c": "{0}", "cpp": "{}"} for name in "qv"
    ]
    assert facts["lanes"] == printer().lanes("double")
    assert context(contents())["example"]["answer"] == "M"


@pytest.mark.parametrize(
    ("functions", "frames", "framed", "of_the_first"),
    [
        (["mass_matrix"], ("a", "b"), [], []),
        (["forward_kinematics", "jacobian"], ("a",), ["forward_kinematics", "jacobian"], []),
    ],
)
def test_frames_are_explained_where_a_function_has_one(
    functions: list[str], frames: tuple[str, ...], framed: list[str], of_the_first: list[str]
) -> None:
    facts = _frames(frames, functions)
    assert facts["framed"] == [f"`{name}`" for name in framed]
    assert facts["of_the_first"] == [f"`{name}`" for name in of_the_first]
    assert facts["frames"] == ([f"`{name}`" for name in frames] if framed else [])


def test_with_several_frames_the_functions_of_all_and_of_the_first_are_named() -> None:
    needing = [name for name, function in FUNCTIONS.items() if function.needs_frame]
    facts = _frames(("a", "b"), [*needing, "mass_matrix", "no_function"])
    of_all = [f"`{name}`" for name in needing if FUNCTIONS[name].uses_all_frames]
    assert facts["framed"] == of_all != []
    assert facts["of_the_first"] == [f"`{n}`" for n in needing if f"`{n}`" not in of_all] != []
    single = _frames(("a",), needing)
    assert single["framed"] == [f"`{name}`" for name in needing]
    fixed = [n for n in needing if not FUNCTIONS[n].follows_convention]
    assert single["not_following"] == [f"`{n}`" for n in fixed if n != "forward_kinematics"]


@pytest.mark.parametrize(
    ("count", "word"),
    [(1, ""), (3, "three"), (4, "four"), (5, "five"), (6, "six"), (7, "seven"), (8, "eight")],
)
def test_solves_of_redundant_contacts_are_counted_in_words(
    count: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "solve_count", lambda mechanism, points: count)
    name = next(name for name, function in FUNCTIONS.items() if function.counts("NT"))
    folder = contents(options=ProgramOptions(contact=("lower:1,0,0", "upper")))
    assert folder_module._contacts(folder) == {"contacts": [], "redundant": ""}
    of_contacts = replace(folder, programs={name: arm()["mass_matrix"]})
    assert folder_module._contacts(of_contacts) == {
        "contacts": ["`lower:1,0,0`", "`upper`"],
        "redundant": word,
    }


def test_properties_of_loops_are_stated_for_the_functions_that_have_them() -> None:
    """Tables have a constant for each of 3 and of 16 links; 8 segments are computed at once."""
    forms: dict[str, Any] = {
        "mass_matrix": arm()["mass_matrix"],
        "gravity_force": sums(3),
        "bias_force": replace(in_parts((2,) * 8), function="bias_force"),
    }
    folder = FolderContents(mechanism(), forms)
    for real, size in (("double", 8), ("float", 4)):
        facts = {"real": real, "functions": {name: {"symbol": f"arm_{name}"} for name in forms}}
        context = folder_module._functions(folder, facts)
        assert context["looped"] == ["`gravity_force`", "`bias_force`"]
        assert context["parted_links"] == [{"name": "`bias_force`", "count": 8}]
        assert context["loop_bytes"] == size * (3 + 16)
    apart = [name for name, form in forms.items() if printer().forbids_aliasing(form)]
    assert context["apart"] == [f"`{name}`" for name in apart]
    assert context["wrenches"] == []


def test_recorded_options_are_listed_but_for_the_name_and_what_is_not_chosen() -> None:
    options = {
        "real": "double",
        "frame": ["a", "b"],
        "payload": None,
        "name": "arm",
        "batch": False,
    }
    assert folder_module._option_rows(options) == [
        {"name": "real", "value": "`double`"},
        {"name": "frame", "value": "`a, b`"},
        {"name": "batch", "value": "`False`"},
    ]


def test_the_readme_names_sines_of_the_text_where_it_has_some() -> None:
    """Only they are in a file of their own."""
    programs = {"mass_matrix": arm()["mass_matrix"]}
    folder = FolderContents(mechanism(), programs, cases=cases(programs))
    inline = texts(replace(folder, text=TextOptions("inline")))
    plain = texts(folder)
    assert ("arm_sincos.h" in inline, "arm_sincos.h" in plain) == (True, False)
    assert ("arm_sincos.h" in inline["README.md"], "arm_sincos.h" in plain["README.md"]) == (
        True,
        False,
    )


def test_no_function_of_rows_runs_on_several_threads() -> None:
    assert not threaded(arm())


# -- files ---------------------------------------------------------------------------------------


def test_a_folder_of_functions_only_has_sources_and_headers(tmp_path: Any) -> None:
    programs = {"mass_matrix": arm()["mass_matrix"]}
    folder = FolderContents(
        mechanism(),
        programs,
        text=TextOptions(wrap=("cpp17", "casadi"), batch=True, trig="auto"),
        cases=cases(programs),
    )
    files = texts(folder)
    facts = write(tmp_path / "arm", files, functions_only=True)
    written = sorted(path.name for path in (tmp_path / "arm").iterdir())
    assert facts["files"] == written
    assert written == [
        *(
            "arm.h",
            "arm.hpp",
            "arm_batch.h",
            "arm_casadi.c",
            "arm_casadi.h",
            "arm_lanes.h",
            "arm_mass_matrix.c",
            "arm_mass_matrix_batch.c",
        ),
    ]
    assert "arm_selftest.c" in files
    assert "CMakeLists.txt" in files
    whole = json.loads(files["manifest.json"])
    assert whole["files"] == sorted(files)
    assert {key: whole[key] for key in whole if key != "files"} == {
        key: facts[key] for key in facts if key != "files"
    }


def test_cmake_lists_the_files_of_functions_and_of_wrappers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = {"mass_matrix": arm()["mass_matrix"]}
    folder = FolderContents(
        mechanism(),
        programs,
        text=TextOptions(wrap=("cpp17", "casadi"), batch=True),
        cases=cases(programs),
    )
    cmake = texts(folder)["CMakeLists.txt"]
    for file in ("arm_mass_matrix.c", "arm_mass_matrix_batch.c", "arm_casadi.c", "arm.hpp"):
        assert file in cmake
    assert f"{'.'.join(symgen.__version__.split('.')[:2])}." in cmake
    monkeypatch.setattr(folder_module, "__version__", "1.20.3.dev4+g5")
    assert re.search(r"VERSION 1\.20\.3\b(?!\.)", texts(folder)["CMakeLists.txt"])
    plain = texts(replace(folder, text=TextOptions()))["CMakeLists.txt"]
    assert "batch" not in plain
    assert "casadi" not in plain
