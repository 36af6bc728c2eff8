"""Forward dynamics in segments: the accelerations of the serial sweeps.

Tests compare in exact arithmetic and in C, and plant errors.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace

import flint
import numpy as np
import pytest
from flint import arb

import symgen
from symgen import cli
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram, SequentialScan, Sweep, check, evaluate, even_lengths
from symgen.ir.loops import evaluate as run
from symgen.ir.program import Program
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import segment_lengths
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.riccati_segments import build_parts
from symgen.readback import loops
from symgen.reference import truncated_pivots
from symgen.reference.mechanics import Reference
from symgen.reference.truncated_pivots import STATES, Tails
from symgen.support.errors import ArgumentError, OutOfReach, ProgramError, RequestError
from tests.segments import aimed, built, call, state_of, written
from tests.shared.c_programs import DOUBLES
from tests.shared.folders import cmake
from tests.shared.looped_robots import NUMBERS
from tests.shared.riccati_segments import ROBOTS, chain_in_parts
from tests.shared.robots_for_tests import random_mechanism


@cache
def serial(n: int) -> LoopProgram:
    return recursion(ROBOTS[n], "forward_dynamics", "riccati")


@cache
def serial_accelerations(n: int) -> list[arb]:
    with flint.ctx.workdps(100 + 3 * n):  # interval radii grow from link to link
        return run(serial(n), exact_state(n), NUMBERS)["a"]


def exact_state(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def largest_difference(program: LoopProgram) -> float:
    """Return the largest difference from the serial sweeps, relative to 1 + |value|."""
    n = len(program)
    with flint.ctx.workdps(100 + 3 * n):
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(
                evaluate(program, exact_state(n), NUMBERS)["a"],
                serial_accelerations(n),
                strict=True,
            )
        )


@pytest.mark.parametrize(("n", "segments"), [(17, 2), (17, 4), (33, 4), (64, 8), (100, 8)])
def test_segments_equal_the_serial_sweeps(n: int, segments: int) -> None:
    assert largest_difference(chain_in_parts(n, segments)) < 1e-50


@pytest.mark.slow
@pytest.mark.usefixtures("polished_here")
def test_steps_do_not_depend_on_the_number_of_segments() -> None:
    def steps(program: LoopProgram) -> list[object]:
        return [stage.programs for stage in program.stages]

    assert steps(build_parts(ROBOTS[64], 8)) == steps(build_parts(ROBOTS[64], 4))
    assert build_parts(ROBOTS[100], 8).link_cost <= 812


@pytest.mark.parametrize("n", [17, 64, 100])
def test_errors_are_at_most_four_times_those_of_the_serial_sweeps(n: int) -> None:
    """For 100 links the error is 1.7e-15; that of the serial sweeps is 1.9e-15."""
    program = chain_in_parts(n, 4 if n < 32 else 8)
    exact = [float(x) for x in serial_accelerations(n)]

    def error(computed: list[float]) -> float:
        return max(abs(x - y) for x, y in zip(computed, exact, strict=True)) / max(map(abs, exact))

    assert error(evaluate(program, state_of(n), DOUBLES)["a"]) <= 4 * error(
        run(serial(n), state_of(n), DOUBLES)["a"]
    )


@pytest.mark.parametrize("error", ["table", "start", "opening", "scan", "step"])
def test_a_planted_error_changes_the_accelerations(error: str) -> None:
    program = chain_in_parts(17, 4)
    stages = list(program.stages)
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
    elif error == "start":
        sweep = stages[3]
        assert isinstance(sweep, Sweep)
        stages[3] = replace(sweep, initial=(*sweep.initial[:-1], Fraction(1, 10**30)))
    elif error == "opening":
        scan = stages[5]
        assert isinstance(scan, SequentialScan)
        stages[5] = replace(scan, opening=with_difference(scan.opening))
    elif error == "scan":
        scan = stages[4]
        assert isinstance(scan, SequentialScan)
        stages[4] = replace(scan, step=with_difference(scan.step))
    else:
        sweep = stages[6]
        assert isinstance(sweep, Sweep)
        stages[6] = replace(sweep, steps=(with_difference(sweep.steps[0]),))
    assert largest_difference(replace(program, stages=tuple(stages))) > 1e-40


def print_c(program: LoopProgram, trig: str) -> str:
    return c99.source(program, aimed(program, trig))


def with_difference(step: Program) -> Program:
    """Return a step whose last sum is a difference."""
    at = max(i for i, row in enumerate(step.rows) if row.op == "add")
    return replace(
        step,
        rows=tuple(row._replace(op="sub") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_check_refuses_malformed_programs() -> None:
    program = chain_in_parts(17, 4)
    sweep, scan = program.stages[0], program.stages[1]
    assert isinstance(sweep, Sweep)
    assert isinstance(scan, SequentialScan)
    for broken in (
        replace(program, part_lengths=even_lengths(17, 18)),
        replace(program, constants=((), *program.constants[1:])),
        replace(program, stages=program.stages[:-1]),
        replace(program, stages=(replace(sweep, initial=sweep.initial[1:]), *program.stages[1:])),
        replace(program, work=1),
        replace(program, stages=(sweep, replace(scan, takes=1), *program.stages[2:])),
        replace(program, stages=(sweep, replace(scan, gives=3), *program.stages[2:])),
        replace(program, stages=(sweep, replace(scan, opening=scan.step), *program.stages[2:])),
    ):
        with pytest.raises(ProgramError):
            check(broken)


def test_only_a_long_chain_of_one_link_class_has_segments() -> None:
    for mechanism in (
        random_mechanism(40, 1, "tree"),
        random_mechanism(40, 1, joints=("revolute", "prismatic")),
        random_mechanism(20, 1),
    ):
        with pytest.raises(OutOfReach, match=r"(is not|cannot be) cut into 8 segments"):
            build_parts(mechanism, 8)


def test_a_segment_has_at_least_four_links() -> None:
    with pytest.raises(OutOfReach, match="it has fewer than 8 links"):
        build_parts(random_mechanism(7, 1), 2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "segments"), [(64, 16), (100, 16), (100, 24)])
def test_groups_have_the_same_bits_serially_and_in_threads(
    tmp_path: Path, n: int, segments: int
) -> None:
    """With 100 links the first 4 segments have one more link than the others."""
    program = chain_in_parts(n, segments)
    expected = evaluate(program, state_of(n), DOUBLES)["a"]
    file = written(tmp_path, program, "libm")
    for flags in (("-O1", "-Darm_NO_CLONES"), ("-O1", "-Darm_NO_CLONES", "-fopenmp")):
        assert call(built(file, *flags), program, state_of(n)) == expected


@pytest.mark.slow
def test_results_do_not_depend_on_the_lengths_of_segments(tmp_path: Path) -> None:
    """In C short segments have idle rows. Invalid lengths are refused."""
    program = replace(
        chain_in_parts(64, 16), part_lengths=(9, 1, 2, 7, 3, 4, 4, 4, 2, 3, 6, 3, 5, 1, 8, 2)
    )
    assert largest_difference(check(program)) < 1e-50
    expected = evaluate(program, state_of(64), DOUBLES)["a"]
    file = written(tmp_path, program, "libm")
    for flags in (("-O1", "-Darm_NO_CLONES"), ("-O1", "-Darm_NO_CLONES", "-fopenmp")):
        assert call(built(file, *flags), program, state_of(64)) == expected
    for lengths in (
        (9, 1),
        (8, 2, *program.part_lengths[2:-1], 9),
        (10, *program.part_lengths[1:]),
        (9, 0, 3, *program.part_lengths[3:]),
    ):
        with pytest.raises(ProgramError):
            check(replace(program, part_lengths=lengths))


# -- cuts of a chain -------------------------------------------------------------------------------


def universal_joints(n: int, heavy: int) -> Mechanism:
    """Return a chain of universal joints: every second link has no mass."""
    mechanism = random_mechanism(n, 1)
    bodies = tuple(
        body if i % 2 == heavy or i == n - 1 else replace(body, parts=())
        for i, body in enumerate(mechanism.bodies)
    )
    return replace(mechanism, bodies=bodies, name="crossed")


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [0, 1])
def test_no_segment_ends_in_a_massless_link(heavy: int) -> None:
    """Segments of equal length would end in one; lengths differ by at most three links."""
    mechanism = universal_joints(41 - heavy, heavy)
    lengths, most = segment_lengths.balanced_lengths(mechanism, 8)
    stops = np.cumsum(lengths)
    assert all(mechanism.bodies[end - 1].parts for end in stops)
    assert stops[-1] == len(mechanism.joints)
    assert max(lengths) - min(lengths) <= 3
    assert most < segment_lengths.LIGHT
    report = symgen.verify(mechanism, ["forward_dynamics=riccati:segments"], states=2)
    assert report.passed
    assert not report.lost


@pytest.mark.parametrize("seed", range(12))
def test_every_segment_has_links_and_none_is_longer_than_the_first(seed: int) -> None:
    """This holds for random pivot ratios; an end moves only where the ratio is too large."""
    random = Random(seed)
    even = even_lengths(*random.choice(((33, 8), (40, 8), (64, 16), (100, 8), (257, 64))))
    ratios = {
        end: random.choice((1.0, 100.0, 101.0, 1e6, float("inf"))) for end in range(sum(even) + 1)
    }
    stops = segment_lengths.segment_stops(even, ratios.__getitem__)
    lengths = [b - a for a, b in pairwise((0, *stops))]
    assert (len(lengths), sum(lengths)) == (len(even), sum(even))
    assert min(lengths) > 0
    assert max(lengths) == lengths[0]
    for g, (end, evenly) in enumerate(zip(stops[:-1], accumulate(even), strict=False)):
        assert end == evenly or ratios[evenly] > 100 or evenly - stops[g - 1] > stops[0]


def test_a_cut_moves_to_the_nearest_allowed_link_or_to_the_best_one() -> None:
    def cuts(**ratios: float) -> list[int]:
        return segment_lengths.segment_stops([9, 9, 9, 9], lambda end: ratios.get(f"at{end}", 1.0))[
            :-1
        ]

    assert cuts(at9=100, at18=100) == [9, 18, 27]
    assert cuts(at9=101, at18=101) == [10, 17, 27]
    assert cuts(at18=1e6, at17=1e4, at19=1e5, at16=200, at20=99) == [
        9,
        18,
        27,
    ]  # a segment up to link 20 would be longer than the first
    assert cuts(at9=101, at10=101, at11=101, at18=1e6, at17=1e4, at19=1e3, at16=1e3, at20=99) == [
        12,
        20,
        27,
    ]
    assert cuts(at9=1e3, at10=300, at11=200, at12=201, at27=1e3, at26=500, at28=400) == [11, 18, 25]


def test_longer_chains_have_more_segments() -> None:
    counts = [
        segment_lengths.segment_count(SimpleNamespace(nv=n), real)
        for real in ("double", "float")
        for n in (40, 2047, 2048, 10**5)
    ]
    assert counts == [8, 8, 16, 64, 16, 16, 32, 128]


def test_an_ordinary_chain_is_cut_evenly() -> None:
    assert segment_lengths.balanced_lengths(ROBOTS[64], 8)[0] == (8,) * 8
    assert segment_lengths.term_ratio(ROBOTS[64], "double") == 1


def with_ratios(monkeypatch: pytest.MonkeyPatch, ratios: dict[int, float]) -> Mechanism:
    """Return a chain of eight links whose cuts have these pivot ratios, 1 elsewhere."""

    def tails(mechanism: Mechanism) -> SimpleNamespace:
        return SimpleNamespace(largest_pivot_ratio=lambda end: ratios.get(end, 1.0))

    monkeypatch.setattr(truncated_pivots, "tails", tails)
    segment_lengths.balanced_lengths.cache_clear()
    return random_mechanism(8, 1)


def test_lengths_of_segments_come_with_the_largest_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the chain is no cut, so that its ratio does not count."""
    for ratios, lengths, most in (
        ({}, (2, 2, 2, 2), 1.0),
        ({2: 90.0, 8: 1e9}, (2, 2, 2, 2), 90.0),
        ({2: 150.0}, (3, 1, 2, 2), 1.0),
        ({end: 150.0 + end for end in range(8)}, (2, 2, 2, 2), 156.0),  # none may be longer
    ):
        chain = with_ratios(monkeypatch, ratios)
        assert segment_lengths.balanced_lengths(chain, 4) == (lengths, most)
        assert segment_lengths.balanced_lengths(chain, 1) == ((8,), 1.0)
    segment_lengths.balanced_lengths.cache_clear()


