"""Every function in every mode of differentiation with every option: derivations and expected
results.

No C is compiled here; `tests/pairs.py` compiles and runs the C of the same requests for each pair
of options.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import symgen
from symgen.delivery import selftest
from symgen.pipeline import build
from symgen.verification.report import Report
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLING, FUNCTIONS, LOOP_FUNCTIONS, PREPARING
from tests import pairs

SHORT = ("jvp", "vjp")
"""Modes that are fast for six degrees of freedom; 'make pairs' tests all modes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "modes"),
    [
        ("drives+payload+frames", (*derivatives.MODES,)),
        ("parameters+wrenches+contacts", (*derivatives.MODES,)),
        ("gains", (*derivatives.MODES,)),
        ("free", SHORT),
    ],
)
def test_every_function_in_every_mode_has_expected_results_of_its_shape(
    words: str, modes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "STATES", 1)
    chosen = frozenset(words.split("+"))
    # coriolis_matrix and constraint_residual both name their result C, with different shapes
    names = [*LOOP_FUNCTIONS, "coriolis_matrix"] if "gains" in chosen else pairs.functions(chosen)
    built = pairs.make(chosen, pairs.requests(chosen, names, modes))
    cases = pairs.cases(chosen, built)
    assert not built.broken, next(iter(built.broken.values()))
    assert all(
        sentence.split("; ")[0].endswith("and the derivative is zero")
        for sentence in built.refused.values()
    ), built.refused
    for case in cases:
        program = built.programs[case.function]
        assert [port.size for port in program.inputs] == [
            len(values) for values in case.arguments
        ], case.function
        assert [port.size for port in program.outputs] == [
            len(values) for values in case.results
        ], case.function
    # a contact that holds a robot of one joint makes the result zero, without a certain digit
    judged = {case.function for case in cases}
    assert all(
        FUNCTIONS[name].counts("NT") for name in built.programs.keys() - judged - {*PREPARING}
    )


def test_a_derivative_of_third_order_is_not_judged_and_the_reason_is_given() -> None:
    built = pairs.Made({}, {}, {})
    built.programs["coriolis_matrix:hvp"] = build.build_program(
        pairs.robot(frozenset()), "coriolis_matrix:hvp", None, pairs.options(())
    )
    assert not pairs.cases(frozenset(), built)
    assert not built.broken
    assert built.refused["coriolis_matrix:hvp"].startswith(
        "coriolis_matrix:hvp is not judged: coriolis_matrix contains derivatives"
    )


def test_a_failing_choice_of_options_is_printed_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pairs,
        "run",
        lambda chosen, judged: pairs.Outcome(3, 1, {"mass_matrix": "a fault"} if chosen else {}),
    )
    assert pairs.main(["drives"]) == 1
    assert "mass_matrix: a fault" in capsys.readouterr().out
    assert pairs.main(["drives+colours"]) == 2
    at_most_one = [chosen for chosen in pairs.choices() if len(chosen) < 2]
    assert len(at_most_one) == 1 + len(pairs.OPTIONS)


@pytest.mark.slow
def test_only_functions_with_new_text_or_new_results_are_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders: list[set[str]] = []
    report = Report("pair", "double", 1, 60, 1.0, ())
    monkeypatch.setattr(pairs, "functions", lambda chosen: ["bias_force", "jacobian"])
    monkeypatch.setattr(selftest, "STATES", 1)
    monkeypatch.setattr(
        symgen, "generate", lambda robot, folder, functions, **options: folders.append({*functions})
    )
    monkeypatch.setattr(pairs, "_self_test", lambda folder: {})
    monkeypatch.setattr(pairs, "verify", lambda folder, states: report)
    judged: set[str] = set()
    for words in ("wrench", "wrench", "wrench+frames", "wrench+drives", "wrench+parameters"):
        pairs.run(frozenset(words.split("+")), judged)
    all_names, again, frames, drives, parameters = folders
    of_bias, of_frames = (
        {name for name in all_names if name.startswith(function)}
        for function in ("bias_force", "jacobian")
    )
    assert min(len(of_bias), len(of_frames)) > 4
    assert again == {"bias_force", "jacobian"}
    assert frames == of_frames | {"bias_force"}
    for new in (drives, parameters):
        assert {"jacobian", "bias_force:jacobian", "bias_force:jacobian(q)"} <= new
        assert not new & (of_frames - {"jacobian"})


def test_changed_expected_results_change_the_content_hash() -> None:
    chosen = frozenset({"loops"})
    built = pairs.make(chosen, ["bias_force", "jacobian", *ASSEMBLING])
    expected_cases = pairs.cases(chosen, built)
    contents = pairs.contents(chosen, built, expected_cases)
    assert contents == pairs.contents(chosen, built, pairs.cases(chosen, built))
    changed = [replace(expected_cases[0], results=((0.5,),)), *expected_cases[1:]]
    assert {
        name
        for name, content in pairs.contents(chosen, built, changed).items()
        if content != contents[name]
    } == {expected_cases[0].function}
