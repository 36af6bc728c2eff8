"""Regularity of mass matrices: chains of any length are decided, and too few digits are never
called singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import flint
import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.certificate.samples import Samples
from symgen.derivation import constants
from symgen.derivation.constants import PrecisionLoss
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.pipeline import build, choose, derive
from symgen.pipeline.request import Request
from symgen.reference import singularity
from symgen.reference.adaptive_precision import evaluate_adaptively
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, TooFewDigits, arb
from symgen.reference.singularity import RankLoss, find_rank_loss, pivots
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import dynamics as elimination
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Angle, Turn, pose
from tests.shared.robots_for_tests import ONE_DEGREE, random_mechanism, robot, states


@pytest.mark.parametrize("name", ["panda", "scara", "chain9", "tree5", "prismatic_revolute"])
def test_the_recursion_gives_the_pivots_of_the_elimination_and_the_diagonal(name: str) -> None:
    reference, q = Reference(robot(name), FLOAT), states(name, 3)["q"]
    recursion_pivots = list(pivots(reference, q))
    assert [pivot.dof for pivot in recursion_pivots] == list(reversed(range(robot(name).nv)))
    for state, matrix in enumerate(reference.mass_matrix(q)):
        free, locked, spread = (
            np.array([pivot[i][state] for pivot in reversed(recursion_pivots)]) for i in (1, 2, 3)
        )
        # two orders of summation of the same terms in doubles
        assert np.allclose(free, elimination.pivots(matrix), rtol=1e-10)
        assert np.allclose(locked, np.diagonal(matrix), rtol=1e-12)
        assert (locked <= spread * (1 + 1e-12)).all()


@cache
def long_chain(n: int = 120) -> Mechanism:
    return random_mechanism(n, 1, joints=ONE_DEGREE)


@pytest.mark.parametrize("name", ["planar_point_mass:300"])
def test_a_long_chain_is_regular(name: str) -> None:
    assert find_rank_loss(symgen.load(name)) is None


def test_a_long_general_chain_is_regular_with_a_payload_as_well() -> None:
    assert find_rank_loss(long_chain(170)) is None
    assert find_rank_loss(long_chain(170), payload="link169") is None


def coaxial(chain: Mechanism, k: int, mass: Fraction) -> Mechanism:
    """Joint k + 1 turns about the axis of joint k; the link between them has next to nothing."""
    turning = replace(chain.joints[k], kind="revolute", parameters=())
    joints = (
        *chain.joints[:k],
        turning,
        replace(
            turning,
            name=chain.joints[k + 1].name,
            parent=k,
            pose=(Turn(turning.axis, Angle(Fraction(7, 10))),),
        ),
        *chain.joints[k + 2 :],
    )
    light_parts = tuple(
        replace(part, mass=mass, moments=(mass, Fraction(0), Fraction(0), mass, Fraction(0), mass))
        for part in chain.bodies[k].parts
    )
    bodies = (
        *chain.bodies[:k],
        Body(chain.bodies[k].name, light_parts if mass else ()),
        *chain.bodies[k + 1 :],
    )
    return replace(chain, joints=joints, bodies=bodies)


def test_a_joint_that_another_one_undoes_is_named_in_the_middle_of_a_long_chain() -> None:
    loss = find_rank_loss(coaxial(long_chain(), 60, Fraction(0)))
    assert loss is not None
    assert (loss.joint, loss.pivot_ratio) == ("joint60", 0)
    assert "which is singular: joint 'joint60' moves no inertia" in loss.sentence


def test_an_inertia_that_no_double_can_resolve_is_not_called_zero() -> None:
    loss = find_rank_loss(coaxial(random_mechanism(4, 1), 1, Fraction(1, 10**30)))
    assert loss is not None
    assert loss.joint == "joint1"
    assert loss.pivot_ratio is not None
    assert 0 < loss.pivot_ratio < 1e-20
    assert "singular to every real type" in loss.sentence
    assert find_rank_loss(coaxial(random_mechanism(4, 1), 1, Fraction(1, 10**6))) is None


@pytest.mark.slow
def test_too_few_digits_are_not_called_singular(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        singularity, "_bounds_prove_regular", lambda mechanism, payload: False
    )  # the proof without balls is disabled
    monkeypatch.setattr(singularity, "DIGITS", -130)  # with the digits a joint: 20 for 120 joints
    assert find_rank_loss(long_chain()) is None  # doubled until they are enough
    monkeypatch.setattr(singularity, "DOUBLINGS", 0)
    loss = find_rank_loss(long_chain())
    assert loss is not None
    assert loss.pivot_ratio is None
    assert "20 digits do not decide" in loss.sentence
    assert "singular" not in loss.sentence


def test_a_pivot_that_digits_do_not_decide_is_reported_before_a_small_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the largest pivot is reported, which is nearest to a regular matrix."""
    arm = random_mechanism(3, 1)
    first, *_, last = (joint.name for joint in arm.joints)
    for losses, expected in (
        ([(first, 0.25), (last, None)], (last, None)),
        ([(last, None), (first, None)], (first, None)),
        ([(first, 0.25), (last, 0.5)], (last, 0.5)),
    ):
        by_state = iter([RankLoss(*loss, 50) for loss in losses])
        monkeypatch.setattr(singularity, "STATES", len(losses))
        monkeypatch.setattr(singularity, "DOUBLINGS", 0)
        monkeypatch.setattr(singularity, "_loss_at", lambda *_, losses=by_state: next(losses))
        loss = singularity._rank_loss_from_pivots(arm, None)
        assert loss is not None
        assert (loss.joint, loss.pivot_ratio) == expected


