"""Forward dynamics by a parallel scan: the accelerations of the serial sweeps.

Tests compare in exact arithmetic and in C, and plant errors.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import flint
import numpy as np
import pytest
from flint import arb

import symgen
from symgen import cli
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram, check, evaluate
from symgen.ir.loops import evaluate as run
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import form
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.chains import in_turn
from symgen.pipeline.loops.constraint_force_scan import build_scan
from symgen.readback import loops
from symgen.support.errors import OutOfReach, ProgramError, RequestError
from tests.segments import aimed, built, call, state_of, written
from tests.shared.c_programs import DOUBLES
from tests.shared.constraint_force_scan import ROBOTS, driven
from tests.shared.constraint_force_scan import levels as scan_of
from tests.shared.looped_robots import NUMBERS
from tests.shared.robots_for_tests import random_mechanism


@cache
def serial_accelerations(name: str) -> list[arb]:
    n = ROBOTS[name].nv
    with flint.ctx.workdps(100 + 3 * n):
        if n > 6:
            return run(
                recursion(ROBOTS[name], "forward_dynamics", "riccati"), exact_state(n), NUMBERS
            )["a"]
        program = symgen.program(ROBOTS[name], "forward_dynamics", "riccati")
        return symgen.ir.program.evaluate(program, exact_state(n), NUMBERS)["a"]


def exact_state(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def largest_difference(program: LoopProgram, name: str) -> float:
    """Return the largest difference from the serial sweeps, each relative to 1 + |value|."""
    n = len(program)
    with flint.ctx.workdps(100 + 3 * n):
        pairs = zip(
            evaluate(program, exact_state(n), NUMBERS)["a"], serial_accelerations(name), strict=True
        )
        return max(float((abs(x - y) / (1 + abs(y))).upper()) for x, y in pairs)


@pytest.mark.parametrize(
    ("name", "segments"),
    [
        ("chain", 1),
        ("chain", 2),
        ("chain", 8),
        ("flat", 4),
        ("rotors", 8),
        ("slides", 2),
        ("square", 8),
        ("one", 1),
        ("one", 8),
        ("two", 2),
        ("long", 8),
    ],
)
def test_the_parallel_scan_equals_the_serial_sweeps(name: str, segments: int) -> None:
    assert largest_difference(scan_of(name, segments), name) < 1e-50


@pytest.mark.slow
@pytest.mark.usefixtures("polished_here")
def test_steps_do_not_depend_on_the_number_of_links() -> None:
    """Steps do not depend on the number of segments; the operations of each step are recorded."""
    short, long = (
        build_scan(random_mechanism(n, 1), segments) for n, segments in ((20, 8), (40, 2))
    )
    assert (short.maps, short.scans) == (long.maps, long.scans)
    assert [step.cost for step in short.programs] == [5, 63, 18, 529, 970, 125, 40]
    assert [
        step.cost for step in build_scan(random_mechanism(20, 1), 8, "mass_matrix_solve").programs
    ] == [391, 970, 125, 40]


def chain_of_length(n: int) -> LoopProgram:
    """Return the random chain's program, extended to n links."""
    chain = scan_of("chain", 1)
    return replace(
        chain,
        parents=tuple(range(-1, n - 1)),
        class_of=(0,) * n,
        constants=chain.constants[:1] + chain.constants[1:2] * n,
        part_lengths=(n + 1,),
        **{
            ports: tuple(port._replace(shape=(n,)) for port in getattr(chain, ports))
            for ports in ("inputs", "outputs")
        },
    )


