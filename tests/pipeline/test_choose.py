"""Choice of the method and of the form of a function, and the functions that a request names."""

from __future__ import annotations

import logging
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import symgen
from symgen import methods
from symgen.derivation.scalars import Derivation, TooManyRows
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, choose, form, segment_lengths
from symgen.pipeline.derive import polished
from symgen.reference.singularity import RankLoss
from symgen.support.errors import ArgumentError, OutOfReach, RequestError, TooLong, UnknownName
from symgen.vocabulary.functions import ASSEMBLING, BY_DEFAULT, FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.options import LOOPED, UNROLLED, ProgramOptions
from symgen.vocabulary.reals import REALS
from tests.shared.robots_for_tests import of_kind, point_mass_arm, random_mechanism

PLAIN = ProgramOptions()
TURNS = random_mechanism(2, 3)
LOST = RankLoss("joint1", 0.0, 100)


# -- the method ------------------------------------------------------------------------------------


def test_methods_of_a_function_are_those_that_accept_the_robot() -> None:
    able = choose.methods_for(TURNS, "mass_matrix_solve")
    assert "riccati" in able
    assert "fixman:planar" not in able
    assert "fixman:planar" in choose.methods_for(point_mass_arm(1, 2), "mass_matrix_solve")
    assert set(able) <= set(methods.providers("mass_matrix_solve"))
    with pytest.raises(UnknownName):
        choose.methods_for(TURNS, "mass_matrx")


@pytest.mark.usefixtures("polished_here")
@pytest.mark.parametrize("function", ["mass_matrix_solve", "mass_matrix_determinant"])
def test_the_chosen_method_has_the_fewest_operations(function: str) -> None:
    best = choose.best_program(TURNS, function, PLAIN)
    compared = [
        polished(TURNS, function, name, PLAIN)
        for name in choose.methods_for(TURNS, function)
        if not methods.find(name).explicit_only and not methods.find(name).cancels(TURNS)
    ]
    least = min(compared, key=lambda program: (program.cost, program.method))
    assert (best.cost, best.method) == (least.cost, least.method)
    assert best.passed_over == ()
    assert not methods.find(best.method).explicit_only


@pytest.mark.usefixtures("polished_here")
def test_the_log_names_the_operations_of_each_compared_method(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger=choose.cache.LOG.name):
        best = choose.best_program(TURNS, "mass_matrix_solve", PLAIN)
    (text,) = [
        record.getMessage() for record in caplog.records if "fewest operations" in record.msg
    ]
    assert text.startswith(f"mass_matrix_solve by {best.method}, the fewest operations: ")
    candidates = text.partition("operations: ")[2].split(", ")
    names = [candidate.split()[0] for candidate in candidates]
    assert len(names) == len({*names})
    automatic = {
        methods.canonical_name(name, "mass_matrix_solve", TURNS)
        for name in choose.methods_for(TURNS, "mass_matrix_solve")
        if not methods.find(name).explicit_only
    }
    assert {methods.canonical_name(name, "mass_matrix_solve", TURNS) for name in names} == automatic


def by_hand(function: str, quotient: bool) -> Program:
    derivation = Derivation({"q": 2})
    a, b = derivation.inputs["q"]
    result = derivation.divide(a, b) if quotient else a * b
    return derivation.freeze(function, "m", [("y", (), [result])], {"q": (2,)})


def test_only_functions_of_a_singular_matrix_are_judged_by_their_divisions() -> None:
    assert FUNCTIONS["mass_matrix_determinant"].by_pivots
    assert choose.divides_by_pivots(by_hand("mass_matrix_determinant", quotient=True))
    assert not choose.divides_by_pivots(by_hand("mass_matrix_determinant", quotient=False))
    assert not choose.divides_by_pivots(by_hand("mass_matrix_solve", quotient=True))


def test_a_determinant_by_pivots_alone_is_out_of_reach_of_a_singular_robot() -> None:
    chain = random_mechanism(3, 1)
    calls = []

    def loss() -> RankLoss:
        calls.append(1)
        return LOST

    with pytest.raises(
        OutOfReach, match=r"^mass_matrix_determinant of 'random_chain_3' divides by"
    ):
        choose.best_program(chain, "mass_matrix_determinant", PLAIN, loss)
    assert calls
    assert choose.best_program(chain, "mass_matrix_determinant", PLAIN).cost > 0


