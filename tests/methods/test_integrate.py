"""q ⊕ v dt: against power series, against Pinocchio, at rest, and after whole turns; what it costs; and errors planted in it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen.certificate.divisors import floors
from symgen.certificate.sum_of_squares import bounded_shares, positive_bounds
from symgen.ir.program import Program, Row, check
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import draw_states
from symgen.verification.proof import prove, prove_programs
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from tests.adversary import _newton_euler
from tests.shared.robots_for_tests import of_kind, random_mechanism, run
from tests.shared.turning_robots import ALL, BALLS, TURNING, planted, tree_of

SPANS = ("0", "1e-30", "1e-12", "1e-4", "0.3", "3.1415926", "3.2", "40", "-7")
"""Times for a velocity of about 1: nothing, what round-off would swallow, half turns from both sides, and many turns."""


@cache
def program(*of: str) -> Program:
    return symgen.program(tree_of(*of), "integrate")


def at(mechanism: Mechanism, span: str) -> dict[str, Array]:
    """States with the time `span` (s), exact."""
    drawn = draw_states(mechanism, 4, seed=5)
    return {"q": drawn["q"], "v": drawn["v"], "dt": np.array([Fraction(span)] * 4, dtype=object)}


@pytest.mark.parametrize("span", SPANS)
def test_it_is_the_exponential_map_at_any_angle(span: str) -> None:
    """To 44 digits where what is added to the square of the angle counts, which is far behind those of a double."""
    given = {name: BALLS.array(values) for name, values in at(tree_of(*ALL), span).items()}
    ours = run(program(*ALL), given, BALLS)["q_next"]
    with BALLS.working():
        missed = np.abs(
            ours - Reference(tree_of(*ALL), BALLS).evaluate("integrate", given)["q_next"]
        )
        assert max(float(one.upper()) for one in missed.ravel()) < 2.0**-150 * (
            1 + abs(float(span))
        )


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("span", SPANS)
def test_the_compiled_c_is_as_near_as_its_sizes_say(span: str, real: str) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    solver = _solver(real)
    given = {
        name: values.astype(float).astype(kind) for name, values in at(mechanism, span).items()
    }
    ours = solver.integrate(given["q"], given["v"], given["dt"])
    exact = Reference(mechanism, BALLS).evaluate(
        "integrate", {name: BALLS.array(x.astype(float)) for name, x in given.items()}
    )
    missed = np.abs(ours - exact["q_next"].astype(float))
    truth = Truth(mechanism, 4, 5)
    truth.floats |= {name: values.astype(float) for name, values in given.items()}
    assert np.isfinite(ours).all()
    assert (missed <= 8 * REALS[real].eps * truth.scales.of("integrate", "q_next")).all()


@cache
def _solver(real: str) -> Any:
    return symgen.compile(tree_of(*ALL), ["integrate"], real=real, optimize=0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_at_rest_and_in_no_time_nothing_moves_to_the_last_bit(real: str) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    q, v = (draw_states(mechanism, 8)[name].astype(kind) for name in ("q", "v"))
    for speed, dt in ((v, 0.0), (0 * v, 0.25), (0 * v, 0.0)):
        assert (_solver(real).integrate(q, speed, np.array(dt, kind)) == q).all()


def test_a_scalar_argument_is_one_number_a_state() -> None:
    mechanism, solver = tree_of(*ALL), _solver("double")
    given = {name: values.astype(float) for name, values in draw_states(mechanism, 5).items()}
    together = solver.integrate(given["q"], given["v"], given["dt"])
    for k in range(5):
        for dt in (given["dt"][k], float(given["dt"][k]), given["dt"][k, ...]):
            assert (solver.integrate(given["q"][k], given["v"][k], dt) == together[k]).all()
    assert (
        solver.integrate(given["q"], given["v"], 0.1)
        == solver.integrate(given["q"], given["v"], np.full(5, 0.1))
    ).all()


@pytest.mark.parametrize("kind", kinds())
def test_pinocchio_takes_the_same_step(kind: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of(kind)
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    for span in SPANS:
        given = {name: values.astype(float) for name, values in at(mechanism, span).items()}
        ours = run(program(kind), given)["q_next"]
        for k in range(4):
            word = pinocchio_answers.Word(
                model, {name: values[k] for name, values in given.items()}
            )
            assert pinocchio_answers.ERRORS["integrate"]({"q_next": ours[k]}, word) < 2e-14, (
                span,
                k,
            )


@pytest.mark.parametrize("kind", kinds())
def test_its_slope_is_what_the_columns_of_the_joint_are_made_of(kind: str) -> None:
    """d/dt of `advanced` at dt = 0 is that of `moved`, which SymPy differentiates for H."""
    joint, h = joint_type(kind), Fraction(1, 10**30)
    numbers = [sp.Rational(k + 2, 7) for k in range(joint.nq + joint.nv)]
    q, v = numbers[: joint.nq], numbers[joint.nq :]
    linear = [
        sp.N(one, 90)
        for one in joint.integrate_first_order(
            q, [one * sp.Rational(1, h.denominator) for one in v]
        )
    ]
    flat = {
        name: BALLS.array([[Fraction(int(one.p), int(one.q)) for one in part]])
        for name, part in (("q", q), ("v", v))
    }
    with BALLS.working():
        up, down = (
            run(program(kind), flat | {"dt": BALLS.array([s])}, BALLS)["q_next"][0] for s in (h, -h)
        )
        for one, two, moved, x in zip(up, down, linear, flat["q"][0], strict=True):
            assert abs(float((one - two) / 2 - (flint.arb(str(moved)) - x))) < 1e-25 * h


def test_what_it_costs() -> None:
    """mul + add + div with sqrt, sin and cos: a rate takes a product and a sum, a free body one root, one sine and one cosine."""
    found = {kind: (program(kind).cost, program(kind).operations) for kind in ALL}
    assert {kind: cost for kind, (cost, _) in found.items() if joint_type(kind).along is None} == {
        kind: 2 * joint_type(kind).nq for kind in ALL if joint_type(kind).along is None
    }
    assert {
        kind: (cost, *(ops[op] for op in ("div", "sqrt", "sin", "cos")))
        for kind, (cost, ops) in found.items()
        if kind in TURNING
    } == {"free": (115, 1, 1, 1, 1), "planar": (21, 1, 1, 2, 1), "spherical": (43, 1, 1, 1, 1)}
    assert all("log" not in ops for _, ops in found.values())


# -- nothing is divided by zero ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_divisor_has_a_floor_that_needs_no_range(real: str) -> None:
    mechanism, own = tree_of(*ALL), replace(program(*ALL), real=real)
    found = floors(mechanism, own, ProgramOptions(real))
    assert len(found) == 6  # of three types a square and its root
    assert all(one.certified and one.joint is None and one.lost == 0 for one in found)
    for one in found:
        assert own.rows[one.row].op in ("add", "sqrt")
        assert one.floor is not None
        assert (
            0 < Fraction(2) ** -90 - one.floor < Fraction(2) ** -105
            or 0 <= Fraction(2) ** -45 - one.floor < Fraction(2) ** -60
        )
    still = {"q": np.zeros((1, mechanism.nq)), "v": np.zeros((1, mechanism.nv)), "dt": np.zeros(1)}
    still["q"][:, [first + 3 for first in mechanism.quaternions]] = 1
    port = own.outputs[0]._replace(
        name="divisors", shape=(6,), rows=tuple(one.row for one in found)
    )
    seen = run(replace(own, outputs=(port,)), still)["divisors"][0]
    assert [float(x) for x in seen] == [
        2.0**-45 if own.rows[one.row].op == "sqrt" else 2.0**-90 for one in found
    ]


def _rows(*rows: Row) -> Program:
    return check(
        replace(
            program("revolute"),
            rows=(Row("input", (), (0, 0)), *rows),
            outputs=(program("revolute").outputs[0]._replace(rows=(len(rows),)),),
        )
    )


@pytest.mark.parametrize(
    ("rows", "bound"),
    [
        ((Row("mul", (0, 0)), Row("const", (), Fraction(3)), Row("add", (1, 2))), 3),
        (
            (
                Row("mul", (0, 0)),
                Row("const", (), Fraction(9)),
                Row("add", (1, 2)),
                Row("sqrt", (3,)),
            ),
            3,
        ),
        (
            (
                Row("mul", (0, 0)),
                Row("const", (), Fraction(2)),
                Row("add", (1, 2)),
                Row("sqrt", (3,)),
            ),
            None,
        ),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(3)), Row("sub", (1, 2))), 0),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(-3)), Row("add", (1, 2))), 0),
        ((Row("const", (), Fraction(3)), Row("add", (0, 1))), 0),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(1, 2**1074)), Row("add", (1, 2))), 0),
        ((Row("const", (), Fraction(3)), Row("mul", (0, 1)), Row("add", (1, 2))), 0),
    ],
)
def test_a_bound_is_there_for_squares_and_a_positive_constant_alone(
    rows: tuple[Row, ...], bound: int | None
) -> None:
    found = positive_bounds(_rows(*rows), [len(rows)]).get(len(rows), Fraction(0))
    if bound is None:
        assert (
            0 <= 2 - found**2 < Fraction(2) ** -50
        )  # the largest double that is no more than the root of two
        assert Fraction(float(found)) == found
    else:
        assert found == bound


SHARE = (
    Row("mul", (0, 0)),
    Row("const", (), Fraction(3)),
    Row("add", (1, 2)),
    Row("sqrt", (3,)),
    Row("const", (), Fraction(1)),
    Row("div", (5, 4)),
    Row("mul", (6, 0)),
)


@pytest.mark.parametrize(
    ("at", "row"),
    [
        (None, SHARE[0]),
        (0, Row("neg", (0,))),
        (1, Row("const", (), Fraction(1, 2**1022))),
        (1, Row("const", (), Fraction(-3))),
        (2, Row("sub", (1, 2))),
        (2, Row("add", (2, 2))),
        (4, Row("const", (), Fraction(2))),
        (5, Row("div", (4, 5))),
        (6, Row("mul", (6, 1))),
        (6, Row("add", (6, 0))),
    ],
)
def test_a_share_of_a_length_is_no_longer_than_it(at: int | None, row: Row) -> None:
    """Only where it is one: any other row in its place, and nothing is claimed."""
    rows = tuple(row if at == k else one for k, one in enumerate(SHARE))
    assert bounded_shares(_rows(*rows)) == ({7: Fraction(2)} if at is None else {})


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_number_is_finite_over_the_ranges(real: str) -> None:
    """With what is admitted, which is the floors above and, in float, that a share of a length is no longer than it."""
    if shutil.which("frama-c") is None:
        pytest.skip("Frama-C is not installed")
    own = replace(program("free", "planar"), real=real)
    proof = prove_programs(
        tree_of("free", "planar"),
        {"integrate": own},
        ProgramOptions(real),
        states=8,
        compiled=False,
        with_eva=True,
    )
    assert proof.finite is not None
    assert proof.finite["integrate"].proved
    assert len(proof.finite["integrate"].admitted) == (7 if real == "float" else 4)


# -- through everything -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize(
    "text", [TextOptions(), TextOptions("inline", checked=True)], ids=["plain", "checked"]
)
def test_it_is_verified(real: str, text: TextOptions) -> None:
    report = verify_programs(
        Subject(
            tree_of(*ALL),
            {"integrate": replace(program(*ALL), real=real)},
            ProgramOptions(real),
            text,
            states=8,
        )
    )
    assert report.passed, str(report)
    assert (
        sum(one.kind == "identities" for one in report.checks) == 7
    )  # four over balls, three of them in the C as well


@pytest.mark.parametrize("robot", ["panda", "afloat"])
def test_a_folder_holds_it_and_tests_itself(robot: str, tmp_path: Path) -> None:
    """A scalar argument is an array of one number in C and C++, as a scalar result is."""
    mechanism = symgen.load("panda") if robot == "panda" else _on_a_free_base()
    folder = tmp_path / robot
    symgen.generate(
        mechanism, folder, ["integrate"], evidence=False, wrap=["cpp17"], checked=robot != "panda"
    )
    header = next(folder.glob("*.h")).read_text(encoding="utf-8")
    assert "const double dt[1]" in header
    subprocess.run(
        [
            "cc",
            "-std=c99",
            "-O2",
            "-ffp-contract=off",
            f"-D{mechanism.name}_SELFTEST",
            *map(str, folder.glob("*.c")),
            "-lm",
            "-o",
            str(tmp_path / "own"),
        ],
        check=True,
    )
    done = subprocess.run([str(tmp_path / "own")], check=True, capture_output=True, text=True)
    assert "1 passed, 0 failed" in done.stdout
    (tmp_path / "call.cpp").write_text(
        f"""#include "{mechanism.name}.hpp"
