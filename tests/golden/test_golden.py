"""Equal input gives equal bytes for any hash seed: the committed C and rows of the golden table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from symgen import emission, methods
from symgen.machine import targets
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import EQUATIONS, FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.options import FORMS, TRIG
from tests.golden import FOLDER, texts
from tests.golden.rows import Row, rows
from tests.golden.table import NOTHING, hashes, recorded_hashes

ROWS = rows()
STRIDE = 17
"""`make test-slow` makes one row in STRIDE, `make golden-all` every row."""
TELLING = ("masses40 cyclic looped", "masses40 segments looped cpp17", "ur5 levels looped m7")
"""Further rows that `make test-slow` makes: forms of long chains, each of which has few rows."""
SAMPLE = [row for i, row in enumerate(ROWS) if i % STRIDE == 0 or row.name in TELLING]
PARTS = 2
"""Number of tests that share the rows of the sample."""


def _run(*words: str, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    if cache is not None:
        environment |= {"SYMGEN_CACHE": str(cache), "SYMGEN_CACHE_PROGRAMS": "on"}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=FOLDER.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_generated_c_is_the_committed_one(tmp_path: Path, derived_this_run: Path) -> None:
    """The committed C was made with another hash seed. Other tests reuse Programs derived here."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    done = _run("tests.golden", str(out), cache=cache)
    assert done.returncode == 0, done.stderr
    committed, generated = texts(FOLDER), texts(out)
    differing = sorted(
        name
        for name in committed.keys() | generated.keys()
        if committed.get(name) != generated.get(name)
    )
    assert not differing, f"run 'make golden' and review what changed: {', '.join(differing[:20])}"
    shutil.copytree(cache / "kept", derived_this_run / "kept", dirs_exist_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("sample_part", range(PARTS))
def test_rows_of_the_table_are_what_they_were(sample_part: int) -> None:
    """Words and tokens of each sampled row have the hashes that are committed."""
    names = [row.name for row in SAMPLE[sample_part::PARTS]]
    done = _run("tests.golden.table", *(word for name in names for word in ("--row", name)))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert f"{len(names)} rows, 0 differ" in done.stdout


def test_every_row_has_hashes_and_no_two_have_one_name() -> None:
    """The committed hashes are those of the rows that are declared, in their order."""
    assert list(recorded_hashes()) == [row.name for row in ROWS]


def _functions(row: Row) -> set[str]:
    requested = row.options.get("functions")
    if not requested:
        return set()
    return {name.partition("=")[0].partition(":")[0] for name in requested}


def test_every_choice_has_a_row_that_symgen_writes() -> None:
    """Each function, method, mode, form, wrapper, target and source of sines is in a row that is
    not refused.
    """
    recorded = recorded_hashes()
    written_rows = [row for row in ROWS if recorded[row.name].tokens != NOTHING]
    folders = [row for row in written_rows if not row.command]
    every = {*FUNCTIONS, *LOOP_FUNCTIONS} - {"assembly_step"} | {"assemble"}
    assert every - {name for row in folders for name in _functions(row)} == set()
    assert not {name for row in folders for name in _functions(row)} & {*EQUATIONS}
    requested = [name for row in folders for name in row.options.get("functions") or ()]
    assert {*methods.names()} - {name.partition("=")[2] for name in requested} == set()
    assert {*derivatives.MODES} <= {name.partition(":")[2] for name in requested}
    for option, values in (("form", FORMS), ("trig", TRIG), ("target", targets.names())):
        used_values = {row.options.get(option, "auto") for row in folders}
        assert {*values} - used_values == set(), option
    wrapped = {name for row in folders for name in row.options.get("wrap", ())}
    assert {*emission.wrappers()} - wrapped == set()


C = b'/* words */\ndouble f(double x) { return 2.5 * x; } // of x\nconst char *s = "1.2.3";\n'


@pytest.mark.parametrize(
    ("old", "new"), [(b"words", b"other words"), (b"// of x", b""), (b"1.2.3", b"1.2.4")]
)
def test_a_comment_and_a_string_are_no_tokens(old: bytes, new: bytes) -> None:
    """They change the hash of the whole alone."""
    before, after = hashes({"f.c": C}), hashes({"f.c": C.replace(old, new)})
    assert before.whole != after.whole
    assert before.tokens == after.tokens


@pytest.mark.parametrize(
    ("old", "new"), [(b"2.5", b"2.6"), (b"*", b"+"), (b"f(", b"g("), (b"double x", b"float x")]
)
def test_a_number_a_name_and_an_operation_are_tokens(old: bytes, new: bytes) -> None:
    """They change both hashes."""
    changed = C.replace(b"/* words */", b"").replace(old, new, 1)
    before, after = hashes({"f.c": C.replace(b"/* words */", b"")}), hashes({"f.c": changed})
    assert before.whole != after.whole
    assert before.tokens != after.tokens


def test_prose_is_in_the_whole_alone() -> None:
    """README.md may be worded anew, and a file that comes or goes changes both."""
    first, second = hashes({"README.md": b"a", "f.c": C}), hashes({"README.md": b"b", "f.c": C})
    assert first.whole != second.whole
    assert first.tokens == second.tokens
    assert hashes({"g.c": C}).tokens != hashes({"f.c": C}).tokens
