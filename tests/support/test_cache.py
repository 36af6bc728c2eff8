"""Cache on disk: equal output, no second derivation, and no use of damaged or foreign entries."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
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


def clear_memory() -> None:
    """Clear the caches in memory, as in a new process."""
    for cached_function in (build._build, derive._attempt, build.rank_loss):
        cached_function.cache_clear()


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    monkeypatch.delenv("SYMGEN_CACHE_PROGRAMS")
    clear_memory()
    yield tmp_path / "kept"
    clear_memory()


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list to which each derivation adds its (function, method)."""
    begun: list[tuple[str, str]] = []
    recorded = derive.record

    def watched(mechanism: Mechanism, function: str, method: str, *arguments: Any) -> Program:
        begun.append((function, method))
        return recorded(mechanism, function, method, *arguments)

    monkeypatch.setattr(derive, "record", watched)
    return begun


@pytest.mark.parametrize(
    "function", ["gravity_force", "mass_matrix_log_determinant", "jacobian", "mass_matrix_and_bias"]
)
def test_a_serialized_program_is_restored_without_loss(function: str) -> None:
    derived = replace(program("scara", function), passed_over=(("riccati", "why"),))
    restored = from_plain(json.loads(json.dumps(to_plain(derived))))
    assert restored == derived
    assert restored.passed_over == derived.passed_over


def test_data_that_are_no_program_are_rejected() -> None:
    data = to_plain(program("planar_arm", "gravity_force", "newton_euler"))
    assert from_plain(data) is not None
    for key in data:
        assert from_plain({k: v for k, v in data.items() if k != key}) is None
    for key, wrong in (
        ("operations", data["operations"][:-1]),
        ("operations", "z" * len(data["operations"])),
        ("operands", []),
        ("operands", [-1, *data["operands"][1:]]),
        ("operands", [True, *data["operands"][1:]]),
        ("operands", [*data["operands"], 0]),
        ("constants", ["1/0"] * len(data["constants"])),
        ("outputs", [["g", [99], [0]]]),
        ("names", [[0, 7]]),
        ("begins", [[0, 999]]),
    ):
        assert from_plain(data | {key: wrong}) is None, key
    assert from_plain(None) is None


@pytest.mark.slow
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
        words = ["generate", "planar_arm", "--checked", "-f", "mass_matrix"]
        words += ["-f", "forward_dynamics=udut", "-o"]
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


def test_options_of_the_text_alone_do_not_change_the_key(
    cache_folder: Path, derivations: list[tuple[str, str]]
) -> None:
    first = symgen.program("planar_arm", "forward_dynamics")
    clear_memory()
    derivations.clear()
    assert (
        symgen.program("planar_arm", "forward_dynamics", first.method, real="float").rows
        == first.rows
    )
    assert symgen.program("planar_arm", "forward_dynamics") == first
    assert derivations == []
    symgen.program("planar_point_mass:2", "gravity_force")  # another mechanism
    assert derivations


def changed_values(value: Any) -> Iterator[Any]:
    """Yield copies of a value, each with one of its names or numbers changed."""
    if isinstance(value, Fraction):
        yield value + Fraction(1, 10**30)
    elif isinstance(value, str):
        yield f"{value} "
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, tuple):
        for i, element in enumerate(value):
            yield from (
                (*value[:i], changed_part, *value[i + 1 :])
                for changed_part in changed_values(element)
            )
    elif is_dataclass(value):
        # fields without comparison are not declared
        for element in (element for element in fields(value) if element.compare):
            for changed_part in changed_values(getattr(value, element.name)):
                changed_value = copy(value)
                # no validation, since the changed parent may not exist
                object.__setattr__(changed_value, element.name, changed_part)
                yield changed_value


def test_every_change_of_a_declaration_changes_the_key() -> None:
    """The key depends on each name and on each digit of a number, but not on notes and source."""
    mechanism = load("ur5", snap="off")
    declared = [
        name
        for name in vars(mechanism)
        if name not in ("content", "notes", "source", "source_sha256")
    ]
    keys = {mechanism.content}
    changes = 0
    for name in declared:
        for changed_value in changed_values(getattr(mechanism, name)):
            changed = replace(mechanism)
            object.__setattr__(changed, name, changed_value)
            keys.add(changed.content)
            changes += 1
    assert changes > 200
    assert len(keys) == changes + 1
    assert replace(mechanism, notes=(), source="elsewhere").content == mechanism.content


