"""Forward dynamics in segments: value for value that of the serial sweeps, in exact arithmetic, in C, and with slips planted."""

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
from symgen.pipeline.loops.riccati_segments import build_parts as segmented
from symgen.readback import loops
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
def wanted(n: int) -> list[arb]:
    with flint.ctx.workdps(100 + 3 * n):  # balls grow from link to link
        return run(serial(n), exactly(n), NUMBERS)["a"]


def exactly(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def off(one: LoopProgram) -> float:
    """The largest difference there may be from the serial sweeps, to the larger of 1 and the value."""
    n = len(one)
    with flint.ctx.workdps(100 + 3 * n):
        return max(
            float((abs(x - y) / (1 + abs(y))).upper())
            for x, y in zip(evaluate(one, exactly(n), NUMBERS)["a"], wanted(n), strict=True)
        )


@pytest.mark.parametrize(("n", "segments"), [(17, 2), (17, 4), (33, 4), (64, 8), (100, 8)])
def test_segments_are_the_serial_sweeps(n: int, segments: int) -> None:
    assert off(chain_in_parts(n, segments)) < 1e-50


@pytest.mark.usefixtures("polished_here")
def test_steps_do_not_know_how_many_segments_there_are() -> None:
    def steps(one: LoopProgram) -> list[object]:
        return [stage.programs for stage in one.stages]

    assert steps(segmented(ROBOTS[64], 8)) == steps(segmented(ROBOTS[64], 4))
    assert segmented(ROBOTS[100], 8).link_cost <= 812


@pytest.mark.parametrize("n", [17, 64, 100])
def test_digits_are_not_lost(n: int) -> None:
    """At most four times the error of the serial sweeps: of a hundred links it is 1.7e-15, where theirs is 1.9e-15."""
    one = chain_in_parts(n, 4 if n < 32 else 8)
    exact = [float(x) for x in wanted(n)]

    def error(found: list[float]) -> float:
        return max(abs(x - y) for x, y in zip(found, exact, strict=True)) / max(map(abs, exact))

    assert error(evaluate(one, state_of(n), DOUBLES)["a"]) <= 4 * error(
        run(serial(n), state_of(n), DOUBLES)["a"]
    )


@pytest.mark.parametrize("what", ["table", "start", "opening", "way", "step"])
def test_a_slip_is_seen(what: str) -> None:
    one = chain_in_parts(17, 4)
    stages = list(one.stages)
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
    elif what == "start":
        sweep = stages[3]
        assert isinstance(sweep, Sweep)
        stages[3] = replace(sweep, initial=(*sweep.initial[:-1], Fraction(1, 10**30)))
    elif what == "opening":
        stages[5] = replace(stages[5], opening=_slipped(stages[5].opening))  # type: ignore[union-attr]
    elif what == "way":
        stages[4] = replace(stages[4], step=_slipped(stages[4].step))  # type: ignore[union-attr]
    else:
        sweep = stages[6]
        assert isinstance(sweep, Sweep)
        stages[6] = replace(sweep, steps=(_slipped(sweep.steps[0]),))
    assert off(replace(one, stages=tuple(stages))) > 1e-40


def printed(one: LoopProgram, trig: str) -> str:
    return c99.source(one, aimed(one, trig))


def _slipped(step: Program) -> Program:
    """Where the last sum is a difference."""
    at = max(i for i, row in enumerate(step.rows) if row.op == "add")
    return replace(
        step,
        rows=tuple(row._replace(op="sub") if i == at else row for i, row in enumerate(step.rows)),
    )


def test_what_breaks_a_rule_is_refused() -> None:
    one = chain_in_parts(17, 4)
    sweep, way = one.stages[0], one.stages[1]
    assert isinstance(sweep, Sweep)
    assert isinstance(way, SequentialScan)
    for broken in (
        replace(one, part_lengths=even_lengths(17, 18)),
        replace(one, constants=((), *one.constants[1:])),
        replace(one, stages=one.stages[:-1]),
        replace(one, stages=(replace(sweep, initial=sweep.initial[1:]), *one.stages[1:])),
        replace(one, work=1),
        replace(one, stages=(sweep, replace(way, takes=1), *one.stages[2:])),
        replace(one, stages=(sweep, replace(way, gives=3), *one.stages[2:])),
        replace(one, stages=(sweep, replace(way, opening=way.step), *one.stages[2:])),
    ):
        with pytest.raises(ProgramError):
            check(broken)


def test_what_is_no_long_chain_of_like_links_is_refused() -> None:
    for mechanism in (
        random_mechanism(40, 1, "tree"),
        random_mechanism(40, 1, joints=("revolute", "prismatic")),
        random_mechanism(20, 1),
    ):
        with pytest.raises(OutOfReach, match=r"(is not|cannot be) cut into 8 segments"):
            segmented(mechanism, 8)


@pytest.mark.parametrize(("n", "segments"), [(64, 16), (100, 16), (100, 24)])
def test_groups_have_the_same_bits_at_the_same_time_and_in_turn(
    tmp_path: Path, n: int, segments: int
) -> None:
    """Of 100 links the first 4 segments have one more than the others."""
    one = chain_in_parts(n, segments)
    found = evaluate(one, state_of(n), DOUBLES)["a"]
    file = written(tmp_path, one, "libm")
    for flags in (("-O1", "-Darm_NO_CLONES"), ("-O1", "-Darm_NO_CLONES", "-fopenmp")):
        assert call(built(file, *flags), one, state_of(n)) == found


def test_segments_may_differ_in_length(tmp_path: Path) -> None:
    """The same numbers, whatever the lengths are; and in C, where rows of some segments are idle."""
    one = replace(
        chain_in_parts(64, 16), part_lengths=(9, 1, 2, 7, 3, 4, 4, 4, 2, 3, 6, 3, 5, 1, 8, 2)
    )
    assert off(check(one)) < 1e-50
    found = evaluate(one, state_of(64), DOUBLES)["a"]
    file = written(tmp_path, one, "libm")
    for flags in (("-O1", "-Darm_NO_CLONES"), ("-O1", "-Darm_NO_CLONES", "-fopenmp")):
        assert call(built(file, *flags), one, state_of(64)) == found
    for lengths in (
        (9, 1),
        (8, 2, *one.part_lengths[2:-1], 9),
        (10, *one.part_lengths[1:]),
        (9, 0, 3, *one.part_lengths[3:]),
    ):
        with pytest.raises(ProgramError):
            check(replace(one, part_lengths=lengths))


# -- where a chain is cut --------------------------------------------------------------------------------------------------------


def crossed(n: int, heavy: int) -> Mechanism:
    """Every second joint crosses the one before it, and the link between them has no mass, as in universal joints."""
    made = random_mechanism(n, 1)
    bodies = tuple(
        body if i % 2 == heavy or i == n - 1 else replace(body, parts=())
        for i, body in enumerate(made.bodies)
    )
    return replace(made, bodies=bodies, name="crossed")


@pytest.mark.parametrize("heavy", [0, 1])
def test_no_segment_ends_in_links_without_mass(heavy: int) -> None:
    """Even ones would, of either robot; they are as long as each other but for one link or two."""
    made = crossed(41 - heavy, heavy)
    lengths, most = segment_lengths.balanced_lengths(made, 8)
    ends = np.cumsum(lengths)
    assert all(made.bodies[end - 1].parts for end in ends)
    assert ends[-1] == len(made.joints)
    assert max(lengths) - min(lengths) <= 3
    assert most < segment_lengths.LIGHT
    report = symgen.verify(made, ["forward_dynamics=riccati:segments"], states=2)
    assert report.passed
    assert not report.lost


@pytest.mark.parametrize("seed", range(12))
def test_every_cut_is_one(seed: int) -> None:
    """No segment is empty, or longer than the first, wherever it is good to cut; an end is moved where that is better."""
    random = Random(seed)
    plain = even_lengths(*random.choice(((33, 8), (40, 8), (64, 16), (100, 8), (257, 64))))
    freer = {
        end: random.choice((1.0, 100.0, 101.0, 1e6, float("inf"))) for end in range(sum(plain) + 1)
    }
    found = segment_lengths.ends(plain, freer.__getitem__)
    lengths = [b - a for a, b in pairwise((0, *found))]
    assert (len(lengths), sum(lengths)) == (len(plain), sum(plain))
    assert min(lengths) > 0
    assert max(lengths) == lengths[0]
    for g, (end, evenly) in enumerate(zip(found[:-1], accumulate(plain), strict=False)):
        assert end == evenly or freer[evenly] > 100 or evenly - found[g - 1] > found[0]


def test_a_cut_moves_to_the_nearest_place_that_will_do_or_to_the_best_one() -> None:
    def cuts(**freer: float) -> list[int]:
        return segment_lengths.ends([9, 9, 9, 9], lambda end: freer.get(f"at{end}", 1.0))[:-1]

    assert cuts(at9=100, at18=100) == [9, 18, 27]
    assert cuts(at9=101, at18=101) == [10, 17, 27]
    assert cuts(at18=1e6, at17=1e4, at19=1e5, at16=200, at20=99) == [
        9,
        18,
        27,
    ]  # which would be longer than the first
    assert cuts(at9=101, at10=101, at11=101, at18=1e6, at17=1e4, at19=1e3, at16=1e3, at20=99) == [
        12,
        20,
        27,
    ]
    assert cuts(at9=1e3, at10=300, at11=200, at12=201, at27=1e3, at26=500, at28=400) == [11, 18, 25]


def test_long_chains_are_cut_into_groups() -> None:
    counts = [
        segment_lengths.segment_count(SimpleNamespace(nv=n), real)
        for real in ("double", "float")
        for n in (40, 2047, 2048, 10**5)
    ]
    assert counts == [8, 8, 16, 64, 16, 16, 32, 128]


def test_an_ordinary_chain_is_cut_evenly() -> None:
    assert segment_lengths.balanced_lengths(ROBOTS[64], 8)[0] == (8,) * 8
    assert segment_lengths.term_ratio(ROBOTS[64], "double") == 1


def test_a_chain_that_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    """Every sixth link has a mass. In loops it is verified, though balls that forward dynamics are taken through grow wide."""
    made = ROBOTS[64]
    made = replace(
        made,
        bodies=tuple(
            replace(body, parts=body.parts if i % 6 == 4 or i > 59 else ())
            for i, body in enumerate(made.bodies)
        ),
    )
    with pytest.raises(
        OutOfReach,
        match="without the links behind 'link7', or near it, a joint moves no inertia",
    ):
        symgen.generate(made, tmp_path / "out", ["forward_dynamics=riccati:segments"])
    assert symgen.verify(made, ["forward_dynamics=riccati"], form="looped", states=1).passed


@pytest.mark.parametrize("n", [40, 120])
def test_digits_that_light_ends_cost_are_told(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By either road of `verify`."""
    monkeypatch.setattr(segment_lengths, "balanced_lengths", lambda *_: (even_lengths(n, 8), 1e16))
    report = symgen.verify(random_mechanism(n, 1), ["forward_dynamics=riccati:segments"], states=1)
    assert not report.failures
    assert len(report.lost) == 1


def test_tails_resist_as_chains_that_end_there() -> None:
    """1/(M⁻¹)_kk of what joint k carries, of the whole chain and of what is left of it."""
    made, end = random_mechanism(7, 3), 4
    made = replace(
        made,
        joints=tuple(replace(joint, drive=Drive(armature=Fraction(1, 9))) for joint in made.joints),
    )
    left = replace(
        made, joints=made.joints[:end], bodies=made.bodies[:end], frames=made.frames[:end]
    )
    q = Tails(made).q
    wanted = 1.0
    for k in range(end):
        own, whole = (
            1 / np.linalg.inv(Reference(one).mass_matrix(q[:, : one.nv])[:, k:, k:])[:, 0, 0]
            for one in (left, made)
        )
        np.testing.assert_allclose(np.array(Tails(made).pivots[k]), whole, rtol=1e-9)
        wanted = max(wanted, float((whole / own).max()))
    assert len(q) == STATES
    assert Tails(made).freer(len(made.joints)) == 1
    assert Tails(made).freer(end) == pytest.approx(wanted, rel=0.05)


SLIPS = {
    "a sign": (" + t", " - t"),
    "another link": ("places[lane] + row]", "places[lane] - row]"),
    "another constant": ("table[5][", "table[6]["),
    "a row too few": ("row < 13", "row < 12"),
    "another segment": ("segment % 8", "segment % 7"),
    "another result": ("a[0][lane] = ", "a[0][lane] = -"),
    "a place of the work": ("&work[(23*row)", "&work[(22*row)"),
    "what a compiler reads otherwise": ("/* of every", "// of every"),
}


def test_the_text_is_read_back() -> None:
    """Steps as rows, all else by interpretation."""
    one = chain_in_parts(100, 8)
    for trig in ("libm", "auto", "inline"):
        text = printed(one, trig)
        assert loops.compare(one, text) == []
    # What is printed may be wrong itself: steps are read, not only words.
    adding = [step for step in one.programs if step.operations["add"]]
    other = one.by(lambda step: _slipped(step) if step.operations["add"] else step)
    assert len(loops.compare(other, text)) >= len(adding) > 3


def test_a_slip_in_the_header_is_seen() -> None:
    one = chain_in_parts(100, 8)
    text, header = (
        printed(one, "libm"),
        c99.headers({one.function: one}, aimed(one, "libm"))["arm.h"],
    )
    assert loops.compare(one, text, header) == []
    size = f"#define arm_WORK {c99.work(one)}"
    assert size in header
    for slipped in (
        header.replace(size, f"#define arm_WORK {c99.work(one) - 1}"),
        header.replace(size, ""),
        header.replace(size, f"{size}\n#define tau v"),
        header.replace("#define arm_NV 100", "#define arm_NV 99"),
    ):
        assert slipped != header
        assert loops.compare(one, text, slipped)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_text_is_seen(slip: str) -> None:
    one, (old, new) = chain_in_parts(100, 8), SLIPS[slip]
    text = printed(one, "libm")
    assert old in text
    assert loops.compare(one, text.replace(old, new, 1))


def test_generate_gives_it_and_verify_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a chain in two groups, as longer ones have them; CMake's own way to OpenMP passes the self-test too."""
    monkeypatch.setattr(segment_lengths, "GROUP", 32)
    chain, folder = tmp_path / "chain.toml", tmp_path / "chain"
    symgen.convert(random_mechanism(64, 1), chain)
    manifest = symgen.generate(chain, folder, ["forward_dynamics=riccati:segments"], name="chain")
    assert manifest["functions"]["forward_dynamics"]["method"] == "riccati:segments"
    assert "forward_dynamics=riccati:segments" in manifest["command"]
    assert "cuts the chain into 16 segments" in (folder / "README.md").read_text()
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


def test_the_solver_has_it_with_drives() -> None:
    driven = random_mechanism(40, 1)
    driven = replace(
        driven,
        joints=tuple(
            replace(joint, drive=Drive(*(Fraction(1, d) for d in (10, 5, 7, 2, 3))))
            for joint in driven.joints
        ),
    )
    q, v, tau = (np.array(state_of(40)[name]) for name in ("q", "v", "tau"))
    found, wanted = (
        symgen.compile(driven, [f"forward_dynamics={method}"], form="looped").forward_dynamics(
            q, v, tau
        )
        for method in ("riccati:segments", "riccati")
    )
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_who_cannot_have_it_is_told(tmp_path: Path) -> None:
    chain = random_mechanism(40, 1)
    for wanted, more, error, said in (
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
        with pytest.raises(error, match=said):
            symgen.generate(chain, tmp_path / "out", wanted, **more)
    with pytest.raises(RequestError, match="exists only in looped form"):
        symgen.program(chain, "forward_dynamics", "riccati:segments")


@pytest.mark.parametrize(
    ("n", "trig"), [(64, "libm"), (100, "libm"), (100, "auto"), (100, "inline")]
)
def test_c_is_what_is_evaluated(tmp_path: Path, n: int, trig: str) -> None:
    """With <math.h> bit for bit, whether a compiler takes lanes together or not; with sines of its own within their error."""
    one = chain_in_parts(n, 8)
    found = evaluate(one, state_of(n), DOUBLES)["a"]
    file = written(tmp_path, one, trig)
    first = call(built(file, "-O1", "-Darm_NO_CLONES"), one, state_of(n))
    if trig == "libm":
        assert first == found
    assert first == pytest.approx(found, rel=1e-10, abs=1e-10)
    if trig == "auto":
        assert call(built(file), one, state_of(n)) == first


def test_another_number_of_lanes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="take a multiple of 8"):
        written(tmp_path, chain_in_parts(17, 4))