def test_a_cut_where_a_joint_moves_no_inertia_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link before the cut is named."""
    chain = with_ratios(monkeypatch, dict.fromkeys((3, 4, 5), float("inf")))
    with pytest.raises(
        OutOfReach,
        match="forward_dynamics of 'random_chain_8' cannot be cut into 2 segments: without "
        "the links behind 'link3'",
    ):
        segment_lengths.balanced_lengths(chain, 2)
    segment_lengths.balanced_lengths.cache_clear()


def test_terms_of_segments_are_compared_with_the_accepted_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for ratio, terms in ((50.0, 1.0), (100.0, 1.0), (250.0, 2.5)):
        chain = with_ratios(monkeypatch, dict.fromkeys(range(8), ratio))
        assert segment_lengths.term_ratio(chain, "double") == terms
    segment_lengths.balanced_lengths.cache_clear()


@pytest.mark.slow
def test_a_chain_that_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    """Only every sixth link has mass. The looped form of the robot passes verification."""
    mechanism = ROBOTS[64]
    mechanism = replace(
        mechanism,
        bodies=tuple(
            replace(body, parts=body.parts if i % 6 == 4 or i > 59 else ())
            for i, body in enumerate(mechanism.bodies)
        ),
    )
    with pytest.raises(
        OutOfReach,
        match="without the links behind 'link7', or near it, a joint moves no inertia",
    ):
        symgen.generate(mechanism, tmp_path / "out", ["forward_dynamics=riccati:segments"])
    assert symgen.verify(mechanism, ["forward_dynamics=riccati"], form="looped", states=1).passed


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 120])
def test_verify_reports_the_precision_lost_by_light_segment_ends(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both checks of `verify` report it: that of short chains (40) and of long ones (120)."""
    monkeypatch.setattr(segment_lengths, "balanced_lengths", lambda *_: (even_lengths(n, 8), 1e16))
    report = symgen.verify(random_mechanism(n, 1), ["forward_dynamics=riccati:segments"], states=1)
    assert not report.failures
    assert len(report.lost) == 1