def test_a_refusal_says_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = symgen.load("planar_arm")
    monkeypatch.setattr(build, "rank_loss", lambda mechanism, payload: RankLoss("elbow", None, 99))
    with pytest.raises(
        RequestError,
        match=r"^forward_dynamics of 'planar_arm' divides by the mass matrix, and 99 digits ",
    ):
        symgen.program(
            replace(arm, gravity=(Fraction(1), Fraction(2), Fraction(3))), "forward_dynamics"
        )


def test_exact_results_take_the_digits_that_they_need() -> None:
    chain = random_mechanism(12, 1)
    few, many = (ExactResults(chain, 1, working=digits) for digits in (10, 120))
    (a,), (b,) = (exact_results.results("forward_dynamics")["a"] for exact_results in (few, many))
    assert max(x.rad() for x in a) < 1e-40
    assert all(x.overlaps(y) for x, y in zip(a, b, strict=True))
    with pytest.raises(TooFewDigits, match="do not decide whether the matrix is invertible"):
        Reference(chain, arb(3)).evaluate("inverse_mass_matrix", {"q": few.states["q"]})
    lost = replace(chain, bodies=(*chain.bodies[:-1], Body("link11")))
    with pytest.raises(TooFewDigits):
        evaluate_adaptively(
            Reference(lost, arb(20)), 20, "inverse_mass_matrix", {"q": few.states["q"]}, 15
        )


@cache
def hair_turned() -> Mechanism:
    """A turn of 5.8e-66 rad, as real files have them: of what is left of it in a sum, 120 digits
    keep fewer than 64.
    """
    chain = random_mechanism(3, 2, general=False)
    shift = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10))
    turned = pose(shift, (Angle(Fraction("5.77686e-66")), Angle(Fraction("0.3")), Angle()))
    return replace(
        chain, joints=(chain.joints[0], replace(chain.joints[1], pose=turned), chain.joints[2])
    )


@pytest.mark.parametrize("method", ["udut", "fixman:spatial"])
def test_a_derivation_that_loses_digits_is_done_again_with_more(method: str) -> None:
    program = symgen.program(hair_turned(), "mass_matrix_solve", method)
    assert symgen.verify(
        hair_turned(), [f"mass_matrix_solve={method}"], states=1, compiled=False
    ).passed
    assert program.passed_over == ()