int main() {{ const std::array<double, 1> dt{{0.1}}; return (void){mechanism.name}::integrate({{}}, {{}}, dt), 0; }}
""",
        encoding="utf-8",
    )
    subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", f"-I{folder}", str(tmp_path / "call.cpp")],
        check=True,
    )
    report = symgen.verify(folder)
    assert report.passed, str(report)


def _on_a_free_base() -> Mechanism:
    plain = random_mechanism(3, seed=4)
    return replace(
        plain, name="afloat", joints=(of_kind(plain.joints[0], "free"), *plain.joints[1:])
    )


def test_its_round_off_is_bounded() -> None:
    proof = prove(_on_a_free_base(), ["integrate"], states=64)
    (own,) = proof.functions
    assert proof.holds, str(proof)
    assert any("time steps within ±1 s" in sentence for sentence in proof.assumptions)
    assert own.round_off.most("q_next") < 1e-11
    assert all(one.floor.certified for one in own.divisors)


# -- errors planted -----------------------------------------------------------------------------------------------------------


def test_a_sign_that_is_turned_in_any_row_is_seen() -> None:
    own, turned = program("free", "planar"), 0
    for index, row in enumerate(own.rows):
        if row.op not in ("add", "sub") or any(
            own.rows[a].op == "const" and own.rows[a].value < 1e-9 for a in row.args
        ):
            continue
        wrong = planted(own, index, op={"add": "sub", "sub": "add"}[row.op])
        with np.errstate(all="ignore"):
            report = verify_programs(
                Subject(tree_of("free", "planar"), {"integrate": wrong}, states=2, compiled=False)
            )
        assert {"algebra", "identities"} <= {one.kind for one in report.failures}, (index, row)
        turned += 1
    assert turned > 40


@pytest.mark.parametrize("change", ["half", "series", "order"])
def test_an_error_in_the_reference_is_seen(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = integrate._exponential_series

    def series(spin: Array, shift: Array, scalars: Any) -> Any:
        if change == "half":
            return whole(spin / 2, shift, scalars)
        turn, displaced = whole(spin, shift, scalars)
        return (
            (turn, displaced + shift * scalars.array(Fraction(1, 10**6)))
            if change == "series"
            else (turn[..., [1, 0, 2, 3]], displaced)
        )

    monkeypatch.setattr(integrate, "_exponential_series", series)
    report = verify_programs(
        Subject(tree_of("free"), {"integrate": program("free")}, states=4, compiled=False)
    )
    assert {one.kind for one in report.failures} >= {"algebra", "floating"}


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 2**60), Fraction(1, 2**160)])
def test_another_constant_under_the_root_is_seen(value: Fraction) -> None:
    """None divides by zero where nothing turns, a large one is seen in the algebra, and a small one is nothing in a float."""
    own = program("free")
    (index,) = (
        i for i, row in enumerate(own.rows) if row.op == "const" and row.value == Fraction(1, 2**90)
    )
    wrong = replace(planted(own, index, value=value), real="float")
    with np.errstate(all="ignore"):
        report = verify_programs(
            Subject(tree_of("free"), {"integrate": wrong}, ProgramOptions("float"), states=4)
        )
    assert {one.kind for one in report.failures} >= (
        {"algebra"} if value > Fraction(1, 2**90) else {"floating"}
    )


@pytest.mark.parametrize("counted", [True, False])
def test_what_the_series_of_the_reference_leaves_out_stands_in_its_radius(
    counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a series that is cut short, balls without that radius miss the answer."""
    twist = [[Fraction(k + 1, 5) for k in range(3)]]
    sharp = arb(160)
    with sharp.working():
        long = integrate.exponential(sharp.array(twist), sharp.array(twist), sharp)
    monkeypatch.setattr(integrate, "truncation_bound", lambda scalars: Fraction(1, 2**100))
    if not counted:
        monkeypatch.setattr(integrate, "ball_around_zero", lambda radius, scalars: flint.arb(0))
    with BALLS.working():
        short = integrate.exponential(BALLS.array(twist), BALLS.array(twist), BALLS)
    with sharp.working():
        met = [
            one.overlaps(two)
            for ours, theirs in zip(short, long, strict=True)
            for one, two in zip(ours.ravel(), theirs.ravel(), strict=True)
        ]
    assert all(met) if counted else not any(met)
    assert all(float(one.rad()) < 1e-150 for part in long for one in part.ravel())


def test_exponentials_of_matrices_say_the_same() -> None:
    """A third road, which an attack of the adversary takes."""
    mechanism, given = tree_of(*ALL), draw_states(tree_of(*ALL), 8)
    exact = Reference(mechanism, BALLS).evaluate(
        "integrate", {name: given[name] for name in ("q", "v", "dt")}
    )["q_next"]
    states = {name: BALLS.array(given[name]) for name in ("q", "v", "dt")}
    found = _newton_euler.answers(mechanism, "integrate", states, 80, {"q_next": (mechanism.nq,)})[
        "q_next"
    ]
    with BALLS.working():
        assert max(float(abs(one).upper()) for one in (found - exact).ravel()) < 1e-70


def test_floats_and_balls_of_the_reference_agree() -> None:
    given = draw_states(tree_of(*ALL), 8)
    exact = Reference(tree_of(*ALL), BALLS).evaluate(
        "integrate", {name: given[name] for name in ("q", "v", "dt")}
    )["q_next"]
    near = Reference(tree_of(*ALL), FLOAT).evaluate(
        "integrate", {name: given[name].astype(float) for name in ("q", "v", "dt")}
    )
    assert np.abs(exact.astype(float) - near["q_next"]).max() < 1e-13
