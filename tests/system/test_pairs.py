"""Every function in every mode of differentiation with every option: derived, and answered as the self-test needs it.

Nothing is compiled here. `tests/pairs.py` takes the same requests with each pair of options, and compiles and runs their C.
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
"""Modes in which six degrees of freedom take no long time; 'make pairs' has all of them."""


@pytest.mark.parametrize(
    ("words", "modes"),
    [
        ("drives+payload+frames", (*derivatives.MODES,)),
        ("parameters+wrenches+contacts", (*derivatives.MODES,)),
        ("gains", (*derivatives.MODES,)),
        ("free", SHORT),
    ],
)
def test_every_function_in_every_mode_has_an_answer_of_its_own_shape(
    words: str, modes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "STATES", 1)
    chosen = frozenset(words.split("+"))
    # coriolis_matrix and constraint_residual both call their result C, and its shapes are two
    names = [*LOOP_FUNCTIONS, "coriolis_matrix"] if "gains" in chosen else pairs.functions(chosen)
    made = pairs.make(chosen, pairs.requests(chosen, names, modes))
    cases = pairs.cases(chosen, made)
    assert not made.broken, next(iter(made.broken.values()))
    assert all(
        sentence.split("; ")[0].endswith("and the derivative is zero")
        for sentence in made.refused.values()
    ), made.refused
    for case in cases:
        program = made.programs[case.function]
        assert [port.size for port in program.inputs] == [
            len(values) for values in case.arguments
        ], case.function
        assert [port.size for port in program.outputs] == [
            len(values) for values in case.results
        ], case.function
    # where a contact holds a robot of one joint, the answer is zero, and no digit of it is sure
    judged = {case.function for case in cases}
    assert all(
        FUNCTIONS[name].counts("NT") for name in made.programs.keys() - judged - {*PREPARING}
    )


def test_a_derivative_of_the_third_order_is_refused_in_a_sentence() -> None:
    made = pairs.Made({}, {}, {})
    made.programs["coriolis_matrix:hvp"] = build.build_program(
        pairs.robot(frozenset()), "coriolis_matrix:hvp", None, pairs.options(())
    )
    assert not pairs.cases(frozenset(), made)
    assert not made.broken
    assert made.refused["coriolis_matrix:hvp"].startswith(
        "coriolis_matrix:hvp is not judged: coriolis_matrix contains derivatives"
    )


def test_a_choice_that_is_wrong_is_shown_with_what_is_wrong(
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
    alone = [chosen for chosen in pairs.choices() if len(chosen) < 2]
    assert len(alone) == 1 + len(pairs.OPTIONS)


def test_what_was_judged_is_compiled_again_only_where_its_text_or_its_answer_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders: list[set[str]] = []
    report = Report("pair", "double", 1, 60, 1.0, ())
    monkeypatch.setattr(pairs, "functions", lambda chosen: ["bias_force", "jacobian"])
    monkeypatch.setattr(selftest, "STATES", 1)
    monkeypatch.setattr(
        symgen, "generate", lambda robot, folder, wanted, **options: folders.append({*wanted})
    )
    monkeypatch.setattr(pairs, "_self_test", lambda folder: {})
    monkeypatch.setattr(pairs, "verify", lambda folder, states: report)
    judged: set[str] = set()
    for words in ("wrench", "wrench", "wrench+frames", "wrench+drives", "wrench+parameters"):
        pairs.run(frozenset(words.split("+")), judged)
    whole, again, frames, drives, parameters = folders
    of_bias, of_frames = (
        {name for name in whole if name.startswith(function)}
        for function in ("bias_force", "jacobian")
    )
    assert min(len(of_bias), len(of_frames)) > 4
    assert again == {"bias_force", "jacobian"}
    assert frames == of_frames | {"bias_force"}
    for new in (drives, parameters):
        assert {"jacobian", "bias_force:jacobian", "bias_force:jacobian(q)"} <= new
        assert not new & (of_frames - {"jacobian"})


def test_an_answer_that_changed_is_other_content() -> None:
    chosen = frozenset({"loops"})
    made = pairs.make(chosen, ["bias_force", "jacobian", *ASSEMBLING])
    answers = pairs.cases(chosen, made)
    known = pairs.contents(chosen, made, answers)
    assert known == pairs.contents(chosen, made, pairs.cases(chosen, made))
    changed = [replace(answers[0], results=((0.5,),)), *answers[1:]]
    assert {
        name
        for name, content in pairs.contents(chosen, made, changed).items()
        if content != known[name]
    } == {answers[0].function}