@pytest.mark.parametrize(
    ("name", "segments"), [("chain", 2), ("flat", 8), ("rotors", 8), ("slides", 1), ("one", 8)]
)
def test_a_mass_matrix_solve_equals_the_unrolled_one(name: str, segments: int) -> None:
    """M⁻¹ b has the scans of the forward dynamics, without velocities."""
    program, state = (
        build_scan(ROBOTS[name], segments, "mass_matrix_solve"),
        exact_state(ROBOTS[name].nv),
    )
    state = {"q": state["q"], "b": state["tau"]}
    assert [(tree.up.rows, tree.down.rows) for tree in program.scans] == [
        (tree.up.rows, tree.down.rows) for tree in scan_of(name, 1).scans[1:]
    ]
    with flint.ctx.workdps(100 + 3 * len(program)):
        x = symgen.ir.program.evaluate(
            symgen.program(ROBOTS[name], "mass_matrix_solve", "riccati"), state, NUMBERS
        )["x"]
        assert (
            max(
                float(abs(a - b).upper())
                for a, b in zip(evaluate(program, state, NUMBERS)["x"], x, strict=True)
            )
            < 1e-50
        )


def test_depth_grows_by_one_step_per_doubling() -> None:
    """A step is 37 operations deep; the number of elements is a power of two."""
    depths = [chain_of_length(n - 1).depth for n in (16, 32, 64, 128, 1024)]
    assert [b - a for a, b in pairwise(depths)] == [37, 37, 37, 3 * 37]


@pytest.mark.parametrize(("name", "error"), [("chain", 3e-14), ("long", 3e-14)])
def test_errors_are_those_of_the_constraint_force_method(name: str, error: float) -> None:
    """The sum with H_aa tau loses precision: its terms are larger than the sum.

    The error is 7e-15 for 100 links; the serial constraint-force sweeps have 6e-15, Riccati 2e-15.
    """
    exact, computed = (
        [float(x) for x in serial_accelerations(name)],
        evaluate(scan_of(name, 8), state_of(len(scan_of(name, 8))), DOUBLES)["a"],
    )
    assert max(abs(x - y) for x, y in zip(computed, exact, strict=True)) <= error * max(
        map(abs, exact)
    )


@pytest.mark.parametrize("error", ["table", "places", "up", "down", "start", "valid", "last_valid"])
def test_a_planted_error_changes_the_accelerations(error: str) -> None:
    program = scan_of("chain", 8)
    turn, tree = program.scans
    if error == "table":
        row = program.constants[9]
        program = replace(
            program,
            constants=(
                *program.constants[:9],
                (row[0] + Fraction(1, 10**30), *row[1:]),
                *program.constants[10:],
            ),
        )
    elif error == "places":
        program = replace(
            program,
            stages=in_turn([stage.by(with_difference) for stage in program.maps], program.scans),
        )
    elif error in ("up", "down"):
        slipped = replace(tree, **{error: with_difference(getattr(tree, error))})
        program = replace(program, stages=in_turn(program.maps, (turn, slipped)))
    elif error == "start":
        initial = (*turn.initial[:-1], Fraction(1, 10**30))
        program = replace(
            program, stages=in_turn(program.maps, (replace(turn, initial=initial), tree))
        )
    else:
        longer = replace(tree, **{error: getattr(tree, error) + 3})
        program = replace(program, stages=in_turn(program.maps, (turn, longer)))
    assert largest_difference(program, "chain") > 1e-40


