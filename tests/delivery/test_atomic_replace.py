"""Atomic replacement of a folder, with a failure, interruption or kill at each system call."""

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
    texts = {name: f"{name}: {text}\n" for name in (*names, "arm.h", "firmware/main.c")}
    return texts | {
        "manifest.json": json.dumps(
            {"symgen": "0", "files": ["manifest.json", *texts], "text": text}
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
    """Return the contents of all files below a folder, and the targets of links."""
    if not folder.exists():
        return None
    contents = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            contents[path.relative_to(folder).as_posix()] = (
                os.readlink(path) if path.is_symlink() else path.read_text()
            )
    return contents


def prepare(parent: Path, before: str) -> tuple[Path, Content]:
    """Make a folder in the state `before` replacement; return its path and its contents."""
    shutil.rmtree(parent, ignore_errors=True)
    parent.mkdir()
    folder = parent / "arm"
    if before == "empty":
        folder.mkdir()
    if before == "old":
        for name, text in (OLD | MINE).items():
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text(text)
        (folder / "link").symlink_to("nowhere")
    return folder, content(folder)


def user_files(before: str) -> dict[str, str]:
    return MINE | {"link": "nowhere"} if before == "old" else {}


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()} - {"arm"}


def inode_numbers(folder: Path) -> dict[str, int]:
    return {
        name: (folder / name).lstat().st_ino
        for name in ("notes.txt", "link", "build")
        if (folder / "notes.txt").exists()
    }


@pytest.fixture(autouse=True)
def _without_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the slow fsync, whose effect a killed process does not show; calls still count."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def disk_folder(tmp_path: Path) -> Iterator[Path]:
    """Make an empty folder, in memory if possible, since it needs a fraction of the time there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="symgen-test-", dir=memory) as name:
        yield Path(name)


def exchange_supported(folder: Path) -> bool:
    for name in ("one", "other"):
        (folder / name).mkdir()
    return disk.exchange(folder / "one", folder / "other")


WAYS = [("old", True), ("old", False), ("nothing", True)]
"""Folder before, and True for an exchange of two folders, False for two renames."""


@pytest.fixture(autouse=True)
def _can_exchange(request: pytest.FixtureRequest, disk_folder: Path) -> None:
    case = getattr(request.node, "callspec", None)
    if case is not None and case.params.get("exchanging") and not exchange_supported(disk_folder):
        pytest.skip("this file system cannot exchange two folders")


def replace_again(folder: Path, before: str, inodes: dict[str, int]) -> None:
    """Replace again: the folder is complete, user files are unchanged, and no leftovers remain."""
    replace_folder(folder, THIRD, "arm")
    assert content(folder) == THIRD | user_files(before)
    assert inode_numbers(folder) == inodes
    assert leftovers(folder) == set()


CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "exchanging"), WAYS)
def test_a_failure_of_any_call_leaves_a_whole_folder_and_a_true_message(
    disk_folder: Path, before: str, exchanging: bool
) -> None:
    """Let each call fail in turn: the message is true of the folder, and the next run succeeds."""
    outcomes = set()
    for at in range(1, 1000):
        folder, content_before = prepare(disk_folder / "place", before)
        inodes, code = inode_numbers(folder), CODES[at % 3]

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
        new = NEW | user_files(before)
        where = f"{calls.name}, call {at}: {sentence}"
        if "nothing was changed" in sentence:
            assert content(folder) == content_before, where
        else:
            assert content(folder) == new, where
        assert leftovers(folder) <= {".arm.symgen.lock"}, where
        assert inode_numbers(folder) == inodes, where
        outcomes.add(
            next(
                (words for words in ("nothing was changed", "is written") if words in sentence),
                sentence,
            )
        )
        replace_again(folder, before, inodes)
    assert at > 40, "the calls were not reached"
    assert outcomes == {"nothing was changed", "is written", ""}


@pytest.mark.parametrize(("before", "exchanging"), WAYS[:2])
def test_an_interruption_after_any_call_leaves_a_whole_folder(
    disk_folder: Path, before: str, exchanging: bool
) -> None:
    """After Ctrl-C or SIGTERM the folder is old or new immediately, without another run."""
    for at in range(1, 1000):
        folder, content_before = prepare(disk_folder / "place", before)
        inodes = inode_numbers(folder)

        def interrupt(calls: Calls, call: Callable[[], Any]) -> Any:
            with suppress(OSError):
                call()
            raise KeyboardInterrupt

        with watched(at, interrupt, WRITES, exchanging) as calls, suppress(KeyboardInterrupt):
            replace_folder(folder, NEW, "arm")
        if calls.count < at:
            break
        assert content(folder) in (content_before, NEW | user_files(before)), (
            f"{calls.name}, call {at}"
        )
        assert leftovers(folder) <= BESIDE
        replace_again(folder, before, inodes)
    assert at > 30, "the calls were not reached"


@pytest.mark.parametrize(("before", "exchanging"), [*WAYS, ("empty", True), ("empty", False)])
def test_a_kill_after_any_call_leaves_a_whole_folder(
    disk_folder: Path, before: str, exchanging: bool
) -> None:
    """After a kill the folder is old or new; at most one folder of the user is still moved away."""
    absent = 0
    for at in range(1, 1000):
        folder, was = prepare(disk_folder / "place", before)
        inodes = inode_numbers(folder)
        if not killed(at, folder, exchanging):
            break
        contents = content(folder)
        if contents is None and before != "nothing":
            absent += 1
            contents = content(folder.with_name(".arm.symgen") / "old")
        if contents is None:
            assert before == "nothing"
        else:
            moved_names = {
                name
                for name in user_files(before)
                if name.startswith("build/") and name not in contents
            }
            assert contents | {name: user_files(before)[name] for name in moved_names} in (
                was,
                NEW | user_files(before),
            )
        assert leftovers(folder) <= BESIDE
        replace_again(folder, before, inodes)
    assert at > 30, "the calls were not reached"
    assert absent == (
        0 if exchanging or before == "nothing" else 1
    )  # killed after the first of two renames


def killed(at: int, folder: Path, exchanging: bool) -> bool:
    """Replace the folder, but stop after call `at`; return False if the work ended before.

    This imitates a killed process: no later call reaches the disk, and open files are closed.
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


def test_the_imitated_kill_leaves_the_same_files_as_a_real_one(
    disk_folder: Path,
) -> None:
    """Compare the imitated kill with a real SIGKILL at some calls."""
    for at in (5, 25, 40, 45, 50):
        leftovers = []
        for kill in (killed, killed_process):
            folder, _ = prepare(disk_folder / "place", "old")
            assert kill(at, folder, True)
            contents = content(folder.parent)
            assert contents is not None
            leftovers.append(
                (
                    contents.keys(),
                    {
                        name: text
                        for name, text in contents.items()
                        if name != ".arm.symgen/journal"
                    },
                )
            )
        assert leftovers[0] == leftovers[1]


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


@pytest.mark.slow
@pytest.mark.parametrize("exchanging", [True, False])
def test_a_second_kill_while_clearing_up_is_repaired_by_the_next_run(
    disk_folder: Path, exchanging: bool
) -> None:
    """A run that clears up after a kill may be killed as well; the next one succeeds."""
    last = 0
    while killed(last + 1, prepare(disk_folder / "place", "old")[0], exchanging):
        last += 1
    assert last > 50
    for first in range(last // 2, last, 5):
        for at in range(2, 30, 9):
            folder, _ = prepare(disk_folder / "place", "old")
            inodes = inode_numbers(folder)
            assert killed(first, folder, exchanging)
            killed(at, folder, exchanging)
            replace_again(folder, "old", inodes)


@pytest.mark.parametrize("exchanging", [True, False])
def test_files_are_synced_before_the_folder_gets_its_name(
    disk_folder: Path, exchanging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts and names are synced before the swap, the swap before the old folder is deleted."""
    folder, _ = prepare(disk_folder / "place", "old")
    synced: set[str] = set()
    before: dict[str, set[str]] = {}

    def sync(handle: int) -> None:
        synced.add(os.path.relpath(os.readlink(f"/proc/self/fd/{handle}"), folder.parent))

    def noted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*arguments: Any, **named: Any) -> Any:
            before.setdefault(name, set(synced))
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, call)

    monkeypatch.setattr(os, "fsync", sync)
    noted(os, "link")
    noted(atomic_replace, "_swap")
    noted(atomic_replace, "_settle")
    monkeypatch.setattr(
        disk, "exchange", disk.exchange if exchanging else lambda first, second: False
    )
    replace_folder(folder, NEW, "arm")
    assert before["link"] >= {f".arm.symgen/new/{name}" for name in NEW} | {
        ".arm.symgen/journal.part",
        ".arm.symgen",
    }
    assert before["_swap"] >= {".arm.symgen/new", ".arm.symgen/new/firmware"}
    assert before["_settle"] >= {"."}
    assert "." not in before["_swap"]


# Several processes at the same folder at the same time.


@pytest.mark.parametrize("exchanging", [True, False])
def test_files_written_during_the_replacement_are_kept(
    disk_folder: Path, exchanging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User programs write just before the swap: new files, changed ones, a name of symgen's."""
    folder, _ = prepare(disk_folder / "place", "old")
    original = atomic_replace._swap
    with (folder / "notes.txt").open("a") as editor:

        def late(work: Path, target: Path) -> None:
            (target / "late.txt").write_text("late")
            (target / "late").mkdir()
            (target / "late" / "deep").write_text("deep")
            (target / "firmware" / "late.c").write_text("late too")
            (target / "only_new.c").write_text("not symgen's")
            (target / "link").unlink()
            (target / "link").write_text("saved anew")
            original(work, target)
            editor.write(", and more")

        monkeypatch.setattr(atomic_replace, "_swap", late)
        monkeypatch.setattr(
            disk, "exchange", disk.exchange if exchanging else lambda first, second: False
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
    assert leftovers(folder) == set()


def test_files_made_again_after_a_kill_are_kept_beside_the_recovered_ones(
    disk_folder: Path,
) -> None:
    """The kill came while a folder of the user was moved, and it was made again: both stay."""
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
    assert leftovers(folder) == set()


def writer(number: int, folder: Path) -> None:
    for count in range(15):
        replace_folder(folder, files(f"writer {number} round {count}", f"own_{number}.c"), "arm")


def test_concurrent_writers_leave_one_whole_folder(disk_folder: Path) -> None:
    """Four writers at one folder: at the end one result is complete, with all user files."""
    folder, _ = prepare(disk_folder / "place", "old")
    inodes = inode_numbers(folder)
    with ThreadPoolExecutor(4) as writers:
        assert (
            list(writers.map(lambda number: forked(lambda: writer(number, folder)), range(4)))
            == [0] * 4
        )
    last = [
        files(f"writer {number} round 14", f"own_{number}.c") | user_files("old")
        for number in range(4)
    ]
    assert content(folder) in last
    assert inode_numbers(folder) == inodes
    assert leftovers(folder) == set()


def test_a_lock_that_stays_taken_is_refused_in_one_sentence(
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
        replace_folder(folder.with_name("other"), NEW, "arm")  # another folder is not locked
    assert content(folder) == was
    replace_folder(folder, NEW, "arm")


def test_a_damaged_journal_deletes_nothing(disk_folder: Path) -> None:
    folder, was = prepare(disk_folder / "place", "old")
    work_folder = folder.with_name(".arm.symgen")
    (work_folder / "old" / "build").mkdir(parents=True)
    (work_folder / "journal").write_text('{"own": [')
    with pytest.raises(
        RequestError, match=r"journal is damaged; unfinished work is in .*\.arm\.symgen"
    ):
        replace_folder(folder, NEW, "arm")
    assert (work_folder / "old" / "build").is_dir()
    assert content(folder) == was


@pytest.mark.parametrize("name", ["arm.h", "firmware"])
def test_a_folder_of_the_user_with_a_name_of_symgen_is_kept(disk_folder: Path, name: str) -> None:
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
    ("path", "message"),
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
def test_a_path_that_cannot_become_a_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    base_folder = tmp_path / "here"
    for folder in ("full", "sub"):
        (base_folder / folder).mkdir(parents=True)
    for file in ("file", "full/mine"):
        (base_folder / file).write_text("mine")
    for link, target in (
        ("to_file", "file"),
        ("to_full", "full"),
        ("turning", "turned"),
        ("turned", "turning"),
    ):
        (base_folder / link).symlink_to(target)
    monkeypatch.chdir(base_folder)
    before = sorted(str(entry) for entry in tmp_path.rglob("*"))
    with pytest.raises(RequestError, match=message):
        replace_folder(Path(path), NEW, "arm")
    assert sorted(str(entry) for entry in tmp_path.rglob("*")) == before, "nothing was changed"


@pytest.mark.parametrize(
    ("path", "target"), [("dangling", "nowhere/in/here"), ("to_sub", "sub"), ("~", "~")]
)
def test_the_target_of_a_link_is_written_and_a_tilde_is_a_plain_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("dangling").symlink_to("nowhere/in/here")
    Path("to_sub").symlink_to("sub")
    replace_folder(Path(path), NEW, "arm")
    assert content(tmp_path / target) == NEW


def test_a_folder_without_write_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate the error of the system, because root may write everywhere."""

    def refuse(*arguments: Any, **settings: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.raises(
        RequestError,
        match="arm cannot be written: Permission denied; nothing was changed, choose a folder that "
        "you may write to",
    ):
        replace_folder(tmp_path / "locked" / "arm", NEW, "arm")


@pytest.mark.parametrize(("code", "removals"), [(errno.EACCES, 1), (errno.ENOTEMPTY, 3)])
def test_a_leftover_is_removed_again_only_if_it_was_not_empty(
    code: int, removals: int, disk_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may have written into it; any other failure is raised at once."""
    leftover, calls = disk_folder / "leftover", []
    leftover.mkdir()
    remove = os.rmdir

    def fail_twice(path: Any) -> None:
        if Path(path) == leftover:
            calls.append(path)
            if len(calls) < 3:
                raise OSError(code, os.strerror(code))
        remove(path)

    monkeypatch.setattr(os, "rmdir", fail_twice)
    if removals == 1:
        with pytest.raises(OSError, match=os.strerror(code)):
            atomic_replace._settle(leftover, disk_folder, [], {})
    else:
        atomic_replace._settle(leftover, disk_folder, [], {})
    assert len(calls) == removals
    assert leftover.exists() == (removals == 1)


# -- entries of the user, one at a time ------------------------------------------------------------


def test_a_recovered_entry_has_a_name_that_is_free(disk_folder: Path) -> None:
    path = disk_folder / "notes.txt"
    for name in ("notes.txt.recovered", "notes.txt.recovered-2", "notes.txt.recovered-3"):
        assert atomic_replace._free(path) == disk_folder / name
        (disk_folder / name).write_text("")


def test_an_entry_is_moved_to_a_free_place(disk_folder: Path) -> None:
    (disk_folder / "a").write_text("mine")
    atomic_replace._bring(disk_folder / "a", disk_folder / "new" / "a", None)
    assert content(disk_folder) == {"new/a": "mine"}


def test_a_linked_file_is_not_kept_twice(disk_folder: Path) -> None:
    (disk_folder / "a").write_text("mine")
    os.link(disk_folder / "a", disk_folder / "b")
    atomic_replace._bring(disk_folder / "a", disk_folder / "b", None)
    assert content(disk_folder) == {"b": "mine"}


@pytest.mark.parametrize(
    ("text", "linked", "kept"),
    [
        ("mine", False, {"b": "mine"}),
        ("newer", True, {"b": "newer"}),
        ("newer", False, {"b": "mine", "b.recovered": "newer"}),
    ],
)
def test_of_two_texts_the_newer_or_both_are_kept(
    text: str, linked: bool, kept: dict[str, str], disk_folder: Path
) -> None:
    """The text in place is older if it is the one that was linked."""
    first, second = disk_folder / "a", disk_folder / "b"
    first.write_text(text)
    second.write_text("mine")
    inode = second.lstat().st_ino if linked else None
    atomic_replace._bring(first, second, inode)
    assert content(disk_folder) == kept


def test_a_folder_never_replaces_a_file(disk_folder: Path) -> None:
    (disk_folder / "a").mkdir()
    (disk_folder / "a" / "x").write_text("in a folder")
    (disk_folder / "b").write_text("mine")
    inode = (disk_folder / "b").lstat().st_ino
    atomic_replace._bring(disk_folder / "a", disk_folder / "b", inode)
    assert content(disk_folder) == {"b": "mine", "b.recovered/x": "in a folder"}


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "make room or choose another folder"),
        (errno.EDQUOT, "make room or choose another folder"),
        (errno.EPERM, "choose a folder that you may write to"),
        (errno.EROFS, "choose another folder"),
        (None, "choose another folder"),
    ],
)
def test_an_error_of_the_system_has_its_remedy(
    code: int | None, remedy: str, disk_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **settings: Any) -> None:
        raise OSError(code, os.strerror(code)) if code is not None else OSError("a strange error")

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.raises(RequestError) as refusal:
        replace_folder(disk_folder / "arm", NEW, "arm")
    reason = "a strange error" if code is None else os.strerror(code)
    assert str(refusal.value) == (
        f"{disk_folder / 'arm'} cannot be written: {reason}; nothing was changed, {remedy}"
    )


HEADER = "/* Generated by symgen 0.2.0; do not edit. */\n#define arm_NQ 2\n"
SOURCE = '/* Generated by symgen 0.2.0; do not edit. */\n#include "arm.h"\n'


def test_functions_of_another_robot_stay_beside_those_of_this_one(disk_folder: Path) -> None:
    folder = disk_folder / "functions"
    folder.mkdir()
    alone = {"arm.h": HEADER, "arm_mass_matrix.c": SOURCE}
    for name, text in alone.items():
        (folder / name).write_text(text)
    with_manifest, functions = files("leg", "leg.c"), {"leg.h": "leg"}
    with pytest.raises(RequestError, match=r"holds the functions of 'arm' alone; choose another"):
        atomic_replace.current_contents(folder, with_manifest, "leg")
    assert atomic_replace.current_contents(folder, with_manifest, "arm").symgens == set(alone)
    of_leg = atomic_replace.current_contents(folder, functions, "leg")
    assert of_leg.symgens == frozenset()
    assert of_leg.foreign == ("arm.h", "arm_mass_matrix.c")
    assert atomic_replace.current_contents(folder, functions, "arm").foreign == ()


@pytest.mark.parametrize("manifest", ["[]", "{", "3", '{"symgen": "0.1"}', '{"files": []}'])
def test_a_folder_with_a_strange_manifest_is_not_replaced(manifest: str, disk_folder: Path) -> None:
    (disk_folder / "arm").mkdir()
    (disk_folder / "arm" / "manifest.json").write_text(manifest)
    with pytest.raises(
        RequestError, match=r"holds files that symgen did not write; choose another"
    ):
        atomic_replace.current_contents(disk_folder / "arm", NEW, "arm")
