"""Facts of functions in C and C++: parameters, sizes, sines, and what their comments say."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from symgen.emission import definition, legend, markdown
from symgen.emission.backends import cpp17
from symgen.emission.c_text import WIDTH, C
from symgen.emission.definition import PrintedFunction
from symgen.emission.ports import cast_array, struct_of, with_forces
from symgen.emission.writer import SincosFunction
from symgen.ir.program import Numbers, Port, Program, Row, evaluate
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary.arrays import Convention, Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.ir.loop_toys import in_elements, in_parts, of_sines
from tests.shared.pass_programs import written
from tests.shared.recursions import TOYS

SIZES = Sizes(7, 6, 5)


def target(trig: str = "libm", checked: bool = False, **facts: object) -> Target:
    options = TextOptions(trig, checked=checked)
    return Target("arm", SIZES, options, **facts)  # type: ignore[arg-type]


def of(
    function: str, inputs: dict[str, tuple[int, ...]], outputs: dict[str, tuple[int, ...]]
) -> Program:
    """Return a Program whose results are all the sum of two elements of the first argument."""
    arguments = tuple(Port(name, shape) for name, shape in inputs.items())
    rows = (Row("input", (), (0, 0)), Row("input", (), (0, 1)), Row("add", (0, 1)))
    results = tuple(
        port._replace(rows=(2,) * port.size)
        for port in (Port(name, shape) for name, shape in outputs.items())
    )
    return Program(function, "riccati", arguments, results, rows)


MASS_MATRIX = of("mass_matrix", {"q": (7,)}, {"M": (6, 6)})
ENERGY = of("kinetic_energy", {"q": (7,), "v": (6,)}, {"T": ()})
POSE = of("forward_kinematics", {"q": (7,)}, {"R": (3, 3), "p": (3,)})


# -- parameters ------------------------------------------------------------------------------------


def test_parameters_are_arguments_and_then_results() -> None:
    facts = definition.prototype(ENERGY, target())
    assert [(p["qualifier"], p["real"], p["name"], p["size"]) for p in facts["parameters"]] == [
        ("const ", "double", "q", "arm_NQ"),
        ("const ", "double", "v", "arm_NV"),
        ("", "double", "T", "1"),
    ]
    assert facts["symbol"] == "arm_kinetic_energy"
    assert (facts["method"], facts["operations"], facts["depth"]) == ("riccati", "1 add", 1)
    assert facts["no_alias"] is False
    assert "quaternions" in facts["parameters"][0]["what"]
    assert "quaternions" not in facts["parameters"][1]["what"]
    with pytest.raises(ArgumentError, match="real is 'half'"):
        definition.prototype(ENERGY.in_real("half"), target())


def test_sizes_have_names_where_the_table_of_functions_has() -> None:
    (_, matrix) = definition.prototype(MASS_MATRIX, target())["parameters"]
    assert matrix["size"] == "arm_NV*arm_NV"
    (_, plain) = definition.prototype(of("mass_matrix", {"q": (7,)}, {"M": (5, 6)}), target())[
        "parameters"
    ]
    assert plain["size"] == "30"
    rotation = definition.prototype(POSE, target())["parameters"][1]
    assert rotation["size"] == "9"
    several = of("forward_kinematics", {"q": (7,)}, {"R": (4, 3, 3), "p": (4, 3)})
    sizes = Target("arm", SIZES._replace(NF=4))
    assert definition.prototype(several, sizes)["parameters"][1]["size"] == "arm_NF*3*3"


def test_names_of_parameters_are_no_macros_keywords_or_each_other() -> None:
    program = of("toy", {"double": (2,), "arm_NV": (1,), "x y": (1,)}, {"x_y": (1,), "sin": (1,)})
    names = definition.parameters(program, target())
    assert names == {
        "double": "double_",
        "arm_NV": "arm_NV_",
        "x y": "x_y",
        "x_y": "x_y_",
        "sin": "sin_",
    }
    assert definition.parameters(program.outline, target()) == names


def test_macros_have_the_name_of_the_robot() -> None:
    macros = definition.macros(target())
    assert {"arm_NQ", "arm_NF", "arm_WORK", "arm_SIN", "arm_API"} <= macros
    assert "arm_OK" not in macros
    assert {"arm_OK", "arm_NOT_UNIT"} <= definition.macros(target(checked=True))


def test_parameters_that_change_at_run_time_are_a_struct() -> None:
    prepared, plain = Port("prepared", (4,)), Port("q", (4,))
    assert struct_of(prepared, "arm") == "arm_prepared"
    assert struct_of(plain, "arm") == ""
    assert cast_array(prepared, "x", "arm") == "(const arm_prepared *)x"
    assert cast_array(plain, "x", "arm") == "x"
    program = of("mass_matrix", {"q": (7,), "prepared": (4,)}, {"M": (6, 6)})
    structs = [p["struct"] for p in definition.prototype(program, target())["parameters"]]
    assert structs == ["", "arm_prepared", ""]
    printed = PrintedFunction(program, target())
    assert printed.structs == ["prepared"]
    assert printed.spelling.inputs == ["q", "prepared->value"]
    assert "value" in printed.reserved_names
    as_arrays = replace(printed, arrays=True)
    assert [p["struct"] for p in definition.function(as_arrays)["parameters"]] == [""] * 3
    assert [p["struct"] for p in definition.function(printed)["parameters"]] == structs
    assert as_arrays.structs == []
    assert as_arrays.spelling.inputs == ["q", "prepared"]
    assert "value" not in as_arrays.reserved_names


def test_arguments_that_no_row_reads_are_unread() -> None:
    printed = PrintedFunction(ENERGY, target())
    assert printed.inputs == ["q", "v"]
    assert printed.unread == ["v"]
    facts = definition.function(printed)
    assert facts["unread"] == ["v"]
    checked = definition.function(PrintedFunction(ENERGY, target(checked=True)))
    assert checked["unread"] == []  # a checked function reads every argument
    assert {"arm_kinetic_energy", "q", "v", "T"} <= printed.reserved_names


def test_results_are_stored_element_by_element() -> None:
    facts = definition.function(PrintedFunction(POSE, target()))
    stores = [(store.name, store.element) for store in facts["stores"]]
    assert stores == [*(("R", k) for k in range(9)), *(("p", k) for k in range(3))]
    assert {store.value for store in facts["stores"]} == {"out_R_0_0"}
    assert facts["checks"] == {}
    checked = definition.function(PrintedFunction(POSE, target(checked=True)))["checks"]
    assert (checked["status"], checked["zero_sum"], checked["zero"]) == ("status", "none", "0.0")


# -- sines -----------------------------------------------------------------------------------------


ANGLES = written("sin(a) * cos(a)", "_s = a + b", "cos(_s)", "sin(cos(c) + a)", "sin(d)")


def test_initial_angles_need_no_other_sine() -> None:
    assert definition.initial_angles(ANGLES) == [[0], [10 + 1], [2], [3]]
    assert definition.angles_together(ANGLES) == [[0], [11], [2], [3]]
    two = written("sin(a)", "cos(b)")
    assert definition.angles_together(two) == [[0], [1]]
    rows = (Row("input", (), (0, 0)),) * 2 + (Row("sin", (0,)), Row("cos", (1,)))
    twice_read = Program("f", "m", (Port("x", (1,)),), (Port("y", (2,), (2, 3)),), rows)
    assert definition.initial_angles(twice_read) == [[0, 1]]
    one_angle = written("sin(a) * cos(a)", "sin(cos(a) + b)")
    assert definition.initial_angles(one_angle) == [[0]]
    assert definition.angles_together(one_angle) == []
    assert definition.initial_angles(written("_unused = sin(a)", "b + c")) == []


def test_the_text_has_sines_of_its_own_where_they_are_asked_for() -> None:
    one_angle, none = written("sin(a) * b"), written("a * b")
    for program, trig, uses in (
        (ANGLES, "inline", True),
        (one_angle, "inline", True),
        (none, "inline", False),
        (written("_unused = sin(a)", "b + c"), "inline", False),
        (ANGLES, "auto", True),
        (one_angle, "auto", False),
        (none, "auto", False),
        (ANGLES, "libm", False),
        (ANGLES, "macro", False),
    ):
        assert definition.uses_sincos(program, target(trig)) == uses, trig
        assert (definition.sincos_function(program, target(trig)) is not None) == uses
    assert definition.sincos_function(ANGLES, target("inline")) == SincosFunction(
        "arm_pair", "arm_sincos"
    )
    together = SincosFunction("arm_turns", "arm_sincos", "arm_ANGLES", 4)
    assert definition.sincos_function(ANGLES, target("auto")) == together
    five = written("sin(a) + sin(b) + sin(c)", "cos(d) + cos(e)")
    function = definition.sincos_function(five, target("auto"))
    assert function is not None
    assert function.angle_count == 6  # whole vectors of two doubles


def test_functions_of_loops_and_parts_use_sines_where_a_step_does() -> None:
    chain = TOYS["chain"]()
    assert definition.uses_sincos(chain, target("inline"))
    assert not definition.uses_sincos(chain, target("libm"))
    assert not definition.uses_sincos(TOYS["sums"](), target("inline"))
    for parts in (in_parts((2, 1)), in_elements(3, 2, 2)):
        assert not definition.uses_sincos(parts, target("inline"))
    assert definition.uses_sincos(of_sines(6, "sin", "cos"), target("auto"))
    assert not definition.uses_sincos(of_sines(1, "sin", "cos"), target("auto"))
    steps = [
        replace(stage, steps=chain.sweeps[0].steps[:1]) if k == 0 else stage
        for k, stage in enumerate(in_parts((2, 1)).stages)
    ]
    with_sines = replace(in_parts((2, 1)), stages=tuple(steps))
    for trig, uses in (("inline", True), ("auto", True), ("libm", False), ("macro", False)):
        assert definition.uses_sincos(with_sines, target(trig)) == uses
    one_link = in_parts((1,))
    (first, *others) = one_link.stages
    short_sweep = replace(first, steps=chain.sweeps[0].steps[:1])  # type: ignore[arg-type]
    of_one = replace(one_link, stages=(short_sweep, *others))
    assert of_one.operations["sin"] == 1
    assert definition.uses_sincos(of_one, target("auto"))


def test_calls_are_those_of_the_real_type_or_macros_of_the_user() -> None:
    assert definition.calls("double", target())["sin"] == "sin"
    assert definition.calls("float", target())["atan2"] == "atan2f"
    macros = definition.calls("float", target("macro"))
    assert (macros["sin"], macros["cos"], macros["sqrt"]) == ("arm_SIN", "arm_COS", "sqrtf")


def test_a_constant_result_that_is_zero_in_the_real_type_is_refused() -> None:
    def printed(value: str, real: str, shape: tuple[int, ...] = ()) -> PrintedFunction:
        rows = (Row("const", (), Fraction(value)),)
        output = Port("det", shape, (0,))
        program = Program("mass_matrix_determinant", "m", (), (output,), rows, real=real)
        return PrintedFunction(program, target())

    argument = Program("f", "m", (Port("x", ()),), (Port("T", (), (0,)),), (ENERGY.rows[0],))
    definition.function(PrintedFunction(argument, target()))
    definition.function(printed("1e-60", "double"))
    definition.function(printed("0", "float"))
    definition.function(printed("1e-60", "float", (1,)))
    with pytest.raises(
        RequestError, match="determinant is a constant of about 1e-60, which is zero in a float"
    ):
        definition.function(printed("1e-60", "float"))
    with pytest.raises(RequestError, match="about 1e-400, which is zero in a double"):
        definition.function(printed("1e-400", "double"))


# -- sentences -------------------------------------------------------------------------------------


def test_sentences_name_the_forces_that_a_function_computes() -> None:
    q, wrench = Port("q", (6,)), Port("wrench", (6,))
    plain, driven = target(), target(forces=" + d v")
    assert with_forces("M a + c", plain, [q]) == "M a + c"
    assert with_forces("M a + c", driven, [q]) == "M a + c; c = C(q,v) v + g(q) + d v"
    assert with_forces("M a + c", plain, [q, wrench]) == (
        "M a + c; c = C(q,v) v + g(q) - J^T wrench"
    )
    assert with_forces("C(q,v) v + g(q)", driven, [q, wrench]) == (
        "C(q,v) v + g(q) + d v - J^T wrench"
    )
    assert with_forces("C v = c - g", driven, [q]) == "C v + g + d v = c"
    assert with_forces("C v = c - g", plain, [q]) == "C v = c - g"
    assert with_forces("tau = Y pi, x", driven, [q]) == "tau = Y pi of the bodies alone, x"
    assert with_forces("tau = Y_base pi_base, x", driven, [q]) == (
        "tau = Y_base pi_base of the bodies alone, x"
    )


def test_sentences_name_the_armature_of_a_mass_matrix() -> None:
    armature = target(armature=True)
    assert with_forces("M(q)", armature, []) == "M(q), with the armature on its diagonal"
    assert with_forces("M(q)", target(), []) == "M(q)"
    assert with_forces("v^T M(q) v", armature, []) == "v^T M(q) v"
    assert with_forces("the joint-space mass matrix", armature, []) == (
        "the joint-space mass matrix, armature on its diagonal"
    )


def with_steps(*headings: str, names: tuple[str, ...] = ()) -> Program:
    rows = (Row("input", (), (0, 0)), *(Row("neg", (0,), None, name) for name in names))
    return replace(MASS_MATRIX, rows=rows, outputs=(Port("M", (1,), (0,)),), steps=headings)


def test_papers_are_cited_by_the_headings_of_steps() -> None:
    facts = legend.legend([with_steps("RK (3.2)", "bias (B4)"), with_steps("by RK and LC 5")])
    assert [text.partition(":")[0] for text in facts["papers"]] == ["RK", "LC", "(B1) ..."]
    assert facts["papers"][0].endswith(legend.PAPERS["RK"])
    assert "The bias force from composite bodies" in facts["papers"][-1]
    assert legend.legend([with_steps("ARKS, (X1), B2")])["papers"] == []


def test_vectors_of_six_are_listed_by_their_convention() -> None:
    jacobian = of("jacobian", {"q": (7,)}, {"J": (6, 6)})
    momentum = of("centroidal_momentum", {"q": (7,), "v": (6,)}, {"h": (6,)})
    facts = legend.legend(iter([jacobian, momentum, jacobian, ENERGY]))
    assert (facts["spatial"], facts["centroidal"]) == (["J", "h"], ["`h`"])
    assert (facts["unusual"], bool(facts["convention"])) == ([], False)
    local = replace(jacobian, convention=Convention("local", "linear"))
    facts = legend.legend([local, momentum])
    assert (facts["spatial"], facts["unusual"]) == (["h"], ["J"])
    assert facts["convention"] == (
        "the linear part first, axes of the frame, at its origin (Pinocchio's LOCAL)"
    )
    assert legend.legend([of("jacobian", {"q": (7,)}, {"J": (3, 7)})])["spatial"] == []


def test_the_first_cosine_of_a_sum_of_angles_is_named() -> None:
    first = with_steps(names=("c_1", "s_1p2", "c_1p2m3", "c_2p3"))
    assert legend.legend([with_steps(), first])["sums"] == "c_1p2m3"
    assert legend.legend([with_steps(names=("c_1", "c_1p"))])["sums"] == ""


# -- Markdown --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("q", "`q`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a`", "`` a` ``"),
        ("a``b", "```a``b```"),
        ("", "`  `"),
        ("a\nb", "`a b`"),
        ("a\\b", "`a/b`"),
    ],
)
def test_a_code_span_has_more_backticks_than_its_text(text: str, span: str) -> None:
    assert markdown.code(text) == span


def test_text_in_markdown_means_itself() -> None:
    assert markdown.cell("a|b") == "`a\\|b`"
    assert markdown.prose("a*b [c] <d> & #e!") == "a\\*b \\[c\\] \\<d\\> \\& \\#e\\!"
    assert markdown.prose("_a b_ c_d") == "\\_a b\\_ c_d"
    assert markdown.prose("WWW.x http://y") == "WWW\\.x http:\\//y"


# -- C++ -------------------------------------------------------------------------------------------


def functions_of(header: str) -> dict[str, str]:
    """Return the body of each function over arrays, by its first line without attributes."""
    pattern = r"arm_LOCAL inline ([^\n]*) noexcept\n\{\n(.*?)\n\}\n"
    return {
        head: " ".join(body.split())
        for head, body in re.findall(pattern, header, re.DOTALL)
        if "span" not in head
    }


ALL = {program.function: program for program in (ENERGY, MASS_MATRIX, POSE)}


def test_a_function_in_cpp_returns_a_number_an_array_or_a_struct() -> None:
    header = cpp17.header(ALL, target())
    assert functions_of(header) == {
        "real kinetic_energy(const std::array<real, NQ> &q, const std::array<real, NV> &v)": (
            "std::array<real, 1> T; ::arm_kinetic_energy(q.data(), v.data(), T.data()); return"
            " T[0];"
        ),
        "std::array<real, NV * NV> mass_matrix(const std::array<real, NQ> &q)": (
            "std::array<real, NV * NV> M; ::arm_mass_matrix(q.data(), M.data()); return M;"
        ),
        "forward_kinematics_results forward_kinematics(const std::array<real, NQ> &q)": (
            "forward_kinematics_results results; ::arm_forward_kinematics(q.data(),"
            " results.R.data(), results.p.data()); return results;"
        ),
    }
    assert "struct forward_kinematics_results" in header
    assert "kinetic_energy_results" not in header
    assert "using real = double;" in header
    assert "// T = v^T M(q) v / 2\n" in header
    assert "// toy\n" in cpp17.header({"toy": of("toy", {"q": (7,)}, {"y": (1,)})}, target())
    floats = {name: program.in_real("float") for name, program in ALL.items()}
    assert "using real = float;" in cpp17.header(floats, target())


def test_a_checked_function_in_cpp_returns_an_outcome() -> None:
    header = cpp17.header(ALL, target(checked=True))
    bodies = functions_of(header)
    assert [head.partition(" ")[0] for head in bodies] == [
        "outcome<real>",
        "outcome<std::array<real,",
        "outcome<forward_kinematics_results>",
    ]
    assert list(bodies.values()) == [
        (
            "outcome<real> found{}; found.status = ::arm_kinetic_energy(q.data(), v.data(), "
            "&found.value); return found;"
        ),
        (
            "outcome<std::array<real, NV * NV>> found{}; found.status = "
            "::arm_mass_matrix(q.data(), found.value.data()); return found;"
        ),
        (
            "outcome<forward_kinematics_results> found{}; found.status ="
            " ::arm_forward_kinematics(q.data(), found.value.R.data(), found.value.p.data());"
            " return found;"
        ),
    ]
    assert "not_finite = arm_NOT_FINITE;" in header


@pytest.mark.parametrize("checked", [False, True])
def test_a_function_of_loops_in_cpp_takes_a_workspace(checked: bool) -> None:
    sums = TOYS["sums"]()
    header = cpp17.header({"gravity_force": sums}, target(checked=checked))
    (head,) = functions_of(header)
    assert "work" in head
    assert ("static_cast<int>(WORK)" in header) == checked
    assert "WORK = arm_WORK;" in header
    assert "WORK" not in cpp17.header(ALL, target())


def test_sizes_in_cpp_are_numbers_where_the_table_has_none() -> None:
    header = cpp17.header({"mass_matrix": of("mass_matrix", {"q": (7,)}, {"M": (5, 6)})}, target())
    assert "std::array<real, 30> M;" in header
    assert "std::array<real, 3> p;" in cpp17.header(ALL, target())


def test_files_of_the_header_have_the_name_of_the_robot() -> None:
    files = cpp17.files(ALL, target())
    assert files == {"arm.hpp": cpp17.header(ALL, target())}


def test_names_of_types_are_no_arguments_in_cpp() -> None:
    program = of("mass_matrix", {"q": (7,), "prepared": (4,)}, {"M": (6, 6)})
    ((head, body),) = functions_of(cpp17.header({"mass_matrix": program}, target())).items()
    assert head.endswith("(const std::array<real, NQ> &q, const ::arm_prepared &prepared_)")
    assert "::arm_mass_matrix(q.data(), &prepared_, M.data())" in body


# -- functions in parts ----------------------------------------------------------------------------


def run_printed(facts: dict[str, Any], inputs: dict[str, list[float]]) -> dict[str, list[float]]:
    """Run the statements of a function in Python, part by part, and return its results.

    A part knows its parameters alone.
    """
    functions = {name: getattr(math, name) for name in ("sin", "cos", "sqrt", "log")}
    functions["fabs"] = abs

    def sincos(angle: Any) -> SimpleNamespace:
        if isinstance(angle, list):
            return SimpleNamespace(sine=[*map(math.sin, angle)], cosine=[*map(math.cos, angle)])
        return SimpleNamespace(sine=math.sin(angle), cosine=math.cos(angle))

    results: dict[str, dict[int, float]] = {}

    def run(groups: Sequence[dict[str, Any]], names: dict[str, Any]) -> None:
        for group in groups:
            for line in group["locals"]:
                name, _, size = line["name"].partition("[")
                assert name not in names
                value = line["value"].replace("{", "[").replace("}", "]") if size else line["value"]
                names[name] = eval(value, {**functions, "arm_sincos": sincos}, names)

    def store(stores: Sequence[Any], names: dict[str, Any]) -> None:
        for item in stores:
            results.setdefault(item.name, {})[item.element] = eval(item.value, functions, names)

    work: list[float] = [math.nan] * (facts["work"]["size"] if facts["parts"] else 0)
    for part in facts["parts"]:
        array = facts["work"]["name"]
        parameters = {p["name"] for p in part["parameters"]}
        names: dict[str, Any] = {name: x for name, x in inputs.items() if name in parameters}
        assert (array in parameters) == bool(part["loads"] or part["saves"])
        if array in parameters:
            names[array] = work
        for load in part["loads"]:
            names[load["name"]] = eval(load["element"], {}, names)
        run(part["groups"], names)
        for save in part["saves"]:
            exec(f"{save['element']} = {save['name']}", {}, names)
        store(part["stores"], names)
        assert {item.name for item in part["stores"]} <= parameters
    names = dict(inputs)
    if facts["parts"]:
        names[facts["work"]["name"]] = work
    run(facts["checked_groups"], names)
    run(facts["groups"], names)
    if facts["checks"]:
        for key in ("divisors", "finite", "ranges"):
            condition = facts["checks"][key].replace("&&", "and").replace("\n", " ")
            assert not condition or eval(condition, functions, names)
    store(facts["stores"], names)
    return {name: [values[k] for k in sorted(values)] for name, values in results.items()}


@pytest.mark.parametrize("part", [None, 1, 3, 7, 100])
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("trig", ["libm", "inline", "auto"])
def test_a_function_in_parts_computes_the_program(
    trig: str, checked: bool, part: int | None
) -> None:
    """Each result has all its bits, and the conditions of a checked function hold."""
    derived = written(
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
        "s",
        "sin(b) - _r / e",
        "cos(_angle)",
    )
    values = {"x": [0.3, -1.7, 2.9, 0.11, -5.3, 7.7, 0.013, -0.7]}
    names_of_robot = target(trig, checked=checked)
    function = definition.sincos_function(derived, names_of_robot)
    facts = definition.function(
        PrintedFunction(derived, names_of_robot, sincos_function=function, part=part)
    )
    numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
    assert run_printed(facts, values) == evaluate(derived, values, numbers)
    assert bool(facts["parts"]) == (part is not None)
    assert facts["uses_sincos"] == (trig != "libm")
    assert ("angle[" in str(facts)) == (trig == "auto")
    assert facts["angles"] == (4 if trig == "auto" else 0)
    symbols = [p["symbol"] for p in facts["parts"]]
    assert symbols == [f"arm_f_part_{k}" for k in range(1, len(symbols) + 1)]
    assert facts["first_part_count"] <= len(symbols)
    if part and part < 100:
        assert len(symbols) > 1
    for each in facts["parts"]:
        for parameter in each["parameters"]:
            written_to = {"y": True, facts["work"]["name"]: bool(each["saves"])}
            is_written = written_to.get(parameter["name"], False)
            assert parameter["qualifier"] == ("" if is_written else "const ")


def test_sines_are_locals_only_in_parts() -> None:
    derived = written("sin(a) * b + cos(c)")
    for part, count in ((None, 1), (100, 3)):
        facts = definition.function(PrintedFunction(derived, target(), part=part))
        groups = [g for each in (facts, *facts["parts"]) for g in each["groups"]]
        assert sum(len(group["locals"]) for group in groups) == count


@pytest.mark.parametrize(
    ("checked", "part", "indent"), [(False, None, 0), (True, None, 4), (True, 100, 0)]
)
def test_statements_of_a_checked_function_are_indented(
    checked: bool, part: int | None, indent: int
) -> None:
    """They stand in a block, so that a line has four columns less."""
    text = " + ".join(f"x[{k}]" for k in range(8))
    for length in range(30, 60):
        name = "n" * length
        derived = written(f"{name} = {' + '.join('abcdefgh')}", name)
        facts = definition.function(PrintedFunction(derived, target(checked=checked), part=part))
        groups = [g for each in (facts, *facts["parts"]) for g in each["groups"]]
        lines = sum(len(group["locals"]) for group in groups)
        fits = len(C.declared("double", name, text)) <= WIDTH - indent
        assert (lines == 1) == fits


def test_angles_are_checked_before_the_other_parts() -> None:
    """The angles c + d and a are known after the first parts, without the sines of later angles."""
    derived = written("t = sin(c + d) * cos(a)", "u = t * e - f", "u * u + g", "t / u")
    names_of_robot = target("inline", checked=True)
    function = definition.sincos_function(derived, names_of_robot)
    facts = definition.function(
        PrintedFunction(derived, names_of_robot, sincos_function=function, part=1)
    )
    first = facts["parts"][: facts["first_part_count"]]
    names = [line["name"] for part in first for g in part["groups"] for line in g["locals"]]
    assert "t1" in names
    assert not {"u", "t"} & set(names)
    assert facts["checks"]["ranges"].count("fabs(") == 2