def with_difference(step: Program) -> Program:
    """Return a step whose last sum is a difference."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "add"))
    return replace(
        step,
        rows=tuple(row._replace(op="sub") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_check_refuses_malformed_programs() -> None:
    program = scan_of("chain", 8)
    turn, tree = program.scans
    first, second, third = program.maps
    (step,) = second.steps
    shorter = replace(second, steps=(replace(step, outputs=step.outputs[1:]),))
    assert check(replace(program, stages=in_turn(program.maps, program.scans))) == program
    for broken in (
        replace(program, part_lengths=(program.longest_part,) * 6),
        replace(program, part_lengths=(program.longest_part + 1,) * 8),
        replace(program, constants=((), *program.constants[1:])),
        replace(program, stages=(first, turn, second)),
        replace(program, stages=(first, turn, second, tree)),
        replace(program, work=1),
        replace(
            program, stages=in_turn((replace(first, saved_at=(0, 2)), second, third), program.scans)
        ),
        replace(
            program, stages=in_turn((first, replace(second, saved_at=(1,)), third), program.scans)
        ),
        replace(program, stages=in_turn((first, third, second), program.scans)),
        replace(program, stages=in_turn(program.maps, (tree, turn))),
        *(
            replace(program, stages=in_turn(program.maps, (turn, replace(tree, **change))))
            for change in (
                {"initial": tree.initial[1:]},
                {"valid": tree.up_size + 1},
                {"last_valid": 0},
                {"last_valid": len(tree.initial)},
            )
        ),
        replace(program, stages=in_turn((first, shorter, third), program.scans)),
    ):
        with pytest.raises(ProgramError):
            check(broken)


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [
        (random_mechanism(40, 1, "tree"), "its links are not one chain"),
        (random_mechanism(40, 1, joints=("revolute", "prismatic")), "not all of one kind"),
        (
            replace(
                random_mechanism(9, 1),
                joints=driven(random_mechanism(9, 1)).joints[:4]
                + random_mechanism(9, 1).joints[4:],
            ),
            "only some of its joints have an armature",
        ),
    ],
)
def test_only_a_chain_of_one_link_class_has_a_scan(mechanism: Mechanism, why: str) -> None:
    with pytest.raises(OutOfReach, match=why):
        build_scan(mechanism, 8)


# -- in C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "segments", "trig"),
    [
        ("two", 8, "libm"),
        ("long", 16, "libm"),
        ("long", 8, "auto"),
        ("long", 8, "inline"),
        ("rotors", 8, "libm"),
        ("slides", 8, "libm"),
    ],
)
def test_the_c_equals_the_evaluation(tmp_path: Path, name: str, segments: int, trig: str) -> None:
    """With libm's sines the bits are equal, also in threads; with inline sines they are near."""
    program = scan_of(name, segments)
    expected = evaluate(program, state_of(len(program)), DOUBLES)["a"]
    file = written(tmp_path, program, trig)
    for flags in (
        ("-O1", "-Darm_NO_CLONES"),
        *([("-O1", "-Darm_NO_CLONES", "-fopenmp")] if segments > 8 else []),
    ):
        results = call(built(file, *flags), program, state_of(len(program)))
        if trig == "libm":
            assert results == expected
        assert results == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.slow
def test_float_code_compiles_without_conversions(tmp_path: Path) -> None:
    program = scan_of("chain", 16).in_real("float")
    built(written(tmp_path, program), "-O0", "-Wconversion", "-Wdouble-promotion", "-Wshadow")


@pytest.mark.slow
@pytest.mark.parametrize("n", range(5, 40, 8))
def test_every_segment_length_is_computed_right(tmp_path: Path, n: int) -> None:
    """Segments have 1 to 5 rows; some are not full."""
    program = build_scan(random_mechanism(n, 1, general=False), 8)
    file = written(tmp_path, program, "libm")
    assert (
        call(built(file, "-O0", "-Darm_NO_CLONES"), program, state_of(n))
        == evaluate(program, state_of(n), DOUBLES)["a"]
    )


SLIPS = {
    "a sign": (" + t", " - t"),
    "another link": ("q[joint]", "q[joint - 1]"),
    "another constant": ("table[5][", "table[6]["),
    "a row too few": ("row < 13", "row < 12"),
    "another level": ("row >> level", "row >> 1"),
    "another segment": ("segment % 8", "segment % 7"),
    "another result": ("a[0][lane] = ", "a[0][lane] = -"),
    "an offset in the workspace": ("&group_work[26*row]", "&group_work[25*row]"),
    "the last element": ("(row == 9)", "(row == 8)"),
    "a comment of another style": ("/* up", "// up"),
}


def print_c(program: LoopProgram, trig: str) -> str:
    return c99.source(program, aimed(program, trig))


@pytest.mark.slow
def test_the_text_is_read_back() -> None:
    """Read-back compares the rows of steps and interprets the rest."""
    program = scan_of("long", 8)
    for trig in ("libm", "auto", "inline"):
        text = print_c(program, trig)
        assert loops.compare(program, text) == []
    adding = [step for step in program.programs if step.operations["add"]]
    changed = program.by(lambda step: with_difference(step) if step.operations["add"] else step)
    assert len(loops.compare(changed, text)) == len(adding) + 4  # steps of scans are printed twice


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    program, (old, new) = scan_of("long", 8), SLIPS[slip]
    text = print_c(program, "libm")
    assert old in text
    assert loops.compare(program, text.replace(old, new, 1))


