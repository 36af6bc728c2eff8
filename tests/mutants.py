"""Is there a test that fails? Seeded errors in symgen/, each against the tests of its room (`python -m tests.mutants`).

An error is planted in a copy of the tree. It is killed when a test fails that passes without it, or when the tests of its
room have no end. What is known stands in the file given by `--out`, by file, edit and text of the file: a second run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.edits import Edit, in_order

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 240
"""Seconds of a processor that one call of pytest may take; without an error it takes less than a quarter."""
NO_END, NO_TESTS = "no end", "no tests"
NOTHING_COLLECTED = 5
"""Exit status of pytest that has collected no test."""
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist")

FORTY = "tests/test_methods.py -k 'forty and (one or planar_arm or scara or square_tree6 or chain5)"

ROOMS: dict[str, tuple[str, ...]] = {
    "": ("tests/test_cli.py", "tests/test_dask.py"),
    **dict.fromkeys(
        ("cli", "ir", "mechanism", "pages", "support", "vocabulary"),
        (
            "tests/test_reals.py tests/test_ir.py tests/test_toml.py tests/test_lumping.py",
            "tests/test_passes.py -k pipeline",
            "tests/test_shelf.py",
            "tests/test_cli.py",
        ),
    ),
    "emission": (
        "tests/test_golden.py tests/test_c99.py",
        "tests/test_checked.py",
        "tests/test_inline_trig.py -k 'not proved'",
        "tests/test_auto_trig.py",
        "tests/test_cpp17.py",
        "tests/test_dropped_in.py -k 'ascii or markdown or signs'",
    ),
    "emission/backends/casadi": ("tests/test_casadi.py",),
    "certificate": (
        "tests/test_certificate.py",
        "tests/test_recognition.py tests/test_regularity.py",
        "tests/test_round_off.py",
    ),
    "certificate/intervals": ("tests/test_difference.py", "tests/test_round_off.py"),
    "mechanism/closures": ("tests/test_loops.py",),
    "cli/commands": (
        "tests/test_cli.py",
        "tests/test_prove.py -k 'not every'",
        "tests/test_inspection_requests.py -k listed",
    ),
    "cli/commands/cost": ("tests/test_cost.py -k 'command or sentence'",),
    "delivery": (
        "tests/test_golden.py tests/test_left_out.py tests/test_folder.py tests/test_replacing.py",
        "tests/test_evidence.py tests/test_dropped_in.py",
    ),
    "delivery/converting": ("tests/test_convert.py", "tests/test_convert_files.py"),
    "delivery/verifying": ("tests/test_verify_folder.py", "tests/test_old_folders.py"),
    "derivation": (
        "tests/test_spatial.py tests/test_derivation.py tests/test_constants.py",
        f"{FORTY}'",
        "tests/test_operations.py",
        "tests/test_model.py -k 'not panda'",
        "tests/test_closed_forms.py",
    ),
    "description": (
        "tests/test_quantities.py -k 'not no_text'",
        "tests/test_toml.py tests/test_urdf.py tests/test_tip.py",
        "tests/test_bad_input.py tests/test_lumping.py",
        "tests/test_dropped_in.py -k no_file",
    ),
    "description/readers/mjcf": ("tests/test_mjcf.py", "tests/test_mjcf_refused.py"),
    "description/readers/sdf": ("tests/test_sdf.py", "tests/test_sdf_refused.py"),
    "description/readers/urdf": (
        "tests/test_urdf.py tests/test_urdf_words.py",
        "tests/test_mimic_read.py tests/test_loops_read.py",
        "tests/test_bad_input.py",
    ),
    "description/writers": ("tests/test_convert.py", "tests/test_convert_files.py"),
    "description/by_hand": ("tests/test_by_hand.py",),
    **dict.fromkeys(
        ("description/from_mujoco", "description/from_pinocchio", "description/models"),
        ("tests/test_from_mujoco.py tests/test_from_pinocchio.py",),
    ),
    "pipeline/differentiation": ("tests/test_derivatives.py",),
    "support/files": ("tests/test_disk.py tests/test_replacing.py",),
    "vocabulary/functions": ("tests/test_golden.py", f"{FORTY}'"),
    "inspection": (
        "tests/test_inspection.py",
        "tests/test_inspection_requests.py",
        "tests/test_inspection_parameters.py -k arm",
        "tests/test_inspection_structure.py -k 'scara or tree or arm'",
        "tests/test_inspection_multiangle.py -k arm",
        "tests/test_inspection_forms.py -k arm",
        "tests/test_inspection_loops.py",
    ),
    **dict.fromkeys(
        (
            "emission/lanes",
            "emission/lowering/lane_function",
            "machine/arrays",
            "machine/batch",
            "readback/batches",
            "verification/blocks",
        ),
        ("tests/test_many_states.py",),
    ),
    **dict.fromkeys(
        ("emission/looped_lanes",),
        ("tests/test_looped_batch.py -k 'not folder'",),
    ),
    **dict.fromkeys(
        (
            "emission/blocks",
            "emission/loop_work",
            "emission/looped",
            "emission/lowering/loop_function",
            "emission/lowering/loop_tables",
            "emission/lowering/sweep",
            "readback/loops",
            "readback/c_machine",
        ),
        (
            "tests/test_looped_c.py -k 'not silent and not misra'",
            "tests/test_looped_sines.py -k 'not silent'",
        ),
    ),
    **dict.fromkeys(
        ("emission/lowering/loop_checks", "readback/comparisons", "ir/loops/steps"),
        ("tests/test_looped_checked.py -k 'not generate'",),
    ),
    **dict.fromkeys(
        (
            "pipeline/loops/constraint_force_scan",
            "emission/lowering/parallel_scan",
            "methods/constraint_force/levels",
        ),
        ("tests/test_levels.py -k 'not generate'",),
    ),
    **dict.fromkeys(
        (
            "pipeline/loops/riccati_segments",
            "emission/lowering/chain",
            "emission/lowering/sequential_scan",
            "emission/parted",
            "methods/riccati/segments",
            "pipeline/segment_lengths",
            "reference/truncated_pivots",
        ),
        ("tests/test_segments.py -k 'not generate'", "tests/test_levels.py -k text"),
    ),
    **dict.fromkeys(("emission/print", "emission/statements"), ("tests/test_statements.py",)),
    "emission/lane_steps": (
        "tests/test_looped_batch.py -k 'not folder'",
        "tests/test_segments.py -k 'not generate'",
        "tests/test_levels.py -k text",
    ),
    "jax": ("tests/test_jax.py",),
    "mechanism/joints": (f"{FORTY}'", "tests/test_reference.py"),
    **dict.fromkeys(
        ("reference/articulated", "reference/long", "verification/long"),
        ("tests/test_forms.py -k 'not folder'",),
    ),
    **dict.fromkeys(
        ("pipeline/loops/planar_segments", "methods/fixman/segments"), ("tests/test_pointwise.py",)
    ),
    **dict.fromkeys(
        ("pipeline/loops/chains", "pipeline/loops/planar_scan", "methods/fixman/levels"),
        ("tests/test_point_levels.py",),
    ),
    "pipeline/loops": ("tests/test_looping.py",),
    "ir/loops": (
        "tests/test_looping.py",
        "tests/test_levels.py -k 'not generate'",
        "tests/test_segments.py -k 'not generate'",
    ),
    "machine": (
        "tests/test_image.py tests/test_cost.py",
        "tests/test_solver.py -k 'not ctrl'",
        "tests/test_solver_builds.py tests/test_library.py",
    ),
    "machine/solver": (
        "tests/test_solver.py -k 'not ctrl'",
        "tests/test_solver_builds.py tests/test_pickle.py",
        "tests/test_parameters.py",
    ),
    **dict.fromkeys(
        ("machine/blocks", "machine/kernels"),
        (
            "tests/test_solver.py -k 'not ctrl'",
            "tests/test_many_states.py",
            "tests/test_blocks_behind.py tests/test_looped_solver.py",
        ),
    ),
    "benchmarks": ("tests/test_bench.py", "tests/test_compare.py"),
    "methods": (f"{FORTY}'", "tests/test_variants.py", "tests/test_inspection_quantities.py"),
    **{
        f"methods/{name}": (
            f"{FORTY} and {name}'",
            *more,
            f"tests/test_inspection_quantities.py -k {name}",
        )
        for name, more in {
            "composite_body": (
                "tests/test_degrees_of_freedom.py -k composite_body",
                "tests/test_wrench.py -k 'feel or undo'",
            ),
            "newton_euler": (),
            "riccati": (),
            "constraint_force": (
                "tests/test_constraint_force.py",
                "tests/test_cut_joints_of_several.py",
            ),
            "fixman": (
                "tests/test_fixman.py",
                "tests/test_cut_joints_of_several.py",
                "tests/test_variants.py",
                "tests/test_inspection_quantities.py -k chirikjian",
            ),
            "udut": ("tests/test_udut_matrices.py",),
        }.items()
    },
    "methods/derivative_recursion": (
        f"{FORTY} and derivative_recursion'",
        "tests/test_dynamics_derivatives.py -k 'planted or payload or small'",
    ),
    **dict.fromkeys(
        ("methods/shared/constrained", "methods/shared/contacts"), ("tests/test_contacts.py",)
    ),
    **dict.fromkeys(
        (
            "methods/shared/closures",
            "methods/shared/independent_coordinates",
            "methods/shared/loops",
        ),
        ("tests/test_loops.py", "tests/test_over_determined.py"),
    ),
    "methods/shared/drives": ("tests/test_drives.py",),
    "methods/shared/mimic": ("tests/test_mimic.py",),
    "methods/shared/task": ("tests/test_task_rows.py",),
    "methods/kinematics": (f"{FORTY} and kinematics'", "tests/test_payload_and_frames.py -k frame"),
    **dict.fromkeys(
        (
            "methods/rk4",
            "methods/semi_implicit_euler",
            "pipeline/composing",
            "pipeline/differentiation/chain_rule",
            "reference/time_step",
        ),
        ("tests/test_step.py",),
    ),
    "ir/passes": ("tests/test_golden.py", "tests/test_passes.py"),
    "pages/pictures": (
        "tests/test_inspection_requests.py -k picture",
        "tests/test_compare.py -k 'picture or same_c'",
    ),
    "pipeline": (
        "tests/test_derived_once.py tests/test_variants.py",
        "tests/test_regularity.py tests/test_shelf.py",
    ),
    "verification/proof": ("tests/test_round_off.py", "tests/test_prove.py", "tests/test_eva.py"),
    "readback": ("tests/test_readback.py", "tests/test_checked.py"),
    "reference": (
        "tests/test_reference.py",
        f"{FORTY}'",
        "tests/test_regularity.py",
        "tests/test_wrench.py tests/test_several_wrenches.py",
    ),
    "reference/integrate": ("tests/test_difference.py tests/test_integrate.py",),
    "reference/singularity": (
        "tests/test_regularity.py tests/test_regularity_alone.py",
        "tests/test_mimic.py",
        "tests/test_reference.py",
    ),
    "reference/contacts": ("tests/test_contacts.py",),
    **dict.fromkeys(
        (
            "reference/assembling",
            "reference/assembly_starts",
            "reference/closing",
            "reference/constrained",
            "reference/loop_mobility",
            "reference/minimum_norm",
        ),
        ("tests/test_loops.py", "tests/test_over_determined.py"),
    ),
    "pages/report": ("tests/test_toml.py tests/test_report.py",),
    "pages/reproduce": ("tests/test_reproduce.py tests/test_saha_counts.py",),
    "verification": (
        "tests/test_verdicts.py",
        "tests/test_verify.py -k 'not random'",
        "tests/test_planted_errors.py",
        "tests/test_log_determinant.py tests/test_place_of_base.py tests/test_several_wrenches.py -k size",
        "tests/test_readback.py -k differences",
    ),
}


def room(file: str) -> str:
    """The folder of a floor; what stands beside the folders is a room as well."""
    return file.split("/")[0] if "/" in file else "symgen"


def stages(file: str) -> tuple[str, ...]:
    """What pytest is given, one call after the other: the longest beginning of the file's path decides."""
    plain = file.replace("/_", "/")
    return ROOMS[max((start for start in ROOMS if plain.startswith(start)), key=len)]


