"""Mutation tests of symgen/: each planted error must fail a test (`python -m tests.mutants`).

An error is planted in a copy of the repository, and the tests of its room are run. It is killed if
a test fails that passes without it, or if the tests do not end. `--out` names the file of results,
by edited file, edit and content of the file; a second run continues from it.
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

from tests.shared.edits import Edit, in_order

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 240
"""CPU seconds that one call of pytest may take, four times more than without an error."""
NO_END, NO_TESTS = "no end", "no tests"
NOTHING_COLLECTED = 5
"""Exit status of pytest if it collected no test."""
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist")

FORTY = "tests/methods/test_every_method.py -k 'forty and (one or planar_arm or scara or square_tree6 or chain5)"

ROOMS: dict[str, tuple[str, ...]] = {
    "": ("tests/cli/test_cli.py", "tests/system/test_dask.py"),
    **dict.fromkeys(
        ("cli", "ir", "mechanism", "pages", "support", "vocabulary"),
        (
            "tests/vocabulary/test_reals.py tests/ir/test_program.py tests/description/test_toml.py tests/mechanism/test_lumping.py",
            "tests/ir/test_passes.py -k pipeline",
            "tests/support/test_cache.py",
            "tests/cli/test_cli.py",
        ),
    ),
    "emission": (
        "tests/golden/test_golden.py tests/emission/test_c99.py",
        "tests/emission/test_checked.py",
        "tests/emission/test_inline_trig.py -k 'not proved'",
        "tests/emission/test_auto_trig.py",
        "tests/emission/test_cpp17.py",
        "tests/delivery/test_dropped_in.py -k 'ascii or markdown or signs'",
    ),
    "emission/backends/casadi": ("tests/emission/test_casadi.py",),
    "certificate": (
        "tests/certificate/test_divisors.py",
        "tests/certificate/test_recognition.py tests/reference/test_regularity.py",
        "tests/certificate/test_round_off.py",
    ),
    "certificate/at_run_time": (
        "tests/pipeline/test_checked_parameters.py -k 'not folder and not verify'",
    ),
    "certificate/intervals": (
        "tests/methods/test_difference.py",
        "tests/certificate/test_round_off.py",
    ),
    "mechanism/closures": ("tests/methods/test_closed_loops.py",),
    "mechanism/drives": (
        "tests/description/test_from_mujoco.py -k 'ball_joint_keeps'",
        "tests/mechanism/test_drives.py -k 'toml or urdf or description or refused or hash'",
    ),
    "cli/commands": (
        "tests/cli/test_cli.py",
        "tests/verification/test_prove.py -k 'not every'",
        "tests/inspection/test_requests.py -k listed",
    ),
    "cli/commands/cost": ("tests/machine/test_cost.py -k 'command or sentence'",),
    "delivery": (
        "tests/golden/test_golden.py tests/delivery/test_left_out.py tests/delivery/test_folder.py tests/delivery/test_atomic_replace.py",
        "tests/delivery/test_evidence.py tests/delivery/test_dropped_in.py",
    ),
    "delivery/converting": (
        "tests/description/test_convert.py",
        "tests/description/test_convert_files.py",
    ),
    "delivery/verifying": (
        "tests/verification/test_verify_folder.py",
        "tests/verification/test_old_folders.py",
    ),
    "derivation/table_linkage": (
        "tests/pipeline/test_loops.py -k 'sweeps_equal and (chain or tree or mixed)'",
    ),
    "derivation": (
        "tests/derivation/test_spatial.py tests/derivation/test_scalars.py tests/vocabulary/test_constants.py",
        f"{FORTY}'",
        "tests/pipeline/test_operation_counts.py",
        "tests/derivation/test_link_frames.py -k 'not panda'",
        "tests/derivation/test_closed_forms.py",
    ),
    "description": (
        "tests/description/test_quantities.py -k 'not any_text'",
        "tests/description/test_toml.py tests/description/test_urdf.py tests/mechanism/test_default_frame.py",
        "tests/description/test_bad_input.py tests/mechanism/test_lumping.py",
        "tests/delivery/test_dropped_in.py -k no_file",
    ),
    "description/readers/comma": ("tests/description/test_csv.py",),
    "description/readers/mjcf": (
        "tests/description/test_mjcf.py",
        "tests/description/test_mjcf_refused.py",
    ),
    "description/readers/sdf": (
        "tests/description/test_sdf.py",
        "tests/description/test_sdf_refused.py",
    ),
    "description/readers/urdf": (
        "tests/description/test_urdf.py tests/description/test_urdf_words.py",
        "tests/description/test_mimic.py tests/description/test_closed_loops.py",
        "tests/description/test_bad_input.py",
    ),
    "description/writers": (
        "tests/description/test_convert.py",
        "tests/description/test_convert_files.py",
    ),
    "description/by_hand": (
        "tests/description/test_python_description.py",
        "tests/description/test_closed_loops.py -k 'python or faulty_loop or named_quaternion'",
    ),
    **dict.fromkeys(
        ("description/from_mujoco", "description/from_pinocchio", "description/models"),
        ("tests/description/test_from_mujoco.py tests/description/test_from_pinocchio.py",),
    ),
    "pipeline/differentiation": ("tests/pipeline/test_derivatives.py",),
    "support/files": ("tests/support/test_files.py tests/delivery/test_atomic_replace.py",),
    "vocabulary/derivatives": (
        "tests/pipeline/test_derivatives.py -k 'first_derivatives and free_revolute'",
    ),
    "vocabulary/functions": ("tests/golden/test_golden.py", f"{FORTY}'"),
    "inspection": (
        "tests/inspection/test_entries.py",
        "tests/inspection/test_requests.py",
        "tests/inspection/test_parameters.py -k arm",
        "tests/inspection/test_structure.py -k 'scara or tree or arm'",
        "tests/inspection/test_multiangle.py -k arm",
        "tests/inspection/test_canonical.py",
        "tests/inspection/test_forms.py -k arm",
        "tests/inspection/test_looped.py",
    ),
    **dict.fromkeys(
        (
            "emission/lanes",
            "emission/lowering/lane_function",
            "machine/arrays",
            "machine/batch",
            "verification/blocks",
        ),
        ("tests/emission/test_batch.py",),
    ),
    "readback/batches": (
        "tests/emission/test_batch.py",
        "tests/emission/test_looped_batch.py -k 'bits_of_one and ur5'",
    ),
    **dict.fromkeys(
        ("emission/looped_lanes",),
        ("tests/emission/test_looped_batch.py -k 'not folder'",),
    ),
    **dict.fromkeys(
        (
            "emission/blocks",
            "emission/loop_work",
            "emission/looped",
            "emission/lowering/loop_function",
            "emission/lowering/loop_tables",
            "emission/lowering/sweep",
            "readback/c_machine",
        ),
        (
            "tests/emission/test_looped_c.py -k 'not silent and not misra'",
            "tests/emission/test_looped_sines.py -k 'not silent'",
        ),
    ),
    "readback/loops": (
        "tests/emission/test_looped_c.py -k 'not silent and not misra'",
        "tests/emission/test_looped_sines.py -k 'not silent'",
        "tests/emission/test_looped_checked.py -k required_check",
    ),
    **dict.fromkeys(
        ("emission/lowering/loop_checks", "readback/comparisons", "ir/loops/steps"),
        ("tests/emission/test_looped_checked.py -k 'not generate'",),
    ),
    **dict.fromkeys(
        (
            "pipeline/loops/constraint_force_scan",
            "emission/lowering/parallel_scan",
            "methods/constraint_force/levels",
        ),
        ("tests/pipeline/test_constraint_force_scan.py -k 'not generate'",),
    ),
    **dict.fromkeys(
        (
            "pipeline/loops/riccati_segments",
            "emission/lowering/chain",
            "emission/lowering/sequential_scan",
            "emission/parted",
            "emission/part_layout",
            "methods/riccati/segments",
            "pipeline/segment_lengths",
            "reference/truncated_pivots",
        ),
        (
            "tests/pipeline/test_riccati_segments.py -k 'not generate'",
            "tests/pipeline/test_constraint_force_scan.py -k text",
            "tests/emission/test_parts_checked.py -k 'not generate'",
        ),
    ),
    **dict.fromkeys(
        ("emission/print", "emission/statements"), ("tests/emission/test_statements.py",)
    ),
    "emission/lane_steps": (
        "tests/emission/test_looped_batch.py -k 'not folder'",
        "tests/pipeline/test_riccati_segments.py -k 'not generate'",
        "tests/pipeline/test_constraint_force_scan.py -k text",
    ),
    "jax": ("tests/jax/test_jax.py",),
    "mechanism/joints": (
        f"{FORTY}'",
        "tests/reference/test_numeric_reference.py tests/mechanism/test_helical_joint.py",
        "tests/methods/test_difference.py tests/methods/test_time_step.py",
    ),
    "description/assembly": ("tests/description/test_closed_loops.py",),
    "methods/newton_euler/bias_acceleration": (
        "tests/pipeline/test_loops.py -k bias_acceleration",
        "tests/methods/test_jacobian_conventions.py",
    ),
    "description/locking": (
        "tests/mechanism/test_helical_joint.py -k 'locked or refused'",
        "tests/mechanism/test_lumping.py",
    ),
    "description/parsing/xacro_program": ("tests/description/test_xacro.py",),
    **dict.fromkeys(
        ("reference/articulated", "reference/long", "verification/long"),
        ("tests/pipeline/test_forms.py -k 'not folder'",),
    ),
    **dict.fromkeys(
        ("pipeline/loops/planar_segments", "methods/fixman/segments"),
        ("tests/pipeline/test_planar_segments.py",),
    ),
    **dict.fromkeys(
        ("pipeline/loops/chains", "pipeline/loops/planar_scan", "methods/fixman/levels"),
        ("tests/pipeline/test_planar_scan.py",),
    ),
    "pipeline/loops": ("tests/pipeline/test_loops.py",),
    "ir/loops": (
        "tests/pipeline/test_loops.py",
        "tests/pipeline/test_constraint_force_scan.py -k 'not generate'",
        "tests/pipeline/test_riccati_segments.py -k 'not generate'",
    ),
    "machine": (
        "tests/machine/test_disassembly.py tests/machine/test_cost.py",
        "tests/machine/test_solver.py -k 'not ctrl'",
        "tests/machine/test_solver_builds.py tests/machine/test_library.py",
    ),
    "machine/solver": (
        "tests/machine/test_solver.py -k 'not ctrl'",
        "tests/machine/test_solver_builds.py tests/machine/test_pickle.py",
        "tests/system/test_parameters.py",
    ),
    **dict.fromkeys(
        ("machine/blocks", "machine/kernels"),
        (
            "tests/machine/test_solver.py -k 'not ctrl'",
            "tests/emission/test_batch.py",
            "tests/machine/test_background_blocks.py tests/machine/test_looped_solver.py",
        ),
    ),
    "benchmarks": ("tests/benchmarks/test_bench.py", "tests/pages/test_compare.py"),
    "methods": (f"{FORTY}'", "tests/methods/test_variants.py", "tests/inspection/test_letters.py"),
    **{
        f"methods/{name}": (
            f"{FORTY} and {name}'",
            *more,
            f"tests/inspection/test_letters.py -k {name}",
        )
        for name, more in {
            "composite_body": (
                "tests/methods/test_joints_of_several_coordinates.py -k composite_body",
                "tests/methods/test_wrench.py -k 'transposed_jacobian or invert or independent_functions'",
            ),
            "newton_euler": (),
            "riccati": (),
            "constraint_force": (
                "tests/methods/test_constraint_force.py",
                "tests/methods/test_cut_joints_of_several.py",
                "tests/methods/test_several_wrenches.py -k 'equals_the_reference and forward_dynamics'",
            ),
            "fixman": (
                "tests/methods/test_fixman.py",
                "tests/pipeline/test_loops.py -k 'sweeps_equal and fixman and points'",
                "tests/methods/test_cut_joints_of_several.py",
                "tests/methods/test_variants.py",
                "tests/inspection/test_letters.py -k chirikjian",
            ),
            "udut": (),
        }.items()
    },
    "methods/gauss_newton": ("tests/methods/test_assemble.py -k 'planted or half_a_turn'",),
    "methods/derivative_recursion": (
        f"{FORTY} and derivative_recursion'",
        "tests/methods/test_dynamics_derivatives.py -k 'planted or payload or small'",
    ),
    **dict.fromkeys(
        ("methods/shared/constrained", "methods/shared/contacts"),
        ("tests/methods/test_contacts.py",),
    ),
    **dict.fromkeys(
        (
            "methods/shared/closures",
            "methods/shared/independent_coordinates",
            "methods/shared/loops",
        ),
        ("tests/methods/test_closed_loops.py", "tests/methods/test_over_determined.py"),
    ),
    "methods/shared/drives": ("tests/mechanism/test_drives.py",),
    "methods/shared/mimic": ("tests/methods/test_mimic.py",),
    "methods/shared/task": ("tests/methods/test_task_rows.py",),
    "methods/kinematics": (
        f"{FORTY} and kinematics'",
        "tests/methods/test_payload_and_frames.py -k frame",
    ),
    **dict.fromkeys(
        (
            "methods/rk4",
            "methods/semi_implicit_euler",
            "pipeline/composing",
            "pipeline/differentiation/chain_rule",
            "reference/time_step",
        ),
        ("tests/methods/test_time_step.py",),
    ),
    "ir/passes": ("tests/golden/test_golden.py", "tests/ir/test_passes.py"),
    "ir/passes/balance": ("tests/ir/test_balance.py", "tests/golden/test_golden.py"),
    "ir/passes/choose": (
        "tests/ir/test_merge_equal.py -k 'chosen or spare or moved'",
        "tests/ir/test_passes.py",
        "tests/golden/test_golden.py",
    ),
    "papers": (
        "tests/papers/test_chain.py tests/papers/test_identities.py",
        "tests/inspection/test_paper_letters.py",
    ),
    **{
        f"papers/{name}": (f"tests/papers/test_{name}.py -m 'not slow'",)
        for name in ("rk", "sa", "lc", "wc", "ff")
    },
    **dict.fromkeys(
        ("papers/comparison", "papers/complement", "papers/dual"),
        ("tests/papers/test_lc.py tests/papers/test_wc.py -m 'not slow'",),
    ),
    "papers/rational_functions": (
        "tests/papers/test_rk.py -m 'not slow'",
        "tests/inspection/test_paper_letters.py",
    ),
    "papers/symbolic": (
        "tests/inspection/test_paper_letters.py",
        "tests/papers/test_identities.py",
    ),
    "inspection/paper_letters": ("tests/inspection/test_paper_letters.py",),
    "pages/derivation": ("tests/pages/test_derivation.py",),
    "pages/pictures": (
        "tests/inspection/test_requests.py -k picture",
        "tests/pages/test_compare.py -k 'picture or same_c'",
    ),
    "pipeline": (
        "tests/pipeline/test_derived_once.py tests/methods/test_variants.py",
        "tests/reference/test_regularity.py tests/support/test_cache.py",
    ),
    "pipeline/build": (
        "tests/pipeline/test_derived_once.py tests/methods/test_variants.py",
        "tests/reference/test_regularity.py tests/support/test_cache.py",
        "tests/pipeline/test_derivatives.py -k 'first_derivatives and free_revolute'",
    ),
    "pipeline/adjusting": (
        "tests/system/test_parameters.py -k 'every_method_accepts or refused or select or start'",
        "tests/pipeline/test_checked_parameters.py -k 'not folder and not verify'",
    ),
    "verification/proof": (
        "tests/certificate/test_round_off.py",
        "tests/verification/test_prove.py",
        "tests/verification/test_eva.py",
    ),
    "readback": ("tests/readback/test_unrolled.py", "tests/emission/test_checked.py"),
    "readback/kernels": (
        "tests/emission/test_cuda.py -k 'computes_the_program or is_reported or are_reported'",
        "tests/emission/test_cuda_of_loops.py -k 'is_reported or workspace_is_refused'",
    ),
    "reference": (
        "tests/reference/test_numeric_reference.py",
        f"{FORTY}'",
        "tests/reference/test_regularity.py",
        "tests/methods/test_wrench.py tests/methods/test_several_wrenches.py",
    ),
    "reference/integrate": ("tests/methods/test_difference.py tests/methods/test_integrate.py",),
    "reference/singularity": (
        "tests/reference/test_regularity.py tests/reference/test_link_pivot_bounds.py",
        "tests/methods/test_mimic.py",
        "tests/reference/test_numeric_reference.py",
    ),
    "reference/contacts": ("tests/methods/test_contacts.py",),
    "reference/leverage": ("tests/methods/test_leverage.py",),
    **dict.fromkeys(
        (
            "reference/assembling",
            "reference/assembly_starts",
            "reference/closing",
            "reference/constrained",
            "reference/loop_mobility",
            "reference/minimum_norm",
        ),
        ("tests/methods/test_closed_loops.py", "tests/methods/test_over_determined.py"),
    ),
    "pages/report": ("tests/description/test_toml.py tests/pages/test_report.py",),
    "pages/reproduce": ("tests/pages/test_reproduce.py tests/methods/test_saha_counts.py",),
    "verification": (
        "tests/verification/test_verdicts.py",
        "tests/verification/test_verify.py -k 'not random'",
        "tests/verification/test_planted_errors.py",
        "tests/methods/test_log_determinant.py tests/mechanism/test_base_placement.py tests/methods/test_several_wrenches.py -k size",
        "tests/readback/test_unrolled.py -k differences",
    ),
    "verification/identities": (
        "tests/verification/test_identities.py",
        "tests/verification/test_verify.py -k 'not random'",
    ),
    "verification/scales": (
        "tests/verification/test_scales.py",
        "tests/verification/test_verify.py -k 'not random'",
        "tests/verification/test_planted_errors.py",
        "tests/methods/test_log_determinant.py tests/mechanism/test_base_placement.py tests/methods/test_several_wrenches.py -k size",
    ),
}


def room(file: str) -> str:
    """Return the room of a file: its top folder, or symgen for files in no folder."""
    return file.split("/")[0] if "/" in file else "symgen"


def stages(file: str) -> tuple[str, ...]:
    """Return the arguments of successive pytest calls: by the longest matching prefix in ROOMS,
    then those of the room itself.
    """
    plain = file.replace("/_", "/")
    specific = ROOMS[max((start for start in ROOMS if plain.startswith(start)), key=len)]
    general = ROOMS.get(plain.partition("/")[0], ()) if "/" in plain else ()
    return (*specific, *(stage for stage in general if stage not in specific))


class Outcome(NamedTuple):
    killed: bool
    by: str
    seconds: float


class Tree:
    """A copy of the repository in which errors are planted one at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.cache = folder / "cache"
        shutil.copytree(ROOT, self.root, ignore=NOT_COPIED, symlinks=True)
        self.age = int(time.time()) - 10**6

    def planted(self, edit: Edit, source: bytes, before: str) -> Outcome:
        """Plant an error and run its tests, first the test `before` that killed it in another run."""
        start = time.monotonic()
        first = shlex.quote(before)
        for stage in ((first,) if self.has(before) else ()) + stages(edit.file):
            self._write(edit.file, edit.applied(source))
            try:
                outcome = self.tested(stage)
            finally:
                self._write(edit.file, source)
            if outcome.by == NO_END and self.tested(stage).seconds > LIMIT / 4:
                outcome = Outcome(False, "", 0.0)  # the tests are slow without the error, too
            if outcome.by == NO_TESTS and self.tested(stage).by == NO_TESTS:
                raise SystemExit(f"no test answers to '{stage}'; correct ROOMS")
            if outcome.killed and (
                stage != first or outcome.by == before
            ):  # the test that killed the error before may have been renamed
                break
        return outcome._replace(seconds=round(time.monotonic() - start, 1))

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
        self.age += 2  # Python recognises compiled files by size and time in seconds
        os.utime(path, (self.age, self.age))

    def tested(self, stage: str) -> Outcome:
        """Run pytest on a stage; a stage that takes LIMIT CPU seconds counts as endless."""
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
        start = time.monotonic()
        try:
            output, _ = running.communicate(timeout=10 * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
        seconds = time.monotonic() - start
        if running.returncode <= 0:
            return Outcome(running.returncode < 0, NO_END if running.returncode else "", seconds)
        if running.returncode == NOTHING_COLLECTED:
            return Outcome(True, NO_TESTS, seconds)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+(?: \S+)*?)(?: - |$)", output, re.MULTILINE)
        return Outcome(True, failed[1] if failed else output.strip()[-200:], seconds)


