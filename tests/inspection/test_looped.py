"""`--form looped`: what is printed of a loop over links, run link by link as a reader would, gives what the rows do."""

from __future__ import annotations

import re
import sys

import mpmath
import pytest
import sympy as sp

import symgen
from symgen.derivation.model import refuse_many_joints
from symgen.description.loading import load
from symgen.inspection.reading import FormulaOptions, read, render
from symgen.ir.program import Numbers, evaluate
from symgen.support.errors import RequestError
from tests.shared.robots_for_tests import draw, point_mass_arm, random_mechanism

MP = Numbers(
    lambda x: mpmath.mpf(x.numerator) / x.denominator,
    mpmath.sin,
    mpmath.cos,
    mpmath.sqrt,
    mpmath.log,
    mpmath.atan2,
)
RESULTS = {
    "ur5": ("det", "grad", "alpha", "R", "h"),
    "scara": ("x", "J"),
    "quadruped": ("tau", "logdet", "F", "J"),
    "planar_point_mass:9": ("x", "logdet"),
    "kinds": ("tau", "delta"),
}
KINDS = ("revolute", "prismatic", "helical", "cylindrical", "spherical")
_HEAD = re.compile(
    r"(inward|outward), from (?:the tips|the base|the base to link (\d+)|link (\d+) to the base)"
    r"(?:; (?:at a tip|at the base|behind it) (.*))?:"
)


def run(text, found, arguments):
    """The text, link after link; elements by name for every link, and those of the end."""
    own = [
        {
            name.split(" = ")[0]: MP.constant(x)
            for name, x in zip(found.columns[kind], table, strict=True)
        }
        for kind, table in zip(found.of, found.tables, strict=True)
    ]
    for values, given in zip(own, arguments, strict=True):
        values.update(given)
    ways, end = _ways(text)
    last = {}
    for inward, tip, start, kinds, handed, products in ways:
        side = "_c" if inward else "_p"
        links = range(len(own)) if tip is None else _way(found, tip)
        for i in reversed(links) if inward else links:
            children = [j for j in links if found.parents[j] == i]
            before = (
                [own[j] for j in children]
                if inward
                else [own[found.parents[i]]]
                if found.parents[i] >= 0
                else []
            )
            own[i].update(_before(handed, start, products, before, side))
            for name, formula in kinds[found.kinds[found.of[i]] if len(kinds) > 1 else ""]:
                own[i][name] = _value(formula, own[i])
        if inward:
            roots = [own[j] for j in links if found.parents[j] < 0]
            last |= _before(
                [name for name in handed if all(name in root for root in roots)],
                start,
                products,
                roots,
                side,
            )
    for name, formula in end:
        last[name] = _value(formula, (own[found.on] if found.on >= 0 else {}) | last)
    return own, {name: last[name] for name, _ in end}


def _way(found, tip):
    return [*(_way(found, found.parents[tip]) if found.parents[tip] >= 0 else []), tip]


def _before(handed, start, products, links, side):
    joined = {}
    for name in handed:
        values = [one[name] for one in links]
        joined[name + side] = (
            (mpmath.fprod(values) if name in products else mpmath.fsum(values))
            if values
            else _value(start.get(name + side, "0"), {})
        )
    return joined


def _value(formula, names):
    functions = {name: getattr(mpmath, name) for name in ("sin", "cos", "sqrt", "log", "atan2")}
    numbered = re.sub(
        r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", lambda m: f"mpf('{m[0]}')", formula
    )
    return eval(numbered, {"mpf": mpmath.mpf, **functions}, names)


def _ways(text):
    ways, end, kind = [], [], ""
    for line in text.splitlines():
        if (head := _HEAD.fullmatch(line)) is not None:
            start = dict(
                one.split(" = ")
                for one in (head[4] or "").split(", ")
                if one and not one.startswith("all")
            )
            tip = head[2] or head[3]
            ways.append((head[1] == "inward", tip and int(tip), start, {}, [], []))
            kind = ""
        elif line.startswith("at the end"):
            ways.append(None)
        elif line.startswith("table"):
            continue
        elif ways[-1] is None:
            end.append(line.strip().split(" = "))
        elif line.startswith("  handed on: "):
            ways[-1][4].extend(line.removeprefix("  handed on: ").split(", "))
        elif line.startswith("  of several children the product: "):
            ways[-1][5].extend(line.removeprefix("  of several children the product: ").split(", "))
        elif (of := re.fullmatch(r"  (\w+):( nothing)?", line)) is not None:
            kind = of[1]
            ways[-1][3][kind] = []
        else:
            ways[-1][3].setdefault(kind, []).append(line.strip().split(" = "))
    return [one for one in ways if one], end


