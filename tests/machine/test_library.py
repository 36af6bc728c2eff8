"""A library in the cache is run only if it is whole and nobody else can have written it; else it is built again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from symgen.machine import building
from symgen.machine.solver import Solver
from symgen.support.errors import BuildError
from symgen.vocabulary.arrays import Sizes
from tests.shared.c_programs import determinant
from tests.shared.new_process import elsewhere


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library of the determinant, in a cache of its own."""
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    solved(monkeypatch)
    (found,) = (tmp_path / "cache").glob("*.so")
    other = Path(
        shutil.copy2(found, tmp_path / "copy")
    )  # what this process has mapped is left alone
    other.replace(found)
    return found


def solved(monkeypatch: pytest.MonkeyPatch) -> float:
    """The answer of the library that is found or built, as in a new process."""
    monkeypatch.setattr(building, "_LOADED", {})
    solver = Solver.from_programs(
        "elsewhere", {"mass_matrix_determinant": determinant()}, Sizes(2, 2, 2), optimize=0
    )
    return float(solver.mass_matrix_determinant([0, 0]))


def traitor(folder: Path) -> tuple[Path, Path]:
    """(a library that leaves a trace when it is loaded, the trace)."""
    trace = folder / "trace"
    source = folder / "traitor.c"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void run(void) "
        f'{{ FILE *f = fopen("{trace}", "w"); if (f) fclose(f); }}\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", folder / "traitor.so"], check=True)
    return folder / "traitor.so", trace


def test_what_was_built_is_found_whole_and_is_the_user_s_alone(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert building.is_whole(kept)
    assert {path.stat().st_mode & 0o077 for path in (kept.parent, *kept.parent.iterdir())} == {0}
    before = kept.stat().st_mtime_ns
    assert solved(monkeypatch) > 0
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_library_without_its_end_is_never_loaded(
    share: float, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mapped, its missing pages would stop Python with SIGBUS."""
    whole = kept.read_bytes()
    os.truncate(kept, int(share * len(whole)))
    assert not building.is_whole(kept)
    assert solved(monkeypatch) > 0
    assert kept.read_bytes() == whole


def test_a_new_process_outlives_a_library_without_its_end(kept: Path) -> None:
    os.truncate(kept, kept.stat().st_size // 2)
    process = elsewhere(kept.parent)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert float(said) > 0


@pytest.mark.parametrize(
    "how",
    [
        "another's content",
        "any may write it",
        "a group may write it",
        "a link",
        "no sum",
        "a sum that any may write",
    ],
)
def test_a_library_that_another_can_have_written_is_not_run(
    how: str, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, trace = traitor(tmp_path)
    beside = kept.with_name(f"{kept.name}.sha256")
    if how == "a link":
        kept.unlink()
        kept.symlink_to(planted)
    else:
        kept.write_bytes(planted.read_bytes())
    if how != "another's content":
        beside.write_bytes(building._checksum(planted.read_bytes()))
    if how.endswith("may write it"):
        kept.chmod(0o722 if how.startswith("any") else 0o720)
    elif how == "no sum":
        beside.unlink()
    elif how == "a sum that any may write":
        beside.chmod(0o666)
    assert not building.is_whole(kept)
    assert solved(monkeypatch) > 0
    assert not trace.exists()
    assert building.is_whole(kept)
    assert not kept.is_symlink()
    assert planted.read_bytes() != kept.read_bytes()  # and the link was not written through


def test_the_traitor_leaves_its_trace_where_it_is_run(tmp_path: Path) -> None:
    planted, trace = traitor(tmp_path)
    subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(planted)!r})"], check=True
    )
    assert trace.exists()


def test_a_file_of_another_user_is_not_believed(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert not building.is_whole(kept)
    with pytest.raises(
        BuildError,
        match="belongs to another user, who could replace its code; set SYMGEN_CACHE to a folder",
    ):
        solved(monkeypatch)


def test_a_link_to_a_folder_is_followed_if_it_is_the_user_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    assert solved(monkeypatch) > 0
    assert list((tmp_path / "real").glob("*.so"))
    if os.geteuid() == 0:
        os.chown(tmp_path / "cache", 12345, 12345, follow_symlinks=False)
        with pytest.raises(BuildError, match="belongs to another user"):
            building.prepared_folder(tmp_path / "cache")


def test_a_folder_that_others_may_write_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("SYMGEN_CACHE", str(cache))
    assert solved(monkeypatch) > 0
    assert cache.stat().st_mode & 0o777 == 0o755
    cache.chmod(0o777)  # where others may exchange what was just looked at
    (found,) = cache.glob("*.so")
    assert not building.is_whole(found)
    before = found.stat().st_mtime_ns
    assert solved(monkeypatch) > 0
    assert building.is_whole(found)
    assert found.stat().st_mtime_ns > before


def test_a_pipe_in_its_place_makes_nobody_wait(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.unlink()
    os.mkfifo(kept)
    assert solved(monkeypatch) > 0
    assert building.is_whole(kept)


def test_both_files_are_on_the_disk_before_they_have_their_names(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []

    def synced(handle: int) -> None:
        done.append(("fsync", Path(os.readlink(f"/proc/self/fd/{handle}")).suffix))

    def replaced(source: Any, target: Any, replace: Any = os.replace) -> None:
        done.append(("replace", Path(target).suffix))
        replace(source, target)

    kept.unlink()
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    solved(monkeypatch)
    assert sorted(done[:2]) == [("fsync", ".sha256"), ("fsync", ".so")]
    assert [what for what, _ in done[2:4]] == ["replace", "replace"]
