"""A library in the cache is loaded only if it is complete and no other user can have written it;
else it is rebuilt.
"""

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
def cached_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build the library of the determinant in an empty cache; return its path."""
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    solve_with_cache(monkeypatch)
    (library,) = (tmp_path / "cache").glob("*.so")
    copy = Path(
        shutil.copy2(library, tmp_path / "copy")
    )  # the file that this process has mapped stays unchanged
    copy.replace(library)
    return library


def solve_with_cache(monkeypatch: pytest.MonkeyPatch) -> float:
    """Return a result of the library, which is loaded or built as in a new process."""
    monkeypatch.setattr(building, "_LOADED", {})
    solver = Solver.from_programs(
        "elsewhere", {"mass_matrix_determinant": determinant()}, Sizes(2, 2, 2), optimize=0
    )
    return float(solver.mass_matrix_determinant([0, 0]))


def tracing_library(folder: Path) -> tuple[Path, Path]:
    """Build a library that writes a file when it is loaded; return library and file."""
    trace = folder / "trace"
    source = folder / "traitor.c"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void run(void) "
        f'{{ FILE *f = fopen("{trace}", "w"); if (f) fclose(f); }}\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", folder / "traitor.so"], check=True)
    return folder / "traitor.so", trace


def test_a_built_library_is_complete_private_and_used_again(
    cached_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert building.is_whole(cached_library)
    assert {
        path.stat().st_mode & 0o077
        for path in (cached_library.parent, *cached_library.parent.iterdir())
    } == {0}
    before = cached_library.stat().st_mtime_ns
    assert solve_with_cache(monkeypatch) > 0
    assert cached_library.stat().st_mtime_ns == before


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_library_is_never_loaded(
    share: float, cached_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing pages of a mapped library would stop Python with SIGBUS."""
    complete = cached_library.read_bytes()
    os.truncate(cached_library, int(share * len(complete)))
    assert not building.is_whole(cached_library)
    assert solve_with_cache(monkeypatch) > 0
    assert cached_library.read_bytes() == complete


@pytest.mark.slow
def test_a_new_process_survives_a_truncated_library(cached_library: Path) -> None:
    os.truncate(cached_library, cached_library.stat().st_size // 2)
    process = elsewhere(cached_library.parent)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert float(output) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        "another's content",
        "any may write it",
        "a group may write it",
        "a link",
        "no sum",
        "a sum that any may write",
    ],
)
def test_a_library_that_another_user_can_have_written_is_not_loaded(
    attack: str, cached_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, trace = tracing_library(tmp_path)
    beside = cached_library.with_name(f"{cached_library.name}.sha256")
    if attack == "a link":
        cached_library.unlink()
        cached_library.symlink_to(planted)
    else:
        cached_library.write_bytes(planted.read_bytes())
    if attack != "another's content":
        beside.write_bytes(building._checksum(planted.read_bytes()))
    if attack.endswith("may write it"):
        cached_library.chmod(0o722 if attack.startswith("any") else 0o720)
    elif attack == "no sum":
        beside.unlink()
    elif attack == "a sum that any may write":
        beside.chmod(0o666)
    assert not building.is_whole(cached_library)
    assert solve_with_cache(monkeypatch) > 0
    assert not trace.exists()
    assert building.is_whole(cached_library)
    assert not cached_library.is_symlink()
    assert (
        planted.read_bytes() != cached_library.read_bytes()
    )  # the target of the link is unchanged


def test_the_tracing_library_writes_its_file_when_loaded(tmp_path: Path) -> None:
    planted, trace = tracing_library(tmp_path)
    subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(planted)!r})"], check=True
    )
    assert trace.exists()


def test_a_library_of_another_user_is_refused(
    cached_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert not building.is_whole(cached_library)
    with pytest.raises(
        BuildError,
        match="belongs to another user, who could replace its code; set SYMGEN_CACHE to a folder",
    ):
        solve_with_cache(monkeypatch)


def test_a_link_to_a_folder_is_followed_if_it_is_the_user_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    assert solve_with_cache(monkeypatch) > 0
    assert list((tmp_path / "real").glob("*.so"))
    if os.geteuid() == 0:
        os.chown(tmp_path / "cache", 12345, 12345, follow_symlinks=False)
        with pytest.raises(BuildError, match="belongs to another user"):
            building.prepared_folder(tmp_path / "cache")


@pytest.mark.slow
def test_a_cache_that_others_may_write_is_closed_and_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("SYMGEN_CACHE", str(cache))
    assert solve_with_cache(monkeypatch) > 0
    assert cache.stat().st_mode & 0o777 == 0o755
    cache.chmod(0o777)  # another user could replace a checked file
    (library,) = cache.glob("*.so")
    assert not building.is_whole(library)
    before = library.stat().st_mtime_ns
    assert solve_with_cache(monkeypatch) > 0
    assert building.is_whole(library)
    assert library.stat().st_mtime_ns > before


@pytest.mark.slow
def test_a_pipe_in_place_of_a_library_does_not_block(
    cached_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached_library.unlink()
    os.mkfifo(cached_library)
    assert solve_with_cache(monkeypatch) > 0
    assert building.is_whole(cached_library)


def test_both_files_are_synced_before_they_are_renamed(
    cached_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []

    def synced(handle: int) -> None:
        done.append(("fsync", Path(os.readlink(f"/proc/self/fd/{handle}")).suffix))

    def replaced(source: Any, target: Any, replace: Any = os.replace) -> None:
        done.append(("replace", Path(target).suffix))
        replace(source, target)

    cached_library.unlink()
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    solve_with_cache(monkeypatch)
    assert sorted(done[:2]) == [("fsync", ".sha256"), ("fsync", ".so")]
    assert [operation for operation, _ in done[2:4]] == ["replace", "replace"]
