"""`inspect --form looped`: the printed loops over links, run link by link, give the values of the
Program's rows.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module

import mpmath
import pytest
import sympy as sp

import symgen
from symgen.derivation.model import refuse_many_joints
from symgen.description.loading import load
from symgen.inspection.reading import FormulaOptions, read, render
from symgen.inspection.sweeps import Loops
from symgen.ir.program import Numbers, evaluate
from symgen.support.errors import RequestError, SymgenError
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
    r"(?:; initial carries: (.*))?:"
)


def run_loops(text, loops, arguments):
    """Run the printed loops; return values by name of each link, and values by name after all
    sweeps.
    """
    links_values = [
        {
            name.split(" = ")[0]: MP.constant(x)
            for name, x in zip(loops.columns[kind], table, strict=True)
        }
        for kind, table in zip(loops.of, loops.tables, strict=True)
    ]
    for values, link_arguments in zip(links_values, arguments, strict=True):
        values.update(link_arguments)
    sweeps, final_formulas = parse_sweeps(text)
    final_values = {}
    for inward, tip, start, kinds, carries, products in sweeps:
        suffix = "_c" if inward else "_p"
        links = range(len(links_values)) if tip is None else path_to_link(loops, tip)
        for i in reversed(links) if inward else links:
            children = [j for j in links if loops.parents[j] == i]
            before = (
                [links_values[j] for j in children]
                if inward
                else [links_values[loops.parents[i]]]
                if loops.parents[i] >= 0
                else []
            )
            links_values[i].update(
                initial_or_combined_carries(carries, start, products, before, suffix)
            )
            for name, formula in kinds[loops.kinds[loops.of[i]] if len(kinds) > 1 else ""]:
                links_values[i][name] = evaluate_formula(formula, links_values[i])
        if inward:
            roots = [links_values[j] for j in links if loops.parents[j] < 0]
            final_values |= initial_or_combined_carries(
                [name for name in carries if all(name in root for root in roots)],
                start,
                products,
                roots,
                suffix,
            )
    for name, formula in final_formulas:
        final_values[name] = evaluate_formula(
            formula, (links_values[loops.on] if loops.on >= 0 else {}) | final_values
        )
    return links_values, {name: final_values[name] for name, _ in final_formulas}


def path_to_link(loops, tip):
    return [*(path_to_link(loops, loops.parents[tip]) if loops.parents[tip] >= 0 else []), tip]


def initial_or_combined_carries(carries, start, products, links, side):
    combined = {}
    for name in carries:
        values = [link[name] for link in links]
        combined[name + side] = (
            (mpmath.fprod(values) if name in products else mpmath.fsum(values))
            if values
            else evaluate_formula(start.get(name + side, "0"), {})
        )
    return combined


def evaluate_formula(formula, names):
    functions = {name: getattr(mpmath, name) for name in ("sin", "cos", "sqrt", "log", "atan2")}
    numbered = re.sub(
        r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", lambda m: f"mpf('{m[0]}')", formula
    )
    return eval(numbered, {"mpf": mpmath.mpf, **functions}, names)


def parse_sweeps(text):
    sweeps, final_formulas, kind = [], [], ""
    for line in text.splitlines():
        if (head := _HEAD.fullmatch(line)) is not None:
            start = dict(
                item.split(" = ")
                for item in (head[4] or "").split(", ")
                if item and not item.startswith("all")
            )
            tip = head[2] or head[3]
            sweeps.append((head[1] == "inward", tip and int(tip), start, {}, [], []))
            kind = ""
        elif line.startswith("after the sweeps"):
            sweeps.append(None)
        elif line.startswith("link constants"):
            continue
        elif sweeps[-1] is None:
            final_formulas.append(line.strip().split(" = "))
        elif line.startswith("  carries: "):
            sweeps[-1][4].extend(line.removeprefix("  carries: ").split(", "))
        elif line.startswith("  multiplied over several children: "):
            sweeps[-1][5].extend(
                line.removeprefix("  multiplied over several children: ").split(", ")
            )
        elif (header := re.fullmatch(r"  (\w+):( no operations)?", line)) is not None:
            kind = header[1]
            sweeps[-1][3][kind] = []
        else:
            sweeps[-1][3].setdefault(kind, []).append(line.strip().split(" = "))
    return [item for item in sweeps if item], final_formulas


def arguments_by_link(robot, program, state):
    """Return the arguments of each link by their names in the printed text."""
    by_link = []
    q = v = 0
    for joint in robot.joints:
        link_arguments = {}
        for port in program.inputs:
            at, size = (q, joint.type.nq) if port.name in ("q", "q_next") else (v, joint.type.nv)
            values = (
                state[port.name][at : at + size] if port.shape else state[port.name]
            )  # a scalar is common to all links
            link_arguments |= (
                {port.name: values[0]}
                if len(values) == 1
                else {f"{port.name}{k}": x for k, x in enumerate(values)}
            )
        by_link.append(link_arguments)
        q, v = q + joint.type.nq, v + joint.type.nv
    return by_link


def elements_of_result(port, links, widths=()):
    """Return the elements of a result: by link, or from the final values."""
    names = [port.name, *(f"{port.name}{k}" for k in range(port.size))]
    if widths:  # each link holds the columns of its joint, row by row; links off the path hold none
        rows = port.shape[0]
        by_link = [[link[name] for name in names if name in link] for link in links]
        return [
            x
            for row in range(rows)
            for elements, width in zip(by_link, widths, strict=True)
            for x in (elements[row * width : (row + 1) * width] or [mpmath.mpf(0)] * width)
        ]
    return [link[name] for link in links for name in names if name in link]


@pytest.mark.slow
@pytest.mark.parametrize("robot", RESULTS)
def test_printed_loops_compute_the_values_of_the_rows(robot):
    mechanism = random_mechanism(6, 1, "tree", joints=KINDS) if robot == "kinds" else load(robot)
    states = draw(mechanism, 1)
    for what in RESULTS[robot]:
        reading = read(mechanism, what, options=FormulaOptions("looped"))
        method = re.match(r"(\w+) by ([\w:]+),", reading.notes[0])
        program = symgen.program(mechanism, method[1], method[2])
        state = {
            name: [mpmath.mpf(float(x)) for x in values[0].ravel()]
            for name, values in states.items()
        }
        with mpmath.workdps(40):
            links, final_values = run_loops(
                reading.written("text"), reading.value, arguments_by_link(mechanism, program, state)
            )
            expected = evaluate(program, state, MP)
            port = next(port for port in program.outputs if port.name == what)
            widths = [joint.type.nv for joint in mechanism.joints]
            elements = (
                elements_of_result(port, links, widths)
                if what == "J"
                else elements_of_result(port, [*links, final_values])
            )
            assert len(elements) == port.size, (what, len(elements), port.size)
            scale = 1 + max(map(abs, expected[what]))
            assert (
                max(abs(x - y) for x, y in zip(elements, expected[what], strict=True))
                < 1e-13 * scale
            ), what


def test_loops_have_named_equations_as_sympy_and_latex():
    loops = symgen.inspect("ur5", "tau", form="looped")
    assert loops.sweeps[1].carry_names[:3] == ("omega_1", "omega_2", "omega_3")
    named = dict(loops.sweeps[1].steps[0].named)
    c, s, along, across, v = (
        sp.Symbol(name, real=True)
        for name in ("cos_alpha", "sin_alpha", "omega_3_p", "omega_2_p", "v")
    )
    assert named["omega_3"] == c * along - s * across + v
    assert r"\text{inward, from the tips; initial carries: all \_c = 0:}" in loops._repr_latex_()
    assert r"\omega_{3,p}" in loops.written("latex")


def test_loops_that_divide_by_zero_are_refused_as_rows_are():
    """A chain whose last link has no mass has no accelerations, in loops or in rows."""
    for form in (None, "looped"):
        with pytest.raises(RequestError, match="divides by"):
            read(point_mass_arm(1, 1, 0), "a", options=FormulaOptions(form))


def test_each_kind_of_joint_is_printed_apart_and_a_trunk_carries_nothing():
    text = read(load("quadruped"), "logdet", options=FormulaOptions("looped")).written("text")
    trunk = text[text.rindex("  free:") :]
    assert "= 0\n" not in trunk
    assert "seen_11 = " not in trunk
    assert "    seen_11 = " in text
    assert r"&\quad\text{revolute}" in read(
        load("scara"), "tau", options=FormulaOptions("looped")
    ).written("latex")


def test_a_robot_with_too_many_joints_for_rows_is_shown_as_loops(monkeypatch):
    monkeypatch.setattr(sys.modules[refuse_many_joints.__module__], "MOST_JOINTS", 60)
    text, notes = render(load("planar_point_mass:61"), "logdet")
    assert "joined = joined_c + log(D_1) + log(m**2)" in text
    assert "61 joints move" in notes[-1]


@pytest.mark.parametrize(
    ("what", "options", "reason"),
    [
        ("P", {}, "P is a quantity of riccati; name a result, such as tau"),
        ("tau[1]", {}, r"the whole of tau; leave out \[...\]"),
        ("tau", {"at": {"q0": 0}}, "--at does not apply"),
        ("tau", {"symbols": "m"}, "--symbols does not apply"),
        ("M", {}, "mass_matrix has no looped form"),
    ],
)
def test_the_refusal_of_a_looped_form_names_its_reason(what, options, reason):
    with pytest.raises(RequestError, match=reason):
        symgen.inspect("ur5", what, form="looped", **options)


def test_looped_c_is_refused_in_favour_of_generate():
    with pytest.raises(RequestError, match="'symgen generate --form looped' writes their C"):
        render(load("ur5"), "tau", format="c", options=FormulaOptions("looped"))


def test_a_result_of_too_many_joints_is_returned_as_loops_in_python_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on the command line: the unrolled form is refused, and the warning says so."""
    monkeypatch.setattr(import_module("symgen.derivation.model.reframe"), "MOST_JOINTS", 5)
    with pytest.warns(symgen.SymgenWarning, match="shown as loops over links") as warnings:
        loops = symgen.inspect("planar_point_mass:9", "tau")
    assert isinstance(loops, Loops)
    assert any("symgen writes rows for at most 5" in str(item.message) for item in warnings)
    with pytest.raises(SymgenError, match="writes rows for at most 5"):
        symgen.inspect("planar_point_mass:9", "tau", form="closed")
    with pytest.raises(SymgenError, match="writes rows for at most 5"):
        symgen.inspect("planar_point_mass:9", "tau[0]")