def test_truncated_pivots_are_those_of_the_truncated_chain() -> None:
    """The pivot of joint k is 1/(M⁻¹)_kk of links k to n, in the whole or truncated chain."""
    mechanism, end = random_mechanism(7, 3), 4
    mechanism = replace(
        mechanism,
        joints=tuple(
            replace(joint, drive=Drive(armature=Fraction(1, 9))) for joint in mechanism.joints
        ),
    )
    truncated = replace(
        mechanism,
        joints=mechanism.joints[:end],
        bodies=mechanism.bodies[:end],
        frames=mechanism.frames[:end],
    )
    q = Tails(mechanism).q
    expected = 1.0
    for k in range(end):
        truncated_pivots, pivots = (
            1 / np.linalg.inv(Reference(robot).mass_matrix(q[:, : robot.nv])[:, k:, k:])[:, 0, 0]
            for robot in (truncated, mechanism)
        )
        np.testing.assert_allclose(np.array(Tails(mechanism).pivots[k]), pivots, rtol=1e-9)
        expected = max(expected, float((pivots / truncated_pivots).max()))
    assert len(q) == STATES
    assert Tails(mechanism).largest_pivot_ratio(len(mechanism.joints)) == 1
    assert Tails(mechanism).largest_pivot_ratio(end) == pytest.approx(expected, rel=0.05)


