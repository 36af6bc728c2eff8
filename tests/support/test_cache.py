"""What is kept on disk: the same bytes as without it, nothing of it believed that is not whole, and nothing derived twice."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.description.loading import load
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, choose, derive
from symgen.pipeline.serialize import from_plain, to_plain
from symgen.reference import singularity
from symgen.support import cache, version
from symgen.support.errors import OutOfReach
from symgen.verification.evaluating import machine_runner
from tests.golden import texts
from tests.shared.robots_for_tests import program

ROOT = Path(__file__).resolve().parents[2]


def forget() -> None:
    """Be a new process."""
    for known in (build._build, derive._attempt, build.rank_loss):
        known.cache_clear()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    monkeypatch.delenv("SYMGEN_CACHE_PROGRAMS")
    forget()
    yield tmp_path / "kept"
    forget()


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(function, method) of every derivation."""
    begun: list[tuple[str, str]] = []
    recorded = derive.record

    def watched(mechanism: Mechanism, function: str, method: str, *rest: Any) -> Program:
        begun.append((function, method))
        return recorded(mechanism, function, method, *rest)

    monkeypatch.setattr(derive, "record", watched)
    return begun


@pytest.mark.parametrize(
    "function", ["gravity_force", "mass_matrix_log_determinant", "jacobian", "mass_matrix_and_bias"]
)
def test_a_program_comes_back_as_it_was(function: str) -> None:
    one = replace(program("scara", function), passed_over=(("riccati", "why"),))
    back = from_plain(json.loads(json.dumps(to_plain(one))))
    assert back == one
    assert back.passed_over == one.passed_over


def test_what_is_no_program_is_none() -> None:
    plain = to_plain(program("planar_arm", "gravity_force", "newton_euler"))
    assert from_plain(plain) is not None
    for key in plain:
        assert from_plain({k: v for k, v in plain.items() if k != key}) is None
    for key, wrong in (
        ("operations", plain["operations"][:-1]),
        ("operations", "z" * len(plain["operations"])),
        ("operands", []),
        ("operands", [-1, *plain["operands"][1:]]),
        ("operands", [True, *plain["operands"][1:]]),
        ("operands", [*plain["operands"], 0]),
        ("constants", ["1/0"] * len(plain["constants"])),
        ("outputs", [["g", [99], [0]]]),
        ("names", [[0, 7]]),
        ("begins", [[0, 999]]),
    ):
        assert from_plain(plain | {key: wrong}) is None, key
    assert from_plain(None) is None