class Outcome(NamedTuple):
    killed: bool
    by: str
    seconds: float


class Tree:
    """A copy of the tree in which errors may be planted, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.cache = folder / "cache"
        shutil.copytree(ROOT, self.root, ignore=NOT_COPIED, symlinks=True)
        self.age = int(time.time()) - 10**6

    def planted(self, edit: Edit, source: bytes, before: str) -> Outcome:
        """`before` is the test that killed it in another run: it goes first."""
        begun = time.monotonic()
        first = shlex.quote(before)
        for stage in ((first,) if self.has(before) else ()) + stages(edit.file):
            self._write(edit.file, edit.applied(source))
            try:
                found = self.tested(stage)
            finally:
                self._write(edit.file, source)
            if found.by == NO_END and self.tested(stage).seconds > LIMIT / 4:
                found = Outcome(False, "", 0.0)  # it takes long by itself
            if found.by == NO_TESTS and self.tested(stage).by == NO_TESTS:
                raise SystemExit(f"no test answers to '{stage}'; correct ROOMS")
            if found.killed and (
                stage != first or found.by == before
            ):  # of other robots there may be no such test any more
                break
        return found._replace(seconds=round(time.monotonic() - begun, 1))

    def has(self, test: str) -> bool:
        file, _, name = test.partition("::")
        path = self.root / file
        return (
            bool(name)
            and path.is_file()
            and f"def {name.partition('[')[0]}(" in path.read_text(encoding="utf-8")
        )

    def _write(self, file: str, text: bytes) -> None:
        path = self.root / "symgen" / file
        path.write_bytes(text)
        self.age += 2  # what Python has compiled is told by size and second
        os.utime(path, (self.age, self.age))

    def tested(self, stage: str) -> Outcome:
        """What pytest says; a stage that takes LIMIT seconds of a processor has no end."""
        shutil.rmtree(self.cache, ignore_errors=True)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPATH": str(self.root), "SYMGEN_CACHE": str(self.cache)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "--tb=no",
            *shlex.split(stage),
        ]
        running = subprocess.Popen(
            command,
            cwd=self.root,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
        )
        begun = time.monotonic()
        try:
            said, _ = running.communicate(timeout=10 * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
        taken = time.monotonic() - begun
        if running.returncode <= 0:
            return Outcome(running.returncode < 0, NO_END if running.returncode else "", taken)
        if running.returncode == NOTHING_COLLECTED:
            return Outcome(True, NO_TESTS, taken)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+(?: \S+)*?)(?: - |$)", said, re.MULTILINE)
        return Outcome(True, failed[1] if failed else said.strip()[-200:], taken)


class Ledger:
    """What is known, written after every finding."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.known: dict[str, Any] = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        )

    @staticmethod
    def key(edit: Edit, source: bytes) -> str:
        return f"{edit.file}:{edit.line} [{edit.start}] {edit.text} @ {hashlib.sha256(source).hexdigest()[:12]}"

    def note(self, key: str, what: Any) -> None:
        with self.lock:
            self.known[key] = what
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_suffix(".part")
            part.write_text(
                json.dumps(self.known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            part.replace(self.path)


def table(edits: Sequence[Edit], found: Sequence[dict[str, Any]]) -> str:
    rows: dict[str, list[bool]] = {}
    for edit, one in zip(edits, found, strict=True):
        rows.setdefault(room(edit.file), []).append(one["killed"])
    lines = [f"{name:14} {sum(kills):4}/{len(kills)}" for name, kills in sorted(rows.items())]
    killed = sum(one["killed"] for one in found)
    share = f"{100 * killed / len(found):.1f} %" if found else "none asked for"
    return "\n".join([*lines, f"{'all':14} {killed:4}/{len(found)}  {share}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    parser.add_argument(
        "--before",
        type=Path,
        help="what another run found: the test that killed an error goes first",
    )
    parser.add_argument("--rooms", nargs="+", help="only the edits of these")
    parser.add_argument("--list", action="store_true", help="print the edits and plant none")
    given = parser.parse_args()

    edits = [
        edit
        for edit in islice(in_order(ROOT / "symgen", room, given.seed), given.count)
        if given.rooms is None or room(edit.file) in given.rooms
    ]
    if given.list:
        print("\n".join(f"symgen/{edit.file}:{edit.line} {edit.text}" for edit in edits))
        return
    sources = {edit.file: (ROOT / "symgen" / edit.file).read_bytes() for edit in edits}
    ledger = Ledger(given.out.resolve())
    before = (
        {key: one["by"] for key, one in Ledger(given.before).known.items() if one}
        if given.before
        else {}
    )
    keys = {edit: ledger.key(edit, sources[edit.file]) for edit in edits}
    waiting = [edit for edit in edits if not ledger.known.get(keys[edit])]
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for k in range(given.jobs):
            trees.put(Tree(Path(top) / str(k)))

        def plant(edit: Edit) -> None:
            tree = trees.get()
            try:
                found = tree.planted(edit, sources[edit.file], before.get(keys[edit], ""))
            finally:
                trees.put(tree)
            ledger.note(keys[edit], found._asdict())
            print(
                f"{'killed  ' if found.killed else 'SURVIVED'} {found.seconds:6.1f} s  {edit.file}:{edit.line} {edit.text}",
                flush=True,
            )

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(plant, waiting))
        # a test that fails with no error planted has killed nothing, nor had it in a run that was stopped
        killers = sorted(
            {
                ledger.known[keys[edit]]["by"]
                for edit in edits
                if "::" in ledger.known[keys[edit]]["by"]
            }
        )
        alone = (
            trees.get().tested(shlex.join(killers))
            if waiting and killers
            else Outcome(False, "", 0.0)
        )
        if alone.killed:
            for edit in edits:
                if ledger.known[keys[edit]]["by"] == alone.by:
                    ledger.note(keys[edit], None)
            raise SystemExit(f"without an error planted this fails: {alone.by}")
    found = [ledger.known[keys[edit]] for edit in edits]
    print(table(edits, found))
    for edit, one in zip(edits, found, strict=True):
        if not one["killed"]:
            print(f"survives: symgen/{edit.file}:{edit.line} {edit.text}")


if __name__ == "__main__":
    main()