def test_a_robot_with_snapping_has_another_key(cache_folder: Path) -> None:
    text = """<robot name="two"><link name="base"/>
        <link name="arm"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="one" type="continuous"><parent link="base"/><child link="arm"/>
        <origin rpy="1.5708 0 0"/></joint></robot>"""
    g = {
        snap: machine_runner(symgen.program(load(text, snap=snap), "gravity_force"))(
            {"q": np.array([[0.5]])}
        )["g"][0, 0]
        for snap in (None, "off")
    }
    assert 0 < abs(g[None] - g["off"]) < 1e-4


def rewrite_entry(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the facts of an entry and give it the right hash."""
    payload_start = len(cache.FORMAT) + 65
    entry = json.loads(path.read_bytes()[payload_start:])
    change(entry)
    payload = json.dumps(entry).encode()
    path.write_bytes(cache.FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(bytes(data))


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


def change_key(path: Path) -> None:
    rewrite_entry(path, lambda entry: entry["key"].append("other"))


def make_writable_by_all(path: Path) -> None:
    path.chmod(0o666)


def replace_by_link(path: Path) -> None:
    target = path.with_suffix(".moved")
    path.rename(target)
    path.symlink_to(target)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        truncate,
        flip_bit,
        make_empty,
        change_key,
        make_writable_by_all,
        replace_by_link,
        replace_by_folder,
    ],
)
def test_a_program_is_derived_again_if_its_entry_is_damaged(
    spoil: Callable[[Path], None],
    cache_folder: Path,
    derivations: list[tuple[str, str]],
) -> None:
    first = symgen.program("planar_arm", "gravity_force")
    assert sorted(path.name.partition("-")[0] for path in cache_folder.iterdir()) == [
        "choice",
        "program",
    ]
    for path in list(cache_folder.iterdir()):
        spoil(path)
    clear_memory()
    derivations.clear()
    assert symgen.program("planar_arm", "gravity_force") == first
    assert derivations


@pytest.mark.parametrize("change", ["version", "source", "edited"])
def test_an_entry_of_another_version_of_symgen_is_ignored(
    change: str,
    cache_folder: Path,
    derivations: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    symgen.program("planar_arm", "gravity_force")
    if change == "version":
        monkeypatch.setattr(version, "__version__", "0.0.9")
    elif change == "source":
        monkeypatch.setattr(cache, "_source", lambda: ("another", "3.0"))
    else:
        monkeypatch.setattr(version, "STARTED", 0.0)  # every file is newer
        before = sorted(cache_folder.iterdir())
    clear_memory()
    derivations.clear()
    symgen.program("planar_arm", "gravity_force")
    assert derivations
    if change == "edited":
        # no entry is stored: the running code may differ from the files
        assert sorted(cache_folder.iterdir()) == before


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
    for first_text, second_text in (("1", "2"), ("12", ""), ("1", "3")):
        first.write_text(first_text)
        second.write_text(second_text)
        monkeypatch.setattr(cache, "_files", lambda: (str(first), str(second)))
        stamps.add(cache._source.__wrapped__())
    assert len(stamps) == 3
    monkeypatch.setattr(cache, "_files", lambda: (str(tmp_path / "gone.py"),))
    assert cache._edited()  # a missing file counts as edited


def test_a_refusal_is_cached(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> Program:
        raise OutOfReach("too long")

    def fails(*_: object) -> Program:
        raise AssertionError("asked again")

    for answer in (refuses, fails):
        clear_memory()
        monkeypatch.setattr(choose, "best_program", answer)
        with pytest.raises(OutOfReach, match="too long"):
            symgen.program("planar_arm", "gravity_force")


def test_rank_loss_is_cached(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm, lost = symgen.load("planar_arm"), singularity.RankLoss("j", 0.25, 120)
    for payload, answer in ((None, None), ("link2", lost)):
        monkeypatch.setattr(singularity, "find_rank_loss", lambda *_, answer=answer: answer)
        assert build.rank_loss(arm, payload) == answer
        build.rank_loss.cache_clear()
        monkeypatch.setattr(singularity, "find_rank_loss", lambda *_: pytest.fail("asked again"))
        assert build.rank_loss(arm, payload) == answer


@pytest.mark.parametrize("kind", ["a link", "writable by all"])
def test_no_entry_is_written_to_a_link_or_to_a_folder_that_all_can_write(
    kind: str, cache_folder: Path, tmp_path: Path
) -> None:
    if kind == "a link":
        (tmp_path / "there").mkdir(mode=0o700)
        cache_folder.symlink_to(tmp_path / "there")
    else:
        cache_folder.mkdir()
        cache_folder.chmod(0o777)
    assert symgen.program("planar_arm", "gravity_force")
    assert list(cache_folder.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_no_error(cache_folder: Path) -> None:
    cache_folder.parent.joinpath("kept").write_text("a file stands in the way")
    assert symgen.program("planar_arm", "gravity_force").rows


def test_the_least_recently_used_entries_are_removed_first(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LARGEST", 50_000)
    monkeypatch.setattr(cache, "_written", 0)
    for i in range(40):
        cache.keep("x" * 4000, "thing", i)
        for path in cache_folder.iterdir():  # the clock of the disk is too coarse for this loop
            os.utime(path, (path.stat().st_mtime - 100,) * 2)
        assert cache.find("thing", 0) is not None
    assert sum(path.stat().st_size for path in cache_folder.iterdir()) <= 60_000
    assert cache.find("thing", 39) is not None
    assert cache.find("thing", 1) is None


def test_verify_fails_on_a_wrong_program_from_the_cache(cache_folder: Path) -> None:
    assert symgen.verify("planar_arm", ["gravity_force"], states=2).passed
    clear_memory()

    def wrong(entry: dict[str, Any]) -> None:
        data = entry["facts"]["program"]
        data["operations"] = data["operations"].replace("m", "t", 1)

    for path in cache_folder.glob("program-*"):
        rewrite_entry(path, wrong)
    report = symgen.verify("planar_arm", ["gravity_force"], states=2)
    assert not report.passed
    assert any(check.kind == "algebra" and not check.passed for check in report.checks)


@pytest.mark.slow
def test_a_second_process_gets_its_solver_without_importing_sympy(tmp_path: Path) -> None:
    """Both processes print equal bits; the import of SymPy would take most of the time."""
    environment = {
        **os.environ,
        "SYMGEN_CACHE": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "SYMGEN_CACHE_PROGRAMS": "",
    }
    code = """if True:
        import sys, symgen
        solver = symgen.compile("planar_arm", ["gravity_force"], "float", optimize=0, checked=True)
        function = solver.gravity_force
        print(function([1, 2]).tobytes().hex(), function.__doc__, repr(solver))
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


# -- the parts of the cache ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"SYMGEN_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"SYMGEN_CACHE": "~/a"}, "/home/me/a"),
        ({"SYMGEN_CACHE": "", "XDG_CACHE_HOME": "/b"}, "/b/symgen"),
        ({}, "/home/me/.cache/symgen"),
    ],
)
def test_the_folder_is_named_by_the_first_variable_that_is_set(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SYMGEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache.cache_folder() == Path(folder)


def test_facts_are_found_under_their_whole_key(cache_folder: Path) -> None:
    facts = {"a": [1, None, "é"], "b": 0.25}
    cache.keep(facts, "thing", "x", 1)
    assert cache.find("thing", "x", 1) == facts
    assert cache.is_kept("thing", "x", 1)
    for kind, *key in (("thing", "x"), ("thing", "x", 2), ("other", "x", 1), ("thing", "x", 1, 1)):
        assert cache.find(kind, *key) is None
        assert not cache.is_kept(kind, *key)
    cache.keep([2], "thing", "x", 1)
    assert cache.find("thing", "x", 1) == [2]
    assert [path.name.partition("-")[0] for path in cache_folder.iterdir()] == ["thing"]
    assert stat.S_IMODE(cache_folder.stat().st_mode) == 0o700


def test_facts_and_keys_that_json_cannot_represent_are_not_stored(cache_folder: Path) -> None:
    cache.keep(math.nan, "thing", 1)
    cache.keep(1, "thing", object())
    assert cache.find("thing", object()) is None
    assert not cache.is_kept("thing", object())
    assert cache.find("thing", 1) is None
    assert not cache_folder.exists() or list(cache_folder.iterdir()) == []


def test_an_entry_is_read_and_written_up_to_its_longest_size(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_LONGEST_ENTRY", 3000)
    cache.keep("x" * 2000, "thing", 1)
    assert cache.find("thing", 1) == "x" * 2000
    cache.keep("x" * 3000, "thing", 2)
    assert not cache.is_kept("thing", 2)
    # the file of an entry has a head of 79 bytes; 1000 are allowed
    monkeypatch.setattr(cache, "_LONGEST_ENTRY", 1000)
    assert cache.find("thing", 1) is None
    monkeypatch.setattr(cache, "_LONGEST_ENTRY", 1500)
    assert cache.find("thing", 1) == "x" * 2000


def test_facts_in_memory_are_found_without_a_cache_on_disk(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE_PROGRAMS", "Off")
    cache.keep(1, "thing", "x")
    assert cache.find("thing", "x") is None
    with cache.in_memory() as outer:
        cache.keep([1], "thing", "x")
        assert cache.find("thing", "x") == [1]
        assert cache.is_kept("thing", "x")
        assert not cache.is_kept("thing", "y")
        with cache.in_memory() as inner:
            assert inner is outer
        cache.keep(object(), "thing", "y")
        cache.keep([2], "thing", object())
        assert [*outer.values()] == ["[1]"]
        assert cache.find("thing", "y") is None
    assert cache.find("thing", "x") is None
    assert not cache_folder.exists()


@pytest.mark.parametrize(
    ("value", "enabled"), [("", True), ("on", True), ("0", False), ("NO", False)]
)
def test_the_cache_is_disabled_by_its_variable(
    value: str, enabled: bool, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE_PROGRAMS", value)
    stamp = cache.stamp()
    assert (stamp is not None) == enabled
    if stamp is not None:
        assert stamp[0] == version.__version__
        assert stamp[2] == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_only_a_regular_file_of_the_user_that_no_other_may_write_is_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    for mode, private in ((0o600, True), (0o644, True), (0o664, False), (0o646, False)):
        path.chmod(mode)
        assert cache.is_private_file(path.stat()) == cache.is_private(path.stat()) == private
    tmp_path.chmod(0o700)
    assert cache.is_private(tmp_path.stat())
    assert not cache.is_private_file(tmp_path.stat())
    fields_of_status = list(path.stat())
    assert cache.is_owned(path.stat())
    fields_of_status[stat.ST_UID] += 1
    assert not cache.is_owned(os.stat_result(fields_of_status))


def test_entries_are_deleted_from_the_oldest_on_until_they_are_small_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the size of each deleted entry counts, so that deletion is rare."""
    for age in range(8):
        path = tmp_path / f"entry{age}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 - age, 1000 - age))
    monkeypatch.setattr(cache, "LARGEST", 800)
    monkeypatch.setattr(cache, "_written", 0)
    cache._delete_oldest(tmp_path, 99)  # less than an eighth of LARGEST was written
    monkeypatch.setattr(cache, "LARGEST", 400)
    assert len(list(tmp_path.iterdir())) == 8
    cache._delete_oldest(tmp_path, 1)
    assert {path.name for path in tmp_path.iterdir()} == {f"entry{age}" for age in range(6)}
    assert cache._written == 0


def test_source_files_are_those_of_python_and_of_the_templates() -> None:
    files = cache._files()
    assert list(files) == sorted(files)
    assert {os.path.splitext(path)[1] for path in files} == {".py", ".j2"}
    assert cache.__file__ in files
    assert not any("__pycache__" in path for path in files)


def test_a_file_changed_since_the_start_counts_as_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    monkeypatch.setattr(cache, "_files", lambda: (str(path),))
    changed = path.stat().st_ctime
    for started, edited in ((changed + 1, False), (changed, True), (changed - 1, True)):
        monkeypatch.setattr(version, "STARTED", started)
        assert cache._edited() == edited
    os.utime(path, (changed + 5, changed + 5))  # a time in the future
    monkeypatch.setattr(version, "STARTED", path.stat().st_ctime + 1)
    assert cache._edited()