def test_a_function_beyond_the_row_budget_of_every_method_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose.derive, "ROW_BUDGET", 5)
    chain = replace(TURNS, name="long")
    with pytest.raises(
        TooLong,
        match=r"^mass_matrix of 'long' \(2 joints\) needs more than 5 rows by every method; "
        r"lock joints",
    ):
        choose.best_program(chain, "mass_matrix", PLAIN)


@pytest.mark.parametrize(("joints", "sweeps_first"), [(20, False), (21, True)])
def test_methods_that_cancel_come_last_and_on_long_chains_sweeps_come_first(
    monkeypatch: pytest.MonkeyPatch, joints: int, sweeps_first: bool
) -> None:
    """Names decide among the others. Readings that share a derivation are compared once."""
    tried: list[str] = []

    def refused(mechanism: Mechanism, function: str, method: str, options: Any) -> Any:
        tried.append(method)
        raise TooManyRows("long")

    monkeypatch.setattr(choose, "attempt", refused)
    monkeypatch.setattr(choose, "_has_precision_loss", lambda *_: False)
    chain = random_mechanism(joints, 1)
    with pytest.raises(TooLong):
        choose.best_program(chain, "mass_matrix_solve", PLAIN)
    kinds = [
        (methods.find(name).cancels(chain), sweeps_first and not methods.find(name).sweeps)
        for name in tried
    ]
    assert [*zip(kinds, tried, strict=True)] == sorted(zip(kinds, tried, strict=True))
    assert len({*kinds}) == (4 if sweeps_first else 2)
    names = {methods.canonical_name(name, "mass_matrix_solve", chain) for name in tried}
    assert len(names) == len(tried)


def powers(count: int, method: str) -> Program:
    """Return a Program of this number of multiplications."""
    derivation = Derivation({"q": 1})
    (x,) = derivation.inputs["q"]
    result = x
    for _ in range(count):
        result = result * x
    program = derivation.freeze("mass_matrix_solve", method, [("x", (), [result])], {"q": (1,)})
    assert program.cost == count
    return program


class FiveMethods:
    """Methods a to e, with the operations of their Programs before and after the last passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.early = {"a": 108, "b": 100, "c": 107, "d": 109, "e": 108}
        self.late = {"a": 90, "b": 90, "c": 89, "d": 10, "e": 89}
        self.finished: list[str] = []
        self.limits: list[dict[str, Any]] = []
        any_method = methods.find("riccati")
        monkeypatch.setattr(choose, "methods_for", lambda *_: [*self.early])
        monkeypatch.setattr(choose.methods, "find", lambda name: any_method)
        monkeypatch.setattr(choose.methods, "derivation_for_robot", lambda name, *_: name)
        monkeypatch.setattr(choose, "attempt", self.attempt)
        monkeypatch.setattr(choose, "polished", self.finish)

    def attempt(self, mechanism: Mechanism, function: str, method: str, options: Any) -> Any:
        def program(**limits: Any) -> Program:
            self.limits.append(limits)
            return powers(self.early[method], method)

        return SimpleNamespace(program=program)

    def finish(self, mechanism: Mechanism, function: str, method: str, options: Any) -> Program:
        self.finished.append(method)
        return powers(self.late[method], method)


def test_programs_within_four_percent_and_four_operations_of_the_shortest_are_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1.04 · 100 + 4 is 108. After the last passes the order may change: two methods are the
    shortest then, of which the first by name is used.
    """
    five = FiveMethods(monkeypatch)
    best = choose.best_program(TURNS, "mass_matrix_solve", PLAIN)
    assert five.finished == ["a", "b", "c", "e"]
    assert (best.method, best.cost) == ("c", 89)


def test_a_singular_matrix_is_no_reason_against_methods_without_divisions_by_its_pivots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FiveMethods(monkeypatch)

    def loss() -> RankLoss:
        raise AssertionError("the rank is not needed")

    assert choose.best_program(TURNS, "mass_matrix_determinant", PLAIN, loss).method == "c"


