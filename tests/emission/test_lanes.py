"""Functions of lanes: their loops are run in Python, and each lane computes the Program."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from symgen.emission import definition, lane_steps, lanes
from symgen.emission.c_text import WIDTH
from symgen.emission.definition import PrintedFunction
from symgen.emission.lanes import LANES
from symgen.ir.program import Numbers, Program, evaluate
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target
from tests.shared.pass_programs import LETTERS, written

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
POINT = (0.3, -1.7, 2.9, 0.11, -5.3, 7.7, 0.013, -0.7)
DERIVED = written(
    "_angle = c + d",
    "s = sin(a) + cos(b)",
    "t = sin(_angle) * cos(a)",
    "_p = s * t - e",
    "_q = _p / (f + s)",
    "u = cos(_q) * sin(_angle)",
    "_r = sqrt(u * u + g)",
    "_p + _q",
    "_q - u",
    "_r * h",
    "sin(b) - _r / e",
    "u / atan2(_p, h)",
)


def printed(
    trig: str = "libm", checked: bool = False, part: int | None = None, derived: Program = DERIVED
) -> PrintedFunction:
    names = Target("arm", Sizes(8, 8, 8), TextOptions(trig, checked=checked))
    sincos_function = definition.sincos_function(derived, names) if trig == "inline" else None
    return PrintedFunction(derived, names, sincos_function=sincos_function, part=part)


def sincos(angle: float) -> SimpleNamespace:
    return SimpleNamespace(sine=math.sin(angle), cosine=math.cos(angle))


FUNCTIONS = {name: getattr(math, name) for name in ("sin", "cos", "sqrt", "log", "atan2")} | {
    "arm_sincos": sincos,
    "fabs": abs,
}


def run_lanes(
    facts: dict[str, Any], arrays: dict[str, list[list[float]]], count: int
) -> list[dict[str, Any]]:
    """Run the loops of a function in their order; return the locals of the last loop by lane."""
    names: dict[str, Any] = dict(arrays)
    names[facts["work"]["name"]] = [[math.nan] * count for _ in range(facts["work"]["size"])]

    def run(loop: dict[str, Any]) -> None:
        readable = {*loop["arrays"], *([facts["work"]["name"]] if loop["uses_work"] else [])}
        for lane in range(count):
            inside = {name: x for name, x in names.items() if name in readable}
            sines = facts["names"]["sines"]
            inside |= {sines: names[sines]} if sines in names else {}
            inside["lane"] = lane
            for load in loop["loads"]:
                inside[load["name"]] = eval(load["element"], {}, inside)
            for group in loop["groups"]:
                for line in group["locals"]:
                    inside[line["name"]] = eval(line["value"], FUNCTIONS, inside)
            for save in loop["saves"]:
                exec(f"{save['element']} = {save['name']}", {}, inside)
            for store in loop["stores"]:
                exec(f"{store['element']} = {store['value']}", dict(FUNCTIONS), inside)

    for loop in facts["angle_loops"]:
        run(loop)
    angles = [math.nan] * facts["angles"]
    for angle in facts["sine_arguments"]:
        for lane in range(count):
            inside = {**names, "lane": lane}
            angles[eval(angle["index"], {}, inside)] = eval(angle["value"], {}, inside)
    names[facts["names"]["sines"]] = SimpleNamespace(
        sine=[*map(math.sin, angles)], cosine=[*map(math.cos, angles)]
    )
    for loop in (*facts["sine_loops"], *facts["loops"]):
        run(loop)
    return [{**names, "lane": lane} for lane in range(count)]


@pytest.mark.parametrize("part", [None, 1, 4, 9])
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("trig", ["libm", "inline", "auto"])
def test_each_lane_computes_the_program(trig: str, checked: bool, part: int | None) -> None:
    """All bits are those of one state, and the conditions hold in every lane."""
    function = printed(trig, checked, part)
    together = definition.initial_angles(DERIVED) if trig == "auto" else []
    facts = lanes.function(function, together)
    count = lanes.lanes("double")
    states = [[x * (1 + lane / 16) for x in POINT] for lane in range(count)]
    arrays = {
        "x": [[state[k] for state in states] for k in range(len(LETTERS))],
        "y": [[math.nan] * count for _ in range(5)],
    }
    names_by_lane = run_lanes(facts, arrays, count)
    for lane, state in enumerate(states):
        expected = evaluate(DERIVED, {"x": state}, FLOATS)["y"]
        assert [row[lane] for row in arrays["y"]] == expected
        for key in ("divisors", "finite", "ranges") if checked else ():
            text = facts["checks"][key].replace("&&", "and").replace("\n", " ")
            assert not text or eval(text, dict(FUNCTIONS), names_by_lane[lane])
    assert facts["angles"] == (3 * count if trig == "auto" else 0)
    assert bool(facts["parts"]) == (part is not None)
    assert [p["call"] for p in facts["parts"]] == [
        f"{p['symbol']}({', '.join(a['name'] for a in p['parameters'])})" for p in facts["parts"]
    ]
    assert [p["symbol"] for p in facts["parts"]] == [
        f"arm_f_lanes_{k}" for k in range(1, len(facts["parts"]) + 1)
    ]
    for each in facts["parts"]:
        loop = each["loop"]
        arrays_of_loop = [name for name in ("x", "y") if name in loop["arrays"]]
        arrays_of_loop += [facts["work"]["name"]] * loop["uses_work"]
        assert [array["name"] for array in each["parameters"]] == arrays_of_loop
    if part != 9:
        assert (len(facts["loops"]) == 1) == (part is None)
    numbers = facts["work"]["size"] + 3 * len(facts["sine_arguments"]) + 8 + 5
    assert facts["bytes"] == 8 * count * numbers


def test_a_block_has_as_many_lanes_as_its_real_type_fills_vectors_with() -> None:
    for real in ("double", "float"):
        assert lanes.lanes(real) == REALS[real].lanes
        single = printed(derived=DERIVED.in_real(real))
        facts = lanes.function(single, [])
        assert facts["bytes"] % (REALS[real].size * lanes.lanes(real)) == 0


def test_arrays_that_all_lanes_share_have_no_lane() -> None:
    derived = written("a * b + c")
    facts = lanes.function(printed(derived=derived), [], ["x"])
    (loop,) = facts["loops"]
    ((line,),) = [group["locals"] for group in loop["groups"]]
    assert line["value"] == "(x[0]*x[1]) + x[2]"
    assert [(p["name"], p["lanes"]) for p in facts["parameters"]] == [("x", False), ("y", True)]
    with_lanes = lanes.function(printed(derived=derived), [])
    ((line,),) = [group["locals"] for group in with_lanes["loops"][0]["groups"]]
    assert line["value"] == "(x[0][lane]*x[1][lane]) + x[2][lane]"
    assert LANES.at("x", 3) == "x[3][lane]"


def test_arguments_that_no_lane_reads_are_unread() -> None:
    constant = written("2")
    (x, y) = lanes.function(printed(derived=constant), [])["parameters"]
    assert (x["unread"], y["unread"]) == (True, False)
    (x, _) = lanes.function(printed(derived=constant, checked=True), [])["parameters"]
    assert not x["unread"]
    angle_alone = written("sin(a)", "cos(a)")
    (x, _) = lanes.function(printed("auto", derived=angle_alone), [[0]])["parameters"]
    assert not x["unread"]
    (x, _) = lanes.function(printed(derived=written("a")), [])["parameters"]
    assert not x["unread"]


def test_names_of_the_driver_are_no_names_of_arguments() -> None:
    names = {"x": "count", "y": "lanes"}
    arrays, others = lanes.driver(DERIVED, names)
    assert [(array["name"], array["count"], array["qualifier"]) for array in arrays] == [
        ("count", 8, "const "),
        ("lanes", 5, ""),
    ]
    used = [array[kind] for array in arrays for kind in ("name", "state", "element", "block")]
    used += others.values()
    assert len(set(used)) == len(used)
    assert arrays[0]["state"] == "count_state"
    assert others["first"] == "first"
    assert others["count"] == "count_"


# -- steps of lanes --------------------------------------------------------------------------------


def test_steps_share_one_loop_over_their_angles() -> None:
    """The loop takes as many angles as a step has at most; others give zeros besides."""

    def step(angles: int, uses_sincos_loop: bool) -> dict[str, Any]:
        return {"angles": angles, "uses_sincos_loop": uses_sincos_loop, "bytes": 100}

    steps = [step(4, True), step(12, True), step(8, False)]
    assert lane_steps.angles(steps, 4, "double") == 12
    assert [s["padded_angles"] for s in steps] == [12, 12, 8]
    assert [s["padding"] for s in steps] == ["0.0", "", ""]
    assert [s["bytes"] for s in steps] == [100 + 3 * 8 * 8, 100, 100]
    alone = [step(8, False)]
    assert lane_steps.angles(alone, 4, "float") == 4
    assert alone[0]["bytes"] == 100
    single = [step(2, True), step(4, True)]
    lane_steps.angles(single, 4, "float")
    assert (single[0]["padding"], single[0]["bytes"]) == ("0.0f", 100 + 3 * 2 * 4)


@pytest.mark.parametrize(
    ("trig", "use_sincos_loop", "uses_sincos_loop", "uses_sincos"),
    [
        ("auto", True, True, True),
        ("auto", False, False, False),
        ("inline", True, False, True),
        ("inline", False, False, True),
        ("libm", True, False, False),
    ],
)
def test_a_step_has_sines_of_its_own_where_the_text_has(
    trig: str, use_sincos_loop: bool, uses_sincos_loop: bool, uses_sincos: bool
) -> None:
    names = Target("arm", Sizes(8, 8, 8), TextOptions(trig))
    facts = lane_steps.lane_step(DERIVED, names, "the head", ["x"], use_sincos_loop)
    assert (facts["uses_sincos_loop"], facts["uses_sincos"]) == (uses_sincos_loop, uses_sincos)
    assert facts["symbol"] == "arm_f"
    assert facts["comment"].startswith("the head: ")
    assert "sin" in facts["comment"]
    assert [(p["qualifier"], p["lanes"]) for p in facts["parameters"]] == [("", False), ("", True)]
    assert facts["angles"] == (0 if trig == "inline" else 3 * lanes.lanes("double"))
    without = lane_steps.lane_step(written("a * b"), names, "")
    assert not without["uses_sincos_loop"]
    assert not without["uses_sincos"]


def test_rows_of_a_table_are_not_too_wide() -> None:
    assert lane_steps.wrapped(["{1.0}"]) == ["{1.0}"]
    longest = 0
    for digits in range(3, 14):
        number = "1" * digits
        (row,) = lane_steps.wrapped([lane_steps.braced([number] * 60)])
        lines = row.split("\n")
        assert max(map(len, lines)) <= WIDTH
        longest = max(longest, *map(len, lines))
        assert all(line.startswith("     ") for line in lines[1:])
        assert " ".join(line.strip() for line in lines) == f"{{{', '.join([number] * 60)}}}"
    assert longest >= WIDTH - 1