class Ledger:
    """Results of all errors, saved to a file after every result."""

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


def table(edits: Sequence[Edit], outcomes: Sequence[dict[str, Any]]) -> str:
    rows: dict[str, list[bool]] = {}
    for edit, outcome in zip(edits, outcomes, strict=True):
        rows.setdefault(room(edit.file), []).append(outcome["killed"])
    lines = [f"{name:14} {sum(kills):4}/{len(kills)}" for name, kills in sorted(rows.items())]
    killed = sum(outcome["killed"] for outcome in outcomes)
    share = f"{100 * killed / len(outcomes):.1f} %" if outcomes else "none asked for"
    return "\n".join([*lines, f"{'all':14} {killed:4}/{len(outcomes)}  {share}"])


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
    arguments = parser.parse_args()

    edits = [
        edit
        for edit in islice(in_order(ROOT / "symgen", room, arguments.seed), arguments.count)
        if arguments.rooms is None or room(edit.file) in arguments.rooms
    ]
    if arguments.list:
        print("\n".join(f"symgen/{edit.file}:{edit.line} {edit.text}" for edit in edits))
        return
    sources = {edit.file: (ROOT / "symgen" / edit.file).read_bytes() for edit in edits}
    ledger = Ledger(arguments.out.resolve())
    before = (
        {key: outcome["by"] for key, outcome in Ledger(arguments.before).known.items() if outcome}
        if arguments.before
        else {}
    )
    keys = {edit: ledger.key(edit, sources[edit.file]) for edit in edits}
    waiting = [edit for edit in edits if not ledger.known.get(keys[edit])]
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for k in range(arguments.jobs):
            trees.put(Tree(Path(top) / str(k)))

        def plant(edit: Edit) -> None:
            tree = trees.get()
            try:
                outcome = tree.planted(edit, sources[edit.file], before.get(keys[edit], ""))
            finally:
                trees.put(tree)
            ledger.note(keys[edit], outcome._asdict())
            print(
                f"{'killed  ' if outcome.killed else 'SURVIVED'} {outcome.seconds:6.1f} s  {edit.file}:{edit.line} {edit.text}",
                flush=True,
            )

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(plant, waiting))
        # a test that also fails without an error has killed nothing, in this run or in a stopped one
        killers = sorted(
            {
                ledger.known[keys[edit]]["by"]
                for edit in edits
                if "::" in ledger.known[keys[edit]]["by"]
            }
        )
        outcome_without_error = (
            trees.get().tested(shlex.join(killers))
            if waiting and killers
            else Outcome(False, "", 0.0)
        )
        if outcome_without_error.killed:
            for edit in edits:
                if ledger.known[keys[edit]]["by"] == outcome_without_error.by:
                    ledger.note(keys[edit], None)
            raise SystemExit(f"without an error planted this fails: {outcome_without_error.by}")
    outcomes = [ledger.known[keys[edit]] for edit in edits]
    print(table(edits, outcomes))
    for edit, outcome in zip(edits, outcomes, strict=True):
        if not outcome["killed"]:
            print(f"survives: symgen/{edit.file}:{edit.line} {edit.text}")


if __name__ == "__main__":
    main()
