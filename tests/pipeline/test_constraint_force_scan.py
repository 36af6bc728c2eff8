"""Forward dynamics level by level: the values of the serial sweeps, in exact arithmetic, in C, and with slips planted."""

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
from symgen.pipeline.loops.constraint_force_scan import build_scan as levelled
from symgen.readback import loops
from symgen.support.errors import OutOfReach, ProgramError, RequestError
from tests.segments import aimed, built, call, state_of, written
from tests.shared.c_programs import DOUBLES
from tests.shared.constraint_force_scan import ROBOTS, driven, levels
from tests.shared.looped_robots import NUMBERS
from tests.shared.robots_for_tests import random_mechanism


@cache
def wanted(name: str) -> list[arb]:
    n = ROBOTS[name].nv
    with flint.ctx.workdps(100 + 3 * n):
        if n > 6:
            return run(recursion(ROBOTS[name], "forward_dynamics", "riccati"), exactly(n), NUMBERS)[
                "a"
            ]
        program = symgen.program(ROBOTS[name], "forward_dynamics", "riccati")
        return symgen.ir.program.evaluate(program, exactly(n), NUMBERS)["a"]


def exactly(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def off(one: LoopProgram, name: str) -> float:
    """The largest difference there may be from the serial sweeps, to the larger of 1 and the value."""
    n = len(one)
    with flint.ctx.workdps(100 + 3 * n):
        pairs = zip(evaluate(one, exactly(n), NUMBERS)["a"], wanted(name), strict=True)
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
def test_levels_are_the_serial_sweeps(name: str, segments: int) -> None:
    assert off(levels(name, segments), name) < 1e-50


@pytest.mark.usefixtures("polished_here")
def test_steps_do_not_know_how_many_links_there_are() -> None:
    """Nor in how many segments; and there are no more operations than there were."""
    one, other = (levelled(random_mechanism(n, 1), segments) for n, segments in ((20, 8), (40, 2)))
    assert (one.maps, one.scans) == (other.maps, other.scans)
    assert [step.cost for step in one.programs] == [5, 63, 18, 529, 970, 125, 40]
    assert [
        step.cost for step in levelled(random_mechanism(20, 1), 8, "mass_matrix_solve").programs
    ] == [391, 970, 125, 40]


def grown(n: int) -> LoopProgram:
    """A chain of n links whose steps are those of the random one."""
    one = levels("chain", 1)
    return replace(
        one,
        parents=tuple(range(-1, n - 1)),
        class_of=(0,) * n,
        constants=one.constants[:1] + one.constants[1:2] * n,
        part_lengths=(n + 1,),
        **{
            ports: tuple(port._replace(shape=(n,)) for port in getattr(one, ports))
            for ports in ("inputs", "outputs")
        },
    )


@pytest.mark.parametrize(
    ("name", "segments"), [("chain", 2), ("flat", 8), ("rotors", 8), ("slides", 1), ("one", 8)]
)
def test_a_solve_is_that_of_the_rows(name: str, segments: int) -> None:
    """M⁻¹ b by the same tree, without velocities."""
    one, given = levelled(ROBOTS[name], segments, "mass_matrix_solve"), exactly(ROBOTS[name].nv)
    given = {"q": given["q"], "b": given["tau"]}
    assert [(tree.up.rows, tree.down.rows) for tree in one.scans] == [
        (tree.up.rows, tree.down.rows) for tree in levels(name, 1).scans[1:]
    ]
    with flint.ctx.workdps(100 + 3 * len(one)):
        x = symgen.ir.program.evaluate(
            symgen.program(ROBOTS[name], "mass_matrix_solve", "riccati"), given, NUMBERS
        )["x"]
        assert (
            max(
                float(abs(a - b).upper())
                for a, b in zip(evaluate(one, given, NUMBERS)["x"], x, strict=True)
            )
            < 1e-50
        )


def test_depth_grows_by_a_step_a_doubling() -> None:
    """37 operations; of places there are as many as two to a power."""
    depths = [grown(n - 1).depth for n in (16, 32, 64, 128, 1024)]
    assert [b - a for a, b in pairwise(depths)] == [37, 37, 37, 3 * 37]


@pytest.mark.parametrize(("name", "error"), [("chain", 3e-14), ("long", 3e-14)])
def test_digits_are_those_of_the_constraint_forces(name: str, error: float) -> None:
    """They lose some to the sum of H_aa tau, which is larger than what it adds up to: of a hundred links it is 7e-15, where the
    serial sweeps by the same method have 6e-15 and Riccati's 2e-15."""
    exact, found = (
        [float(x) for x in wanted(name)],
        evaluate(levels(name, 8), state_of(len(levels(name, 8))), DOUBLES)["a"],
    )
    assert max(abs(x - y) for x, y in zip(found, exact, strict=True)) <= error * max(
        map(abs, exact)
    )


@pytest.mark.parametrize("what", ["table", "places", "up", "down", "start", "valid", "last_valid"])
def test_a_slip_is_seen(what: str) -> None:
    one = levels("chain", 8)
    turn, tree = one.scans
    if what == "table":
        row = one.constants[9]
        one = replace(
            one,
            constants=(
                *one.constants[:9],
                (row[0] + Fraction(1, 10**30), *row[1:]),
                *one.constants[10:],
            ),
        )
    elif what == "places":
        one = replace(one, stages=in_turn([stage.by(_slipped) for stage in one.maps], one.scans))
    elif what in ("up", "down"):
        slipped = replace(tree, **{what: _slipped(getattr(tree, what))})
        one = replace(one, stages=in_turn(one.maps, (turn, slipped)))
    elif what == "start":
        initial = (*turn.initial[:-1], Fraction(1, 10**30))
        one = replace(one, stages=in_turn(one.maps, (replace(turn, initial=initial), tree)))
    else:
        longer = replace(tree, **{what: getattr(tree, what) + 3})
        one = replace(one, stages=in_turn(one.maps, (turn, longer)))
    assert off(one, "chain") > 1e-40


def _slipped(step: Program) -> Program:
    """Where the last sum is a difference."""
    at = max((i for i, row in enumerate(step.rows) if row.op == "add"))
    return replace(
        step,
        rows=tuple(row._replace(op="sub") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_what_breaks_a_rule_is_refused() -> None:
    one = levels("chain", 8)
    turn, tree = one.scans
    first, second, third = one.maps
    (step,) = second.steps
    shorter = replace(second, steps=(replace(step, outputs=step.outputs[1:]),))
    assert check(replace(one, stages=in_turn(one.maps, one.scans))) == one
    for broken in (
        replace(one, part_lengths=(one.longest_part,) * 6),
        replace(one, part_lengths=(one.longest_part + 1,) * 8),
        replace(one, constants=((), *one.constants[1:])),
        replace(one, stages=(first, turn, second)),
        replace(one, stages=(first, turn, second, tree)),
        replace(one, work=1),
        replace(one, stages=in_turn((replace(first, saved_at=(0, 2)), second, third), one.scans)),
        replace(one, stages=in_turn((first, replace(second, saved_at=(1,)), third), one.scans)),
        replace(one, stages=in_turn((first, third, second), one.scans)),
        replace(one, stages=in_turn(one.maps, (tree, turn))),
        *(
            replace(one, stages=in_turn(one.maps, (turn, replace(tree, **change))))
            for change in (
                {"initial": tree.initial[1:]},
                {"valid": tree.up_size + 1},
                {"last_valid": 0},
                {"last_valid": len(tree.initial)},
            )
        ),
        replace(one, stages=in_turn((first, shorter, third), one.scans)),
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
def test_what_is_no_chain_of_like_links_is_refused(mechanism: Mechanism, why: str) -> None:
    with pytest.raises(OutOfReach, match=why):
        levelled(mechanism, 8)


# -- in C ------------------------------------------------------------------------------------------------------------------------


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
def test_c_is_what_is_evaluated(tmp_path: Path, name: str, segments: int, trig: str) -> None:
    """With <math.h> bit for bit, and with threads; with sines of its own within their error."""
    one = levels(name, segments)
    found = evaluate(one, state_of(len(one)), DOUBLES)["a"]
    file = written(tmp_path, one, trig)
    for flags in (
        ("-O1", "-Darm_NO_CLONES"),
        *([("-O1", "-Darm_NO_CLONES", "-fopenmp")] if segments > 8 else []),
    ):
        given = call(built(file, *flags), one, state_of(len(one)))
        if trig == "libm":
            assert given == found
        assert given == pytest.approx(found, rel=1e-10, abs=1e-10)


def test_float_is_float_throughout(tmp_path: Path) -> None:
    one = levels("chain", 16).in_real("float")
    built(written(tmp_path, one), "-O0", "-Wconversion", "-Wdouble-promotion", "-Wshadow")


@pytest.mark.parametrize("n", range(5, 40, 8))
def test_every_number_of_rows_finds_its_pairs(tmp_path: Path, n: int) -> None:
    """Segments of 1 to 5 rows, full and not."""
    one = levelled(random_mechanism(n, 1, general=False), 8)
    file = written(tmp_path, one, "libm")
    assert (
        call(built(file, "-O0", "-Darm_NO_CLONES"), one, state_of(n))
        == evaluate(one, state_of(n), DOUBLES)["a"]
    )


SLIPS = {
    "a sign": (" + t", " - t"),
    "another link": ("q[place]", "q[place - 1]"),
    "another constant": ("table[5][", "table[6]["),
    "a row too few": ("row < 13", "row < 12"),
    "another level": ("row >> level", "row >> 1"),
    "another segment": ("segment % 8", "segment % 7"),
    "another result": ("a[0][lane] = ", "a[0][lane] = -"),
    "a place of the work": ("&work[26*row]", "&work[25*row]"),
    "the last place": ("(row == 9)", "(row == 8)"),
    "what a compiler reads otherwise": ("/* up", "// up"),
}


def printed(one: LoopProgram, trig: str) -> str:
    return c99.source(one, aimed(one, trig))


def test_the_text_is_read_back() -> None:
    """Steps as rows, all else by interpretation."""
    one = levels("long", 8)
    for trig in ("libm", "auto", "inline"):
        text = printed(one, trig)
        assert loops.compare(one, text) == []
    adding = [step for step in one.programs if step.operations["add"]]
    other = one.by(lambda step: _slipped(step) if step.operations["add"] else step)
    assert len(loops.compare(other, text)) == len(adding) + 4  # those of trees stand there twice


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_text_is_seen(slip: str) -> None:
    one, (old, new) = levels("long", 8), SLIPS[slip]
    text = printed(one, "libm")
    assert old in text
    assert loops.compare(one, text.replace(old, new, 1))


def test_a_slip_in_the_header_is_seen() -> None:
    one = levels("long", 8)
    text, header = (
        printed(one, "libm"),
        c99.headers({one.function: one}, aimed(one, "libm"))["arm.h"],
    )
    assert loops.compare(one, text, header) == []
    size = f"#define arm_WORK {c99.work(one)}"
    for slipped in (
        header.replace(size, f"#define arm_WORK {c99.work(one) - 1}"),
        header.replace(size, ""),
    ):
        assert slipped != header
        assert loops.compare(one, text, slipped)


# -- as users meet it ------------------------------------------------------------------------------------------------------------


def test_generate_gives_it_and_verify_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a chain in two groups, as longer ones have them, with rotors."""
    monkeypatch.setattr(form, "SHARE", 8)
    chain, folder = tmp_path / "chain.toml", tmp_path / "chain"
    symgen.convert(driven(random_mechanism(19, 1)), chain)
    manifest = symgen.generate(
        chain, folder, ["forward_dynamics=constraint_force:parallel"], name="chain", form="looped"
    )
    assert manifest["functions"]["forward_dynamics"]["links"] == 19
    assert "cuts the chain into 16 segments" in (folder / "README.md").read_text()
    assert cli.main(["verify", str(folder), "--states", "1"]) == 0
    text = (folder / "chain_forward_dynamics.c").read_text()
    (folder / "chain_forward_dynamics.c").write_text(
        text.replace("(2*pair) + 1", "(2*pair) + 2", 1)
    )
    assert cli.main(["verify", str(folder), "--states", "1"]) == 1
    assert "FAILED text, forward_dynamics=constraint_force:parallel" in capsys.readouterr().out


def test_above_the_budget_loops_are_taken(
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


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_solver_has_it(real: str) -> None:
    chain = driven(random_mechanism(20, 1))
    q, v, tau = (np.array(state_of(20)[name]) for name in ("q", "v", "tau"))
    found, other = (
        symgen.compile(
            chain, [f"forward_dynamics={method}"], form="looped", real=real
        ).forward_dynamics(q, v, tau)
        for method in ("constraint_force:parallel", "riccati")
    )
    np.testing.assert_allclose(
        found, other, rtol=0, atol=(1e-11 if real == "double" else 1e-2) * np.abs(other).max()
    )


def test_who_cannot_have_it_is_told(tmp_path: Path) -> None:
    chain = random_mechanism(40, 1)
    wanted_by = ["forward_dynamics=constraint_force:parallel"]
    for mechanism, functions, more, error, said in (
        (
            random_mechanism(9, 1, "tree"),
            wanted_by,
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
        (symgen.load("planar_point_mass:9"), wanted_by, {}, RequestError, "is a point mass"),
    ):
        with pytest.raises(error, match=said):
            symgen.generate(mechanism, tmp_path / "out", functions, form="looped", **more)
