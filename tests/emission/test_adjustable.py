"""Files for run-time parameters and for closing loops: fields, statuses, numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symgen.emission import adjustable, assembling
from symgen.emission.adjustable import Parameter
from symgen.ir.program import Port, Program
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLING, JUDGE, REGROUP
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target

PARAMETERS = (
    Parameter(("link 1", "mass"), "mass of link 1 (kg)", (Fraction(5, 2),)),
    Parameter(("link 1", "mass"), "mass of another link 1 (kg)", (Fraction(1),)),
    Parameter(("gravity",), "gravity (m/s²)", (Fraction(0), Fraction(0), Fraction("-9.81"))),
)


def of(function: str, *results: Port, real: str = "double") -> Program:
    return Program(function, "m", (), results, (), real=real)


def target(checked: bool = False) -> Target:
    return Target("arm", Sizes(2, 2, 2), TextOptions(checked=checked))


def test_fields_have_the_numbers_of_their_parameters_in_order() -> None:
    fields = adjustable._fields(PARAMETERS, "double")
    assert [(field["name"], field["size"], field["single"]) for field in fields] == [
        ("link_1_mass", "", True),
        ("link_1_mass_", "", True),
        ("gravity", "[3]", False),
    ]
    copies = [(copy["index"], copy["field"]) for field in fields for copy in field["copies"]]
    assert copies == [
        (0, "link_1_mass"),
        (1, "link_1_mass_"),
        (2, "gravity[0]"),
        (3, "gravity[1]"),
        (4, "gravity[2]"),
    ]
    assert [field["defaults"] for field in fields] == [["2.5"], ["1.0"], ["0.0", "0.0", "-9.81"]]
    assert fields[2]["what"] == "gravity (m/s^2)"
    assert adjustable._fields(PARAMETERS[:1], "float")[0]["defaults"] == ["2.5f"]
    two = Parameter(("range",), "two numbers", (Fraction(1), Fraction(2)))
    (field,) = adjustable._fields([two], "double")
    assert (field["size"], field["single"]) == ("[2]", False)
    assert [copy["field"] for copy in field["copies"]] == ["range[0]", "range[1]"]


def test_the_first_number_has_the_name_of_its_field() -> None:
    assert adjustable.first(PARAMETERS) == "link_1_mass"
    assert adjustable.first(PARAMETERS[2:]) == "gravity[0]"
    assert adjustable.first([]) == ""


@pytest.mark.parametrize(
    ("judged", "carried", "checked", "names"),
    [
        (None, None, False, ["OK", "NOT_FINITE"]),
        (3, 0, False, ["OK", "NOT_FINITE", "NO_BODY"]),
        (0, 2, False, ["OK", "NOT_FINITE", "NOTHING_MOVES"]),
        (3, 2, True, ["OK", "NOT_FINITE", "NO_BODY", "NOTHING_MOVES", "REFUSED"]),
        (None, None, True, ["OK", "NOT_FINITE", "REFUSED"]),
    ],
)
def test_statuses_are_those_that_parameters_can_cause(
    judged: int | None, carried: int | None, checked: bool, names: list[str]
) -> None:
    programs = {REGROUP: of(REGROUP, Port("prepared", (4,)))}
    if judged is not None and carried is not None:
        programs[JUDGE] = of(JUDGE, Port("judged", (judged,)), Port("carried", (carried,)))
    statuses = adjustable.statuses(programs, target(checked))
    assert [status["name"] for status in statuses] == names
    for status in statuses:
        assert [*adjustable.STATUSES][status["value"]] == status["name"]
        assert adjustable.STATUSES[status["name"]] == status["what"]


def test_files_of_parameters_have_the_name_of_the_robot() -> None:
    programs = {REGROUP: of(REGROUP, Port("prepared", (4,)))}
    files = adjustable.files(PARAMETERS, programs, target())
    assert set(files) == {"arm_parameters.h", "arm_set_parameters.c"}
    assert "link_1_mass" in files["arm_parameters.h"]
    assert "judge_parameters" not in files["arm_set_parameters.c"]
    programs[JUDGE] = of(JUDGE, Port("judged", (3,)), Port("carried", (0,)))
    assert (
        "judge_parameters"
        in adjustable.files(PARAMETERS, programs, target())["arm_set_parameters.c"]
    )


# -- closing loops ---------------------------------------------------------------------------------


def assembling_programs(real: str = "double") -> dict[str, Program]:
    step, move = ASSEMBLING
    return {
        step: of(step, Port("dq", (3,)), Port("residual", (5,)), real=real),
        move: of(move, Port("q_next", (3,)), real=real),
    }


def test_a_driver_needs_both_of_its_functions() -> None:
    programs = assembling_programs()
    assert assembling.assembles(programs)
    assert set(assembling.files(programs, target())) == {"arm_assemble.h", "arm_assemble.c"}
    for name in ASSEMBLING:
        fewer = {key: program for key, program in programs.items() if key != name}
        assert not assembling.assembles(fewer)
        assert assembling.files(fewer, target()) == {}
        assert assembling.facts(fewer) == {}


@pytest.mark.parametrize(("real", "eps"), [("double", 2.0**-52), ("float", 2.0**-23)])
def test_numbers_of_the_driver_are_those_of_the_real_type(real: str, eps: float) -> None:
    context = assembling._context(assembling_programs(real), target())
    facts = assembling.facts(assembling_programs(real))
    suffix = {"double": "", "float": "f"}[real]
    numbers = {
        key: float(context[key].removesuffix(suffix or "d"))
        for key in (
            "damping_factor",
            "least_damping",
            "longest_step",
            "gain",
            "zero",
            "one",
            "tolerance",
        )
    }
    least, factor = numbers["least_damping"], numbers["damping_factor"]
    assert least == pytest.approx(assembling.LEAST_DAMPING * eps, rel=1e-6)
    assert 0 == numbers["zero"] < least < factor < numbers["one"] == 1
    assert 0 < numbers["gain"] < 1
    assert numbers["tolerance"] == pytest.approx(facts["tolerance"], rel=1e-6)
    assert numbers["tolerance"] > 50 * eps
    assert (context["rows"], context["most_steps"], context["real"]) == (
        5,
        assembling.MOST_STEPS,
        real,
    )
    assert (context["step_symbol"], context["integrate_symbol"]) == (
        "arm_assembly_step",
        "arm_integrate",
    )
    assert context["fabs"] == f"fabs{suffix}"
    statuses = {status["name"]: status["value"] for status in facts["statuses"]}
    assert statuses == assembling.STATUSES
    assert all(status["what"] for status in context["statuses"])