@pytest.mark.slow
def test_an_error_in_the_header_is_reported() -> None:
    program = scan_of("long", 8)
    text, header = (
        print_c(program, "libm"),
        c99.headers({program.function: program}, aimed(program, "libm"))["arm.h"],
    )
    assert loops.compare(program, text, header) == []
    size = f"#define arm_WORK {c99.work(program)}"
    for slipped in (
        header.replace(size, f"#define arm_WORK {c99.work(program) - 1}"),
        header.replace(size, ""),
    ):
        assert slipped != header
        assert loops.compare(program, text, slipped)


# -- user interface --------------------------------------------------------------------------------


@pytest.mark.slow
def test_generate_writes_the_scan_and_verify_reports_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chain with rotors, in two groups of segments, as longer chains have them."""
    monkeypatch.setattr(form, "SHARE", 8)
    chain, folder = tmp_path / "chain.toml", tmp_path / "chain"
    symgen.convert(driven(random_mechanism(19, 1)), chain)
    manifest = symgen.generate(
        chain, folder, ["forward_dynamics=constraint_force:parallel"], name="chain", form="looped"
    )
    assert manifest["functions"]["forward_dynamics"]["links"] == 19
    assert "divides the chain into 16 segments" in (folder / "README.md").read_text()
    assert cli.main(["verify", str(folder), "--states", "1"]) == 0
    text = (folder / "chain_forward_dynamics.c").read_text()
    (folder / "chain_forward_dynamics.c").write_text(
        text.replace("(2*pair) + 1", "(2*pair) + 2", 1)
    )
    assert cli.main(["verify", str(folder), "--states", "1"]) == 1
    assert "FAILED text, forward_dynamics=constraint_force:parallel" in capsys.readouterr().out


@pytest.mark.slow
def test_generate_writes_loops_above_the_row_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = tmp_path / "chain.toml"
    symgen.convert(random_mechanism(20, 1), chain)
    monkeypatch.setattr(form, "SHORT", 19)
    monkeypatch.setattr(form, "ROW_BUDGET", 20_000)
    assert (
        cli.main(
            [
                "generate",
                str(chain),
                "-o",
                str(tmp_path / "chain"),
                "-f",
                "forward_dynamics=constraint_force:parallel",
            ]
        )
        == 0
    )
    assert (
        "forward_dynamics loops over tables of links, since rows for each"
        in capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_solver_equals_riccati(real: str) -> None:
    chain = driven(random_mechanism(20, 1))
    q, v, tau = (np.array(state_of(20)[name]) for name in ("q", "v", "tau"))
    accelerations, expected = (
        symgen.compile(
            chain, [f"forward_dynamics={method}"], form="looped", real=real
        ).forward_dynamics(q, v, tau)
        for method in ("constraint_force:parallel", "riccati")
    )
    np.testing.assert_allclose(
        accelerations,
        expected,
        rtol=0,
        atol=(1e-11 if real == "double" else 1e-2) * np.abs(expected).max(),
    )


def test_other_robots_and_functions_are_refused_with_the_reason(tmp_path: Path) -> None:
    chain = random_mechanism(40, 1)
    functions_by_scan = ["forward_dynamics=constraint_force:parallel"]
    for mechanism, functions, more, error, message in (
        (
            random_mechanism(9, 1, "tree"),
            functions_by_scan,
            {},
            OutOfReach,
            "its links are not one chain; take --form unrolled",
        ),
        (
            chain,
            ["mass_matrix_log_determinant=constraint_force:parallel"],
            {},
            OutOfReach,
            "has no looped form",
        ),
        (
            symgen.load("planar_point_mass:9"),
            functions_by_scan,
            {},
            RequestError,
            "is a point mass",
        ),
    ):
        with pytest.raises(error, match=message):
            symgen.generate(mechanism, tmp_path / "out", functions, form="looped", **more)