SLIPS = {
    "a sign": (" + t", " - t"),
    "another link": ("first_links[lane] + row]", "first_links[lane] - row]"),
    "another constant": ("table[5][", "table[6]["),
    "a row too few": ("row < 13", "row < 12"),
    "another segment": ("segment % 8", "segment % 7"),
    "another result": ("a[0][lane] = ", "a[0][lane] = -"),
    "an offset in the workspace": ("&group_work[(23*row)", "&group_work[(22*row)"),
    "a comment of another style": ("/* for each", "// for each"),
}


@pytest.mark.slow
def test_the_text_is_read_back() -> None:
    """Read-back compares the rows of steps and interprets the rest."""
    program = chain_in_parts(100, 8)
    for trig in ("libm", "auto", "inline"):
        text = print_c(program, trig)
        assert loops.compare(program, text) == []
    # Read-back compares operations: another program differs although its text is printed correctly.
    adding = [step for step in program.programs if step.operations["add"]]
    changed = program.by(lambda step: with_difference(step) if step.operations["add"] else step)
    assert len(loops.compare(changed, text)) >= len(adding) > 3


@pytest.mark.slow
def test_an_error_in_the_header_is_reported() -> None:
    program = chain_in_parts(100, 8)
    text, header = (
        print_c(program, "libm"),
        c99.headers({program.function: program}, aimed(program, "libm"))["arm.h"],
    )
    assert loops.compare(program, text, header) == []
    size = f"#define arm_WORK {c99.work(program)}"
    assert size in header
    for slipped in (
        header.replace(size, f"#define arm_WORK {c99.work(program) - 1}"),
        header.replace(size, ""),
        header.replace(size, f"{size}\n#define tau v"),
        header.replace("#define arm_NV 100", "#define arm_NV 99"),
    ):
        assert slipped != header
        assert loops.compare(program, text, slipped)


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    program, (old, new) = chain_in_parts(100, 8), SLIPS[slip]
    text = print_c(program, "libm")
    assert old in text
    assert loops.compare(program, text.replace(old, new, 1))


