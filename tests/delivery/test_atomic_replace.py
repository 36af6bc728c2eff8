"""A folder is replaced whole or not at all: each system call of it fails once, is interrupted once, and is the last once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from symgen.delivery import atomic_replace
from symgen.delivery.atomic_replace import replace_folder
from symgen.support import files as disk
from symgen.support.errors import RequestError
from tests.shared.disk_calls import READS, WRITES, Calls, Killed, watched


def files(text: str, *names: str) -> dict[str, str]:
    found = {name: f"{name}: {text}\n" for name in (*names, "arm.h", "firmware/main.c")}
    return found | {
        "manifest.json": json.dumps(
            {"symgen": "0", "files": ["manifest.json", *found], "text": text}
        )
    }


OLD, NEW, THIRD = (
    files("old", "only_old.c"),
    files("new", "only_new.c"),
    files("third", "only_new.c"),
)
MINE = {"notes.txt": "mine", "build/object": "made", "firmware/board.c": "mine too"}
BESIDE = {".arm.symgen", ".arm.symgen.lock"}
Content = dict[str, str] | None


def content(folder: Path) -> Content:
    """Every file below, by name; a link by where it leads."""
    if not folder.exists():
        return None
    found = {}
    for place, _, names in os.walk(folder):
        for path in (Path(place) / name for name in names):
            found[path.relative_to(folder).as_posix()] = (
                os.readlink(path) if path.is_symlink() else path.read_text()
            )
    return found


def prepare(place: Path, before: str) -> tuple[Path, Content]:
    """A folder as it stands before, in a place of its own, and what it holds."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    folder = place / "arm"
    if before == "empty":
        folder.mkdir()
    if before == "old":
        for name, text in (OLD | MINE).items():
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text(text)
        (folder / "link").symlink_to("nowhere")
    return folder, content(folder)


def mine(before: str) -> dict[str, str]:
    return MINE | {"link": "nowhere"} if before == "old" else {}


def beside(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()} - {"arm"}


def identities(folder: Path) -> dict[str, int]:
    return {
        name: (folder / name).lstat().st_ino
        for name in ("notes.txt", "link", "build")
        if (folder / "notes.txt").exists()
    }


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kill of a process shows what waiting for the disk is for, and it is slow. It is counted all the same."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def disk_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in memory where there is such a place: the same calls, and a fraction of the time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="symgen-test-", dir=memory) as name:
        yield Path(name)


def supported(folder: Path) -> bool:
    for name in ("one", "other"):
        (folder / name).mkdir()
    return disk.exchange(folder / "one", folder / "other")


WAYS = [("old", True), ("old", False), ("nothing", True)]
"""What stands before, and whether two folders are exchanged or renamed one after the other. With nothing both are the same."""


@pytest.fixture(autouse=True)
def _can_exchange(request: pytest.FixtureRequest, disk_folder: Path) -> None:
    asked = getattr(request.node, "callspec", None)
    if asked is not None and asked.params.get("exchanging") and not supported(disk_folder):
        pytest.skip("this file system cannot exchange two folders")


def again(folder: Path, before: str, known: dict[str, int]) -> None:
    """The next run finds its way: the folder is whole, the user's files are those of before, and nothing stands beside."""
    replace_folder(folder, THIRD, "arm")
    assert content(folder) == THIRD | mine(before)
    assert identities(folder) == known
    assert beside(folder) == set()


CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


@pytest.mark.parametrize(("before", "exchanging"), WAYS)
def test_every_call_fails_once(disk_folder: Path, before: str, exchanging: bool) -> None:
    """Each call refuses in its turn. What the sentence says of the folder is so, and the next run finds its way."""
    said = set()
    for at in range(1, 1000):
        folder, was = prepare(disk_folder / "place", before)
        known, code = identities(folder), CODES[at % 3]

        def refuse(calls: Calls, call: Callable[[], Any], code: int = code) -> Any:
            raise OSError(code, os.strerror(code))

        sentence = ""
        with watched(at, refuse, READS + WRITES if exchanging else WRITES, exchanging) as calls:
            try:
                replace_folder(folder, NEW, "arm")
            except RequestError as error:
                sentence = str(error)
        if calls.count < at:
            break
        assert "\n" not in sentence
        new = NEW | mine(before)
        where = f"{calls.name}, call {at}: {sentence}"
        if "nothing was changed" in sentence:
            assert content(folder) == was, where
        else:
            assert content(folder) == new, where
        assert beside(folder) <= {".arm.symgen.lock"}, where
        assert identities(folder) == known, where
        said.add(
            next(
                (words for words in ("nothing was changed", "is written") if words in sentence),
                sentence,
            )
        )
        again(folder, before, known)
    assert at > 40, "the calls were not reached"
    assert said == {"nothing was changed", "is written", ""}