@pytest.mark.slow
def test_a_method_that_loses_its_digits_is_passed_over_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "DOUBLINGS", 0)
    providers = choose.methods_for
    chain = replace(hair_turned(), name="hair")
    program = symgen.program(chain, "mass_matrix_solve")
    assert program.method == "composite_body"
    assert dict(program.passed_over)["udut"].startswith(
        "mass_matrix_solve of 'hair' by udut, link 2 (link1): "
    )
    with pytest.raises(
        PrecisionLoss,
        match=r"by udut, link 2 \(link1\): .*numbers .* differ so much in size that 120 digits",
    ):
        symgen.program(chain, "mass_matrix_solve", "udut")
    monkeypatch.setattr(choose, "methods_for", lambda mechanism, function: ("udut",))
    renamed = replace(chain, name="other")
    with pytest.raises(OutOfReach, match=r"link 2 \(link1\)"):
        symgen.program(renamed, "mass_matrix_solve")
    monkeypatch.setattr(
        choose,
        "methods_for",
        lambda mechanism, function: (
            ("udut",) if function == "mass_matrix_solve" else providers(mechanism, function)
        ),
    )
    programs, refused = build.programs_and_refusals(
        Request(renamed)
    )  # the rest of the robot is made all the same
    assert "mass_matrix_solve" in refused
    assert "mass_matrix" in programs


def test_a_ball_too_wide_to_tell_is_no_zero_of_the_elimination() -> None:
    arm = symgen.load("planar_arm")
    samples = Samples.at_random_states(
        arm, symgen.program(arm, "forward_dynamics"), ProgramOptions()
    )
    wide, narrow = flint.arb(0, 1e-20), flint.arb(0, 1e-60)
    assert samples.is_zero((narrow,) * 3)
    assert not samples.is_zero((narrow, wide, narrow))
    assert arm.longest == 2


@pytest.mark.slow
def test_what_is_too_long_is_left_out_with_the_sentence_where_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As forward dynamics of a general chain of 120 joints is; the budget is lowered so that a
    short chain shows it.
    """
    chain = replace(random_mechanism(4, 5), name="long_one")
    monkeypatch.setattr(derive, "ROW_BUDGET", 600)
    programs, long = build.programs_and_refusals(Request(chain))
    assert "forward_dynamics" in long
    assert "inverse_dynamics" in programs
    folder = tmp_path / "c"
    manifest = symgen.generate(chain, folder)
    assert set(manifest["functions"]) == set(programs)
    (entry,) = (
        entry
        for entry in manifest["not_modelled"]
        if "forward_dynamics" in entry.get("functions", ())
    )
    assert "needs more than 600 rows" in entry["text"]
    assert "needs more than 600 rows" in (folder / "README.md").read_text(encoding="utf-8")
    assert cli.main(["generate", str(folder / "long_one.toml"), "-o", str(tmp_path / "d")]) == 0
    error_output = capsys.readouterr().err
    assert (
        "left out: forward_dynamics of 'long_one' (4 joints) needs more than 600 rows"
        in error_output
    )
    with pytest.raises(OutOfReach, match="more than 600 rows by every method"):
        symgen.generate(chain, folder, ["forward_dynamics"])
    monkeypatch.setattr(derive, "ROW_BUDGET", 1)
    with pytest.raises(OutOfReach):
        symgen.generate(replace(chain, name="longer"), folder)


def test_a_derivation_keeps_its_own_budget_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of 256 links are derived so, to see how deep they are."""
    monkeypatch.setattr(derive, "ROW_BUDGET", 10)
    programs = derive.derive(
        robot("scara"), "forward_dynamics", "riccati", ProgramOptions(), budget=1000
    )
    assert 10 < len(programs.rows) < 1000


@pytest.mark.parametrize(
    "ask",
    [
        lambda out: symgen.generate("planar_arm", out, []),
        lambda out: symgen.compile("planar_arm", []),
        lambda out: symgen.verify("planar_arm", iter([])),
    ],
    ids=["generate", "compile", "verify"],
)
def test_an_empty_list_of_functions_is_refused(
    ask: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(ArgumentError, match="no function is named"):
        ask(tmp_path / "c")
    assert not list(tmp_path.iterdir())