def of_links(robot, program, state):
    """Arguments of every link, under the names that the text has."""
    found = []
    q = v = 0
    for joint in robot.joints:
        own = {}
        for port in program.inputs:
            at, size = (q, joint.type.nq) if port.name in ("q", "q_next") else (v, joint.type.nv)
            values = (
                state[port.name][at : at + size] if port.shape else state[port.name]
            )  # one number for all
            own |= (
                {port.name: values[0]}
                if len(values) == 1
                else {f"{port.name}{k}": x for k, x in enumerate(values)}
            )
        found.append(own)
        q, v = q + joint.type.nq, v + joint.type.nv
    return found


def of_result(port, links, widths=()):
    """The result's elements, of all links or of the end that give it."""
    names = [port.name, *(f"{port.name}{k}" for k in range(port.size))]
    if widths:  # by links, each the columns of its joint, row by row; beside the way there are none
        rows = port.shape[0]
        found = [[one[name] for name in names if name in one] for one in links]
        return [
            x
            for row in range(rows)
            for own, wide in zip(found, widths, strict=True)
            for x in (own[row * wide : (row + 1) * wide] or [mpmath.mpf(0)] * wide)
        ]
    return [one[name] for one in links for name in names if name in one]


@pytest.mark.parametrize("robot", RESULTS)
def test_what_is_printed_computes_what_rows_do(robot):
    mechanism = random_mechanism(6, 1, "tree", joints=KINDS) if robot == "kinds" else load(robot)
    states = draw(mechanism, 1)
    for what in RESULTS[robot]:
        found = read(mechanism, what, options=FormulaOptions("looped"))
        method = re.match(r"(\w+) by ([\w:]+),", found.notes[0])
        program = symgen.program(mechanism, method[1], method[2])
        state = {
            name: [mpmath.mpf(float(x)) for x in values[0].ravel()]
            for name, values in states.items()
        }
        with mpmath.workdps(40):
            own, end = run(found.written("text"), found.value, of_links(mechanism, program, state))
            wanted = evaluate(program, state, MP)
            port = next(port for port in program.outputs if port.name == what)
            widths = [joint.type.nv for joint in mechanism.joints]
            got = of_result(port, own, widths) if what == "J" else of_result(port, [*own, end])
            assert len(got) == port.size, (what, len(got), port.size)
            scale = 1 + max(map(abs, wanted[what]))
            assert (
                max(abs(x - y) for x, y in zip(got, wanted[what], strict=True)) < 1e-13 * scale
            ), what


def test_named_equations_are_formulas_and_latex():
    found = symgen.inspect("ur5", "tau", form="looped")
    assert found.ways[1].carry_names[:3] == ("omega_1", "omega_2", "omega_3")
    named = dict(found.ways[1].steps[0].named)
    c, s, along, across, v = (
        sp.Symbol(name, real=True)
        for name in ("cos_alpha", "sin_alpha", "omega_3_p", "omega_2_p", "v")
    )
    assert named["omega_3"] == c * along - s * across + v
    assert (
        r"\text{inward, from the tips; at a tip all that ends with \_c = 0:}"
        in found._repr_latex_()
    )
    assert r"\omega_{3,p}" in found.written("latex")


def test_of_what_does_not_exist_no_loops_are_shown():
    """A chain whose last link weighs nothing has no accelerations, in rows or not."""
    for form in (None, "looped"):
        with pytest.raises(RequestError, match="divides by"):
            read(point_mass_arm(1, 1, 0), "a", options=FormulaOptions(form))


def test_kinds_stand_apart_and_a_trunk_hands_nothing_on():
    text = read(load("quadruped"), "logdet", options=FormulaOptions("looped")).written("text")
    trunk = text[text.rindex("  free:") :]
    assert "= 0\n" not in trunk
    assert "seen_11 = " not in trunk
    assert "    seen_11 = " in text
    assert r"&\quad\text{revolute}" in read(
        load("scara"), "tau", options=FormulaOptions("looped")
    ).written("latex")


def test_a_result_that_is_too_long_for_rows_is_shown_as_loops(monkeypatch):
    monkeypatch.setattr(sys.modules[refuse_many_joints.__module__], "MOST_JOINTS", 60)
    text, notes = render(load("planar_point_mass:61"), "logdet")
    assert "joined = joined_c + log(D_1) + log(m**2)" in text
    assert "61 joints move" in notes[-1]


@pytest.mark.parametrize(
    ("what", "more", "why"),
    [
        ("P", {}, "P is a letter of riccati; name a result, such as tau"),
        ("tau[1]", {}, r"the whole of tau, so leave out \[...\]"),
        ("tau", {"at": {"q0": 0}}, "--at does not apply"),
        ("tau", {"symbols": "m"}, "--symbols does not apply"),
        ("M", {}, "mass_matrix has no looped form"),
    ],
)
def test_what_loops_do_not_show_is_said(what, more, why):
    with pytest.raises(RequestError, match=why):
        symgen.inspect("ur5", what, form="looped", **more)


def test_c_is_what_generate_writes():
    with pytest.raises(RequestError, match="'symgen generate --form looped' writes their C"):
        render(load("ur5"), "tau", format="c", options=FormulaOptions("looped"))