@pytest.mark.usefixtures("polished_here")
def test_a_method_far_above_the_shortest_is_given_up_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first method has no limit; later ones have those of the shortest Program so far: a fifth
    more operations and 70, and a third more rows and 400. A Program of n products has n + 1 rows.
    """
    five = FiveMethods(monkeypatch)
    choose.best_program(TURNS, "mass_matrix_solve", PLAIN)
    asked = [(limit["longest"], limit["dearest"]) for limit in five.limits]
    assert asked == [
        (None, None),
        (400 + 109 * 4 // 3, pytest.approx(70 + 1.2 * 108)),
        *[(400 + 101 * 4 // 3, pytest.approx(70 + 1.2 * 100))] * 3,
    ]


# -- precision -------------------------------------------------------------------------------------


def lever(length: int) -> Mechanism:
    """Return two turning links, of which the second is light and far from the first."""
    arm = random_mechanism(2, 3)
    far = replace(
        arm.joints[1],
        pose=symgen.vocabulary.poses.pose((Fraction(length), Fraction(0), Fraction(0))),
    )
    (part,) = arm.bodies[1].parts
    light = replace(
        part,
        mass=part.mass / 10**6,
        moments=tuple(x / 10**6 for x in part.moments),
    )
    return replace(
        arm,
        joints=(arm.joints[0], far),
        bodies=(arm.bodies[0], replace(arm.bodies[1], parts=(light,))),
    )


def test_terms_of_most_methods_are_not_larger_than_their_result() -> None:
    for name in ("riccati", "composite_body", "newton_euler"):
        assert choose.term_ratio(lever(1000), "mass_matrix_solve", name, PLAIN) == 1.0


def test_methods_of_free_links_lose_digits_of_light_links_far_away() -> None:
    near, far = (
        choose.term_ratio(lever(length), "mass_matrix_solve", "fixman:spatial", PLAIN)
        for length in (1, 1000)
    )
    assert 1 < near < far
    assert far > 1e6


def test_a_precision_loss_grows_with_the_number_of_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Round-offs of the longest chain and of the call itself are multiplied by the ratio of the
    terms.
    """
    judged: list[float] = []

    def loses(round_offs: float, real: str) -> bool:
        judged.append(round_offs)
        return True

    monkeypatch.setattr(choose, "loses", loses)
    ratio = choose.term_ratio(lever(100), "mass_matrix_solve", "fixman:spatial", PLAIN)
    program = replace(by_hand("mass_matrix_solve", quotient=True), method="fixman:spatial")
    assert choose.has_precision_loss(lever(100), program, PLAIN)
    assert judged == [pytest.approx((program.depth + 5) * ratio)]
    # a method without larger terms, and a function that prepares parameters, are not judged
    assert not choose.has_precision_loss(lever(100), replace(program, method="riccati"), PLAIN)
    preparing = replace(program, function=choose.PREPARING[0])
    assert not choose.has_precision_loss(lever(100), preparing, PLAIN)
    assert len(judged) == 1


def test_a_method_with_a_precision_loss_is_chosen_if_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = choose.best_program(TURNS, "mass_matrix_solve", PLAIN)
    monkeypatch.setattr(
        choose,
        "_has_precision_loss",
        lambda mechanism, function, method, options, depth: method == usual.method,
    )
    second = choose.best_program(TURNS, "mass_matrix_solve", PLAIN)
    assert second.method != usual.method
    assert second.cost >= usual.cost
    monkeypatch.setattr(choose, "_has_precision_loss", lambda *_: True)
    assert choose.best_program(TURNS, "mass_matrix_solve", PLAIN).function == "mass_matrix_solve"


# -- the form --------------------------------------------------------------------------------------


def chain_of(links: int) -> Any:
    return SimpleNamespace(nv=links, joints=range(links))


@pytest.mark.parametrize(
    ("links", "groups"),
    [(1, 1), (511, 1), (512, 2), (1023, 2), (1024, 4), (2047, 4), (2048, 8), (10**6, 8)],
)
@pytest.mark.parametrize("real", ["double", "float"])
def test_scanned_parts_are_a_power_of_two_of_lanes(links: int, groups: int, real: str) -> None:
    """Each group has at least 256 links, and there are at most eight."""
    assert form._scanned_parts(chain_of(links), ProgramOptions(real)) == groups * REALS[real].lanes


@pytest.mark.parametrize(
    ("links", "groups"), [(1, 1), (2047, 1), (2048, 2), (3072, 3), (8192, 8), (10**6, 8)]
)
def test_segments_are_a_multiple_of_the_lanes(links: int, groups: int) -> None:
    """Each group has at least 1024 links, and there are at most eight."""
    for real in ("double", "float"):
        assert segment_lengths.segment_count(chain_of(links), real) == groups * REALS[real].lanes