@pytest.mark.parametrize(("before", "exchanging"), WAYS[:2])
def test_an_interruption_after_every_call(disk_folder: Path, before: str, exchanging: bool) -> None:
    """Ctrl-C and SIGTERM: the folder is the old one or the new one at once, not with the next run alone."""
    for at in range(1, 1000):
        folder, was = prepare(disk_folder / "place", before)
        known = identities(folder)

        def interrupt(calls: Calls, call: Callable[[], Any]) -> Any:
            with suppress(OSError):
                call()
            raise KeyboardInterrupt

        with watched(at, interrupt, WRITES, exchanging) as calls, suppress(KeyboardInterrupt):
            replace_folder(folder, NEW, "arm")
        if calls.count < at:
            break
        assert content(folder) in (was, NEW | mine(before)), f"{calls.name}, call {at}"
        assert beside(folder) <= BESIDE
        again(folder, before, known)
    assert at > 30, "the calls were not reached"


@pytest.mark.parametrize(("before", "exchanging"), [*WAYS, ("empty", True), ("empty", False)])
def test_a_kill_after_every_call(disk_folder: Path, before: str, exchanging: bool) -> None:
    """The process ends at once. What stands then is old or new, and no file of the user's is missing but for a moved folder."""
    absent = 0
    for at in range(1, 1000):
        folder, was = prepare(disk_folder / "place", before)
        known = identities(folder)
        if not killed(at, folder, exchanging):
            break
        now = content(folder)
        if now is None and before != "nothing":
            absent += 1
            now = content(folder.with_name(".arm.symgen") / "old")
        if now is None:
            assert before == "nothing"
        else:
            moved = {name for name in mine(before) if name.startswith("build/") and name not in now}
            assert now | {name: mine(before)[name] for name in moved} in (was, NEW | mine(before))
        assert beside(folder) <= BESIDE
        again(folder, before, known)
    assert at > 30, "the calls were not reached"
    assert absent == (
        0 if exchanging or before == "nothing" else 1
    )  # after the first of two renames


def killed(at: int, folder: Path, exchanging: bool) -> bool:
    """Replace the folder by a process that dies with its call `at`; False where it came to its end before.

    No process is needed for that: after the call no other reaches the disk, and the kernel closes what was open.
    """
    before = open_handles()
    with watched(at, Calls.die, WRITES, exchanging) as calls, suppress(Killed):
        replace_folder(folder, NEW, "arm")
    for handle in open_handles() - before:
        os.close(handle)
    return calls.count >= at


def open_handles() -> set[int]:
    return {
        int(name)
        for name in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{name}")
    }


def test_a_process_that_is_killed_leaves_what_a_call_that_is_the_last_one_leaves(
    disk_folder: Path,
) -> None:
    """The test's own idea of a kill beside the kernel's, at some calls."""
    for at in (5, 25, 40, 45, 50):
        left = []
        for kill in (killed, killed_process):
            folder, _ = prepare(disk_folder / "place", "old")
            assert kill(at, folder, True)
            found = content(folder.parent)
            assert found is not None
            left.append(
                (
                    found.keys(),
                    {name: text for name, text in found.items() if name != ".arm.symgen/journal"},
                )
            )
        assert left[0] == left[1]


def killed_process(at: int, folder: Path, exchanging: bool) -> bool:
    def end(calls: Calls, call: Callable[[], Any]) -> Any:
        try:
            call()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        with watched(at, end, WRITES, exchanging):
            replace_folder(folder, NEW, "arm")

    return forked(work) == -signal.SIGKILL


def forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("exchanging", [True, False])
def test_a_second_kill_while_the_first_is_cleared_up(disk_folder: Path, exchanging: bool) -> None:
    """The next run may be killed as well, at each of its calls; the one after it finds its way."""
    last = 0
    while killed(last + 1, prepare(disk_folder / "place", "old")[0], exchanging):
        last += 1
    assert last > 50
    for first in range(last // 2, last, 5):
        for at in range(2, 30, 9):
            folder, _ = prepare(disk_folder / "place", "old")
            known = identities(folder)
            assert killed(first, folder, exchanging)
            killed(at, folder, exchanging)
            again(folder, "old", known)


@pytest.mark.parametrize("exchanging", [True, False])
def test_everything_is_on_disk_before_it_has_its_name(
    disk_folder: Path, exchanging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure keeps what was waited for: text and names before the swap, the swap before the old folder is deleted."""
    folder, _ = prepare(disk_folder / "place", "old")
    synced: set[str] = set()
    before: dict[str, set[str]] = {}

    def sync(handle: int) -> None:
        synced.add(os.path.relpath(os.readlink(f"/proc/self/fd/{handle}"), folder.parent))

    def noted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            before.setdefault(name, set(synced))
            return original(*given, **named)

        monkeypatch.setattr(module, name, call)

    monkeypatch.setattr(os, "fsync", sync)
    noted(os, "link")
    noted(atomic_replace, "_swap")
    noted(atomic_replace, "_settle")
    monkeypatch.setattr(disk, "exchange", disk.exchange if exchanging else lambda one, other: False)
    replace_folder(folder, NEW, "arm")
    assert before["link"] >= {f".arm.symgen/new/{name}" for name in NEW} | {
        ".arm.symgen/journal.part",
        ".arm.symgen",
    }
    assert before["_swap"] >= {".arm.symgen/new", ".arm.symgen/new/firmware"}
    assert before["_settle"] >= {"."}
    assert "." not in before["_swap"]


# Others at the same place, at the same time.


@pytest.mark.parametrize("exchanging", [True, False])
def test_what_comes_in_meanwhile_goes_along(
    disk_folder: Path, exchanging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that a user's programs write in the last instant: a new one, one saved anew, and one with a name of symgen's."""
    folder, _ = prepare(disk_folder / "place", "old")
    original = atomic_replace._swap
    with (folder / "notes.txt").open("a") as editor:

        def late(work: Path, place: Path) -> None:
            (place / "late.txt").write_text("late")
            (place / "late").mkdir()
            (place / "late" / "deep").write_text("deep")
            (place / "firmware" / "late.c").write_text("late too")
            (place / "only_new.c").write_text("not symgen's")
            (place / "link").unlink()
            (place / "link").write_text("saved anew")
            original(work, place)
            editor.write(", and more")

        monkeypatch.setattr(atomic_replace, "_swap", late)
        monkeypatch.setattr(
            disk, "exchange", disk.exchange if exchanging else lambda one, other: False
        )
        replace_folder(folder, NEW, "arm")
    late_ones = {
        "late.txt": "late",
        "late/deep": "deep",
        "firmware/late.c": "late too",
        "only_new.c.recovered": "not symgen's",
        "link": "saved anew",
        "notes.txt": "mine, and more",
    }
    assert content(folder) == NEW | MINE | late_ones
    assert beside(folder) == set()


def test_what_came_in_after_a_kill_is_kept_beside_it(disk_folder: Path) -> None:
    """A user's folder was under way when the process was killed, and its program made it anew: both stay."""
    folder, _ = prepare(disk_folder / "place", "old")
    at = 1
    while killed(at, folder, True) and (folder / "build").exists():
        at += 1
        folder, _ = prepare(disk_folder / "place", "old")
    (folder / "build").mkdir()
    (folder / "build" / "object").write_text("made again")
    replace_folder(folder, NEW, "arm")
    assert content(folder) == NEW | MINE | {
        "link": "nowhere",
        "build/object": "made again",
        "build.recovered/object": "made",
    }
    assert beside(folder) == set()


def writer(number: int, folder: Path) -> None:
    for count in range(15):
        replace_folder(folder, files(f"writer {number} round {count}", f"own_{number}.c"), "arm")


def test_writers_take_turns(disk_folder: Path) -> None:
    """Four at once at one place: one of them stands whole at the end, and the user's files with it."""
    folder, _ = prepare(disk_folder / "place", "old")
    known = identities(folder)
    with ThreadPoolExecutor(4) as writers:
        assert (
            list(writers.map(lambda number: forked(lambda: writer(number, folder)), range(4)))
            == [0] * 4
        )
    last = [
        files(f"writer {number} round 14", f"own_{number}.c") | mine("old") for number in range(4)
    ]
    assert content(folder) in last
    assert identities(folder) == known
    assert beside(folder) == set()


def test_a_turn_that_does_not_come_is_one_sentence(
    disk_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "PATIENCE", 0.1)
    folder, was = prepare(disk_folder / "place", "old")
    with disk.locked_file(folder.with_name(".arm.symgen.lock")):
        with pytest.raises(
            RequestError,
            match=r"arm cannot be written: another symgen is writing there; nothing was changed",
        ):
            replace_folder(folder, NEW, "arm")
        replace_folder(folder.with_name("other"), NEW, "arm")  # another place is free
    assert content(folder) == was
    replace_folder(folder, NEW, "arm")


def test_a_damaged_journal_deletes_nothing(disk_folder: Path) -> None:
    folder, was = prepare(disk_folder / "place", "old")
    left = folder.with_name(".arm.symgen")
    (left / "old" / "build").mkdir(parents=True)
    (left / "journal").write_text('{"own": [')
    with pytest.raises(
        RequestError, match=r"journal is damaged; unfinished work is in .*\.arm\.symgen"
    ):
        replace_folder(folder, NEW, "arm")
    assert (left / "old" / "build").is_dir()
    assert content(folder) == was


@pytest.mark.parametrize("name", ["arm.h", "firmware"])
def test_a_folder_is_the_user_s_whatever_its_name(disk_folder: Path, name: str) -> None:
    folder, _ = prepare(disk_folder / "place", "old")
    shutil.rmtree(folder / "firmware")
    (folder / "arm.h").unlink()
    (folder / name).mkdir()
    (folder / name / "mine").write_text("mine")
    if name == "arm.h":
        with pytest.raises(
            RequestError, match=r"arm\.h was not written by symgen and would be replaced"
        ):
            replace_folder(folder, NEW, "arm")
    else:
        replace_folder(folder, NEW, "arm")
    assert (folder / name / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("/", "/ is the root of the file system and cannot be replaced"),
        (".", "here is the working directory and cannot be"),
        ("..", " holds the working directory and cannot be replaced"),
        ("sub/../.", "here is the working directory"),
        ("file", "here/file is a file, not a folder; choose"),
        ("to_file", "here/file is a file, not a folder; choose"),
        ("file/x", "here/file is not a folder, so that no folder .*here/file/x can be made"),
        ("file/x/y", "here/file is not a folder, so that"),
        ("to_file/x", "here/file is not a folder, so that"),
        ("turning", "turning is a symbolic link that leads back to itself"),
        ("turning/x", "turning is a symbolic link that leads"),
        ("deep/" + 300 * "n", "File name too long; nothing was changed, choose a shorter name"),
        ("full", "here/full holds files that symgen did not write"),
        ("to_full", "here/full holds files that symgen did not write"),
    ],
)
def test_a_place_that_cannot_be_a_folder_is_refused_in_a_true_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, says: str
) -> None:
    here = tmp_path / "here"
    for folder in ("full", "sub"):
        (here / folder).mkdir(parents=True)
    for file in ("file", "full/mine"):
        (here / file).write_text("mine")
    for link, target in (
        ("to_file", "file"),
        ("to_full", "full"),
        ("turning", "turned"),
        ("turned", "turning"),
    ):
        (here / link).symlink_to(target)
    monkeypatch.chdir(here)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(RequestError, match=says):
        replace_folder(Path(place), NEW, "arm")
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before, "nothing was changed"


@pytest.mark.parametrize(
    ("place", "target"), [("dangling", "nowhere/in/here"), ("to_sub", "sub"), ("~", "~")]
)
def test_a_link_s_target_is_written_and_a_tilde_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("dangling").symlink_to("nowhere/in/here")
    Path("to_sub").symlink_to("sub")
    replace_folder(Path(place), NEW, "arm")
    assert content(tmp_path / target) == NEW


def test_a_folder_that_may_not_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the system's own error: the superuser may write everywhere."""

    def refuse(*given: Any, **settings: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.raises(
        RequestError,
        match="arm cannot be written: Permission denied; nothing was changed, choose a folder that "
        "you may write to",
    ):
        replace_folder(tmp_path / "locked" / "arm", NEW, "arm")