@pytest.mark.slow
def test_generate_writes_segments_that_pass_verify_and_the_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chain has two groups of segments, as longer chains have; CMake builds it with OpenMP."""
    monkeypatch.setattr(segment_lengths, "GROUP", 32)
    chain, folder = tmp_path / "chain.toml", tmp_path / "chain"
    symgen.convert(random_mechanism(64, 1), chain)
    manifest = symgen.generate(chain, folder, ["forward_dynamics=riccati:segments"], name="chain")
    assert manifest["functions"]["forward_dynamics"]["method"] == "riccati:segments"
    assert "forward_dynamics=riccati:segments" in manifest["command"]
    assert "divides the chain into 16 segments" in (folder / "README.md").read_text()
    cmake("-S", folder, "-B", tmp_path / "build", "-Dchain_OPENMP=ON")
    cmake("--build", tmp_path / "build")
    ran = subprocess.run(
        [tmp_path / "build" / "chain_selftest"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("1 passed, 0 failed\n")
    assert (
        "-fopenmp" in (tmp_path / "build" / "CMakeFiles" / "chain.dir" / "flags.make").read_text()
    )
    assert cli.main(["verify", str(folder), "--states", "1"]) == 0


@pytest.mark.slow
def test_the_solver_with_drives_equals_riccati() -> None:
    driven = random_mechanism(40, 1)
    driven = replace(
        driven,
        joints=tuple(
            replace(joint, drive=Drive(*(Fraction(1, d) for d in (10, 5, 7, 2, 3))))
            for joint in driven.joints
        ),
    )
    q, v, tau = (np.array(state_of(40)[name]) for name in ("q", "v", "tau"))
    accelerations, expected = (
        symgen.compile(driven, [f"forward_dynamics={method}"], form="looped").forward_dynamics(
            q, v, tau
        )
        for method in ("riccati:segments", "riccati")
    )
    np.testing.assert_allclose(accelerations, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_other_functions_and_forms_are_refused_with_the_reason(tmp_path: Path) -> None:
    chain = random_mechanism(40, 1)
    for functions, more, error, message in (
        (
            ["forward_dynamics=riccati:segments"],
            {"form": "unrolled"},
            OutOfReach,
            "leave out --form unrolled",
        ),
        (["inverse_dynamics=riccati:segments"], {}, ArgumentError, "it computes forward_dynamics"),
        (
            ["forward_dynamics=riccati:segments"],
            {"real": "float"},
            OutOfReach,
            "fewer than 64 links",
        ),
    ):
        with pytest.raises(error, match=message):
            symgen.generate(chain, tmp_path / "out", functions, **more)
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(chain, "forward_dynamics", "riccati:segments")


@pytest.mark.parametrize(
    ("n", "trig"), [(64, "libm"), (100, "libm"), (100, "auto"), (100, "inline")]
)
def test_the_c_equals_the_evaluation(tmp_path: Path, n: int, trig: str) -> None:
    """With libm's sines the bits are equal, else results are near; vectorisation changes no bit."""
    program = chain_in_parts(n, 8)
    expected = evaluate(program, state_of(n), DOUBLES)["a"]
    file = written(tmp_path, program, trig)
    first = call(built(file, "-O1", "-Darm_NO_CLONES"), program, state_of(n))
    if trig == "libm":
        assert first == expected
    assert first == pytest.approx(expected, rel=1e-10, abs=1e-10)
    if trig == "auto":
        assert call(built(file), program, state_of(n)) == first


def test_another_number_of_lanes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="take a multiple of 8"):
        written(tmp_path, chain_in_parts(17, 4))