def test_short_robots_are_unrolled_unless_loops_are_requested() -> None:
    for options, unrolled in (
        (PLAIN, [True, False]),
        (ProgramOptions(form=UNROLLED), [True, True]),
        (ProgramOptions(form=LOOPED), [False, False]),
    ):
        assert [form.is_unrolled_only(chain_of(links), options) for links in (60, 61)] == unrolled
    assert form.choose_looped_form(TURNS, "mass_matrix_solve", None, PLAIN) is None


def test_methods_without_an_unrolled_form_state_what_they_compute() -> None:
    arm = point_mass_arm(*[1] * 4)
    for method, function in form.ALONE.items():
        with pytest.raises(
            ArgumentError,
            match=f"method '{method}' does not compute mass_matrix; it computes {function}$",
        ):
            form.choose_looped_form(arm, "mass_matrix", method, PLAIN)
        with pytest.raises(
            OutOfReach,
            match=f"{method} exists only in looped form; use --method {method.split(':')[0]}, or",
        ):
            form.choose_looped_form(arm, function, method, ProgramOptions(form=UNROLLED))
        with pytest.raises(OutOfReach, match="cannot be cut into segments with --payload"):
            form.choose_looped_form(arm, function, method, ProgramOptions(payload="b1"))


def test_a_loop_is_preferred_to_few_rows_only_if_requested() -> None:
    looped = form.build_looped(random_mechanism(4, 1), "link_poses", None, PLAIN)
    assert form.has_unrolled_form(looped)
    assert form.prefers_rows(looped, PLAIN)
    assert not form.prefers_rows(looped, ProgramOptions(form=LOOPED))
    rows: Any = by_hand("link_poses", quotient=False)
    assert not form.has_unrolled_form(rows)
    segments: Any = SimpleNamespace(
        looped=True, method="riccati:segments", outline=SimpleNamespace(length=1)
    )
    assert not form.has_unrolled_form(segments)
    assert not form.prefers_rows(segments, PLAIN)
    for length, few in ((form.ROW_BUDGET, True), (form.ROW_BUDGET + 1, False)):
        loops: Any = SimpleNamespace(
            looped=True, method="riccati", outline=SimpleNamespace(length=length)
        )
        assert form.prefers_rows(loops, PLAIN) == few


def changed(**changes: Any) -> Mechanism:
    return replace(TURNS, **changes)


def test_reasons_against_loops_are_ends_of_a_sentence() -> None:
    (first, second), (body, _) = TURNS.joints, TURNS.bodies
    light = replace(body, parts=tuple(replace(p, gravcomp=Fraction(1, 2)) for p in body.parts))
    ball = of_kind(second, "spherical")
    each = replace(ball, drive=replace(ball.drive, each=(first.drive,) * 3))
    cases: list[tuple[Mechanism, str, ProgramOptions, str | None]] = [
        (TURNS, "inverse_dynamics", PLAIN, None),
        (TURNS, "jacobian", ProgramOptions(frame=("link0", "link1")), "with several frames"),
        (TURNS, "jacobian", ProgramOptions(frame="link0"), None),
        (TURNS, "mass_matrix", ProgramOptions(frame=("link0", "link1")), None),
        (
            TURNS,
            "jacobian",
            ProgramOptions(jacobian_frame="local"),
            "with another --jacobian-frame or --jacobian-order",
        ),
        (TURNS, "mass_matrix", ProgramOptions(jacobian_frame="local"), None),
        (changed(joints=(first, each)), "mass_matrix", PLAIN, "with different drives in one joint"),
        (
            changed(bodies=(light, TURNS.bodies[1])),
            "mass_matrix",
            PLAIN,
            "with gravity compensation (gravcomp)",
        ),
        (TURNS, "mass_matrix:jvp", PLAIN, "yet"),
        (symgen.load("four_bar"), "constraint_jacobian", PLAIN, "yet"),
        (
            symgen.load("four_bar"),
            "constraint_jacobian",
            ProgramOptions(baumgarte=True),
            "yet",
        ),
        (TURNS, "contact_impulse", ProgramOptions(contact="link1"), "with --contact"),
        (TURNS, "gravity_force", ProgramOptions(wrench="link1"), None),
        (TURNS, "bias_force", ProgramOptions(wrench="link1"), "with --wrench"),
    ]
    for mechanism, function, options, reason in cases:
        assert form._reason_not_looped(mechanism, function, options) == reason, (function, reason)