def test_a_second_process_derives_nothing_and_writes_the_same_bytes(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SYMGEN_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
        "SYMGEN_CACHE_PROGRAMS": "",
    }
    code = """if True:
        import sys
        from symgen import cli
        from symgen.pipeline import derive as deriving
        from symgen.reference import singularity as regularity
        def fail(*_): raise AssertionError("worked out again")
        if sys.argv[1] == "second": deriving.record = regularity.pivots = fail
        words = ["generate", "planar_arm", "--checked", "-f", "mass_matrix", "-f", "forward_dynamics=udut", "-o"]
        sys.exit(cli.main([*words, sys.argv[2]]))"""
    assert (
        cli.main(
            [
                "generate",
                "planar_arm",
                "--checked",
                "-f",
                "mass_matrix",
                "-f",
                "forward_dynamics=udut",
                "-o",
                str(tmp_path / "without" / "c"),
            ]
        )
        == 0
    )
    for run in ("first", "second"):
        done = subprocess.run(
            [sys.executable, "-c", code, run, str(tmp_path / run / "c")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert texts(tmp_path / "first") == texts(tmp_path / "second") == texts(tmp_path / "without")


def test_what_only_the_text_needs_is_found_under_one_key(
    kept: Path, derived: list[tuple[str, str]]
) -> None:
    first = symgen.program("planar_arm", "forward_dynamics")
    forget()
    derived.clear()
    assert (
        symgen.program("planar_arm", "forward_dynamics", first.method, real="float").rows
        == first.rows
    )
    assert symgen.program("planar_arm", "forward_dynamics") == first
    assert derived == []
    symgen.program("planar_point_mass:2", "gravity_force")  # another mechanism
    assert derived


def others(value: Any) -> Iterator[Any]:
    """The value with one name or number in it changed, each once."""
    if isinstance(value, Fraction):
        yield value + Fraction(1, 10**30)
    elif isinstance(value, str):
        yield f"{value} "
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, tuple):
        for i, one in enumerate(value):
            yield from ((*value[:i], other, *value[i + 1 :]) for other in others(one))
    elif is_dataclass(value):
        for one in (
            one for one in fields(value) if one.compare
        ):  # the others are no part of what is declared
            for other in others(getattr(value, one.name)):
                changed = copy(value)
                object.__setattr__(changed, one.name, other)  # not validated: a parent may be none
                yield changed


def test_no_two_declarations_have_one_key() -> None:
    """Every name and number of a declaration is in its key, to the last digit; where it was read is not."""
    made = load("ur5", snap="off")
    told = [
        name for name in vars(made) if name not in ("content", "notes", "source", "source_sha256")
    ]
    keys = {made.content}
    changes = 0
    for name in told:
        for other in others(getattr(made, name)):
            changed = replace(made)
            object.__setattr__(changed, name, other)
            keys.add(changed.content)
            changes += 1
    assert changes > 200
    assert len(keys) == changes + 1
    assert replace(made, notes=(), source="elsewhere").content == made.content


def test_what_snapping_moves_is_another_robot(kept: Path) -> None:
    text = """<robot name="two"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="one" type="continuous"><parent link="base"/><child link="arm"/><origin rpy="1.5708 0 0"/></joint></robot>"""
    g = {
        snap: machine_runner(symgen.program(load(text, snap=snap), "gravity_force"))(
            {"q": np.array([[0.5]])}
        )["g"][0, 0]
        for snap in (None, "off")
    }
    assert 0 < abs(g[None] - g["off"]) < 1e-4


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """The entry with other facts under a right hash, as only its owner could write it."""
    start = len(cache.FORMAT) + 65
    entry = json.loads(path.read_bytes()[start:])
    change(entry)
    payload = json.dumps(entry).encode()
    path.write_bytes(cache.FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_another_key(path: Path) -> None:
    rewritten(path, lambda entry: entry["key"].append("other"))


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def elsewhere(path: Path) -> None:
    there = path.with_suffix(".moved")
    path.rename(there)
    path.symlink_to(there)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil", [cut, flip, empty, of_another_key, open_to_all, elsewhere, a_folder]
)
def test_an_entry_that_is_not_whole_is_worked_out_again(
    spoil: Callable[[Path], None],
    kept: Path,
    derived: list[tuple[str, str]],
) -> None:
    first = symgen.program("planar_arm", "gravity_force")
    assert sorted(path.name.partition("-")[0] for path in kept.iterdir()) == ["choice", "program"]
    for path in list(kept.iterdir()):
        spoil(path)
    forget()
    derived.clear()
    assert symgen.program("planar_arm", "gravity_force") == first
    assert derived


@pytest.mark.parametrize("change", ["version", "source", "edited"])
def test_another_symgen_does_not_believe_it(
    change: str, kept: Path, derived: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    symgen.program("planar_arm", "gravity_force")
    if change == "version":
        monkeypatch.setattr(version, "__version__", "0.0.9")
    elif change == "source":
        monkeypatch.setattr(cache, "_source", lambda: ("another", "3.0"))
    else:
        monkeypatch.setattr(version, "STARTED", 0.0)  # every file is younger
        before = sorted(kept.iterdir())
    forget()
    derived.clear()
    symgen.program("planar_arm", "gravity_force")
    assert derived
    if change == "edited":
        assert (
            sorted(kept.iterdir()) == before
        )  # and keeps nothing, since what ran may not be what lies there


def test_the_stamp_depends_on_every_file_of_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {os.path.relpath(path, ROOT) for path in cache._files()}
    assert {
        "symgen/methods/riccati/filter.py",
        "symgen/ir/passes/fold.py",
        "templates/c99/README.md.j2",
    } <= names
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    stamps = set()
    for one, other in (("1", "2"), ("12", ""), ("1", "3")):
        first.write_text(one)
        second.write_text(other)
        monkeypatch.setattr(cache, "_files", lambda: (str(first), str(second)))
        stamps.add(cache._source.__wrapped__())
    assert len(stamps) == 3
    monkeypatch.setattr(cache, "_files", lambda: (str(tmp_path / "gone.py"),))
    assert cache._edited()  # nothing may be kept of what cannot be looked at


def test_a_refusal_is_kept_as_well(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> Program:
        raise OutOfReach("too long")

    def fails(*_: object) -> Program:
        raise AssertionError("asked again")

    for answer in (refuses, fails):
        forget()
        monkeypatch.setattr(choose, "best_program", answer)
        with pytest.raises(OutOfReach, match="too long"):
            symgen.program("planar_arm", "gravity_force")


def test_regularity_is_kept_as_well(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm, lost = symgen.load("planar_arm"), singularity.RankLoss("j", 0.25, 120)
    for payload, answer in ((None, None), ("link2", lost)):
        monkeypatch.setattr(singularity, "find_rank_loss", lambda *_, answer=answer: answer)
        assert build.rank_loss(arm, payload) == answer
        build.rank_loss.cache_clear()
        monkeypatch.setattr(singularity, "find_rank_loss", lambda *_: pytest.fail("asked again"))
        assert build.rank_loss(arm, payload) == answer


@pytest.mark.parametrize("how", ["a link", "any may write it"])
def test_nothing_is_kept_in_a_folder_that_another_can_have_laid_out(
    how: str, kept: Path, tmp_path: Path
) -> None:
    if how == "a link":
        (tmp_path / "there").mkdir(mode=0o700)
        kept.symlink_to(tmp_path / "there")
    else:
        kept.mkdir()
        kept.chmod(0o777)
    assert symgen.program("planar_arm", "gravity_force")
    assert list(kept.iterdir()) == []


def test_a_disk_that_refuses_is_no_failure(kept: Path) -> None:
    kept.parent.joinpath("kept").write_text("a file stands in the way")
    assert symgen.program("planar_arm", "gravity_force").rows


def test_what_was_not_used_for_longest_goes_first(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LARGEST", 50_000)
    monkeypatch.setattr(cache, "_written", 0)
    for i in range(40):
        cache.keep("x" * 4000, "thing", i)
        for path in kept.iterdir():  # a clock that is coarser than this loop
            os.utime(path, (path.stat().st_mtime - 100,) * 2)
        assert cache.find("thing", 0) is not None
    assert sum(path.stat().st_size for path in kept.iterdir()) <= 60_000
    assert cache.find("thing", 39) is not None
    assert cache.find("thing", 1) is None


def test_verify_judges_a_kept_program_like_any_other(kept: Path) -> None:
    assert symgen.verify("planar_arm", ["gravity_force"], states=2).passed
    forget()

    def wrong(entry: dict[str, Any]) -> None:
        plain = entry["facts"]["program"]
        plain["operations"] = plain["operations"].replace("m", "t", 1)

    for path in kept.glob("program-*"):
        rewritten(path, wrong)
    report = symgen.verify("planar_arm", ["gravity_force"], states=2)
    assert not report.passed
    assert any(check.kind == "algebra" and not check.passed for check in report.checks)


def test_a_second_process_has_its_solver_without_deriving_or_printing(tmp_path: Path) -> None:
    """It does not even import SymPy, which would take longer than all the rest; and answers to the last bit alike."""
    environment = {
        **os.environ,
        "SYMGEN_CACHE": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "SYMGEN_CACHE_PROGRAMS": "",
    }
    code = """if True:
        import sys, symgen
        solver = symgen.compile("planar_arm", ["gravity_force"], "float", optimize=0, checked=True)
        print(solver.gravity_force([1, 2]).tobytes().hex(), solver.gravity_force.__doc__, repr(solver))
        print({"sympy", "flint"} & set(sys.modules), file=sys.stderr)
        print({name: (one.method, one.cost, one.real) for name, one in solver.programs.items()})"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert runs[1].stderr.strip() == "set()"