def test_candidates_for_loops_are_ranked_by_cancellation() -> None:
    """Methods that eliminate entry by entry do not recurse; names of a derivation count once."""
    precise, differences = form._candidates(TURNS, "mass_matrix_solve")
    assert "riccati" in precise
    assert "fixman" in differences
    assert not {*precise} & {*differences}
    for name in (*precise, *differences):
        method = methods.find(name)
        assert not method.supports_mimic
        assert not method.explicit_only
        assert method.cancels(TURNS) == (name in differences)
    readings = [
        methods.canonical_name(name, "mass_matrix_solve", TURNS)
        for name in (*precise, *differences)
    ]
    assert len(readings) == len({*readings})
    everyday, none = form._candidates(TURNS, "mass_matrix")
    assert "composite_body" in everyday
    assert none == []


# -- requests --------------------------------------------------------------------------------------


def test_without_names_a_robot_has_all_default_functions() -> None:
    assert [*build.requested(TURNS, None)] == [*BY_DEFAULT]
    closed = build.requested(symgen.load("four_bar"), None)
    assert set(LOOP_FUNCTIONS) <= {*closed}
    assert set(closed.values()) == {None}


def test_functions_that_divide_by_a_singular_matrix_are_left_out() -> None:
    """A tip link without inertia has a mass matrix of rank one, until it carries a payload."""
    empty = changed(bodies=(TURNS.bodies[0], replace(TURNS.bodies[1], parts=())))
    alone, loaded = (build.requested(empty, None, payload) for payload in (None, "link1"))
    assert "inverse_dynamics" in alone
    assert "forward_dynamics" not in alone
    assert "forward_dynamics" in loaded


def test_the_inverse_of_a_long_robot_is_made_on_request() -> None:
    assert "inverse_mass_matrix" in build.requested(random_mechanism(20), None)
    assert "inverse_mass_matrix" not in build.requested(random_mechanism(21), None)
    assert build.requested(random_mechanism(21), ["inverse_mass_matrix"]) == {
        "inverse_mass_matrix": None
    }


def test_a_named_function_may_name_its_method() -> None:
    assert build.requested(TURNS, ["mass_matrix", "forward_dynamics=riccati"]) == {
        "mass_matrix": None,
        "forward_dynamics": "riccati",
    }
    assert build.requested(TURNS, "mass_matrix=") == {"mass_matrix": None}
    assert build.requested(TURNS, ["assemble", "mass_matrix"]) == {
        **dict.fromkeys(ASSEMBLING),
        "mass_matrix": None,
    }
    for word in ("assemble=riccati", "assemble:jvp"):
        with pytest.raises(ArgumentError, match="has no method and no derivative"):
            build.requested(TURNS, [word])
    with pytest.raises(ArgumentError, match="no function is named"):
        build.requested(TURNS, [])
    with pytest.raises(RequestError, match="is an internal equation of derivatives"):
        build.requested(TURNS, [next(iter(build.EQUATIONS))])


def test_the_mass_centre_needs_a_mass() -> None:
    empty = changed(bodies=tuple(replace(body, parts=()) for body in TURNS.bodies))
    sentence = build.refusal(empty, "center_of_mass", None)
    assert sentence is not None
    assert sentence.startswith("center_of_mass of 'random_chain_2' needs the mass centre, and no")
    assert build.refusal(empty, "center_of_mass", "link1") is None
    ground = replace(empty.frames[0], name="ground", body=-1)
    on_ground = replace(empty, frames=(*empty.frames, ground))
    assert build.refusal(on_ground, "center_of_mass", "ground") == sentence
    assert build.refusal(empty, "mass_matrix", None) is None
    assert build.refusal(TURNS, "center_of_mass", None) is None


def test_only_composed_functions_depend_on_the_real_type() -> None:
    float_options = ProgramOptions("float")
    for function, differs in (("step", True), ("step:jvp", True), ("mass_matrix", False)):
        keys = [
            build.program_key(TURNS, function, None, options) for options in (PLAIN, float_options)
        ]
        assert (keys[0] != keys[1]) == differs
        choices = [build._choice_key(TURNS, function, o) for o in (PLAIN, float_options)]
        assert choices[0] != choices[1]
