"""MuJoCo judges every MJCF file of the PyPI wheels that have many: dm-control, gymnasium-robotics,
robosuite, pybullet, mujoco.

MuJoCo compiles the file itself; our side are the Programs that `symgen generate` prints of the same
file. `make judge` fetches the wheels into build/judges/; nothing of them is kept here.

    python -m tests.judges.mujoco_files build/judges/unpacked
        prints the table of the files below folders
    python -m tests.judges.mujoco_files build/judges/unpacked --write
        rewrites tests/judges/mujoco_files.md
    python -m tests.judges.mujoco_files build/judges/unpacked --only suite/
        the files whose path has that in it

What is judged stands in build/judge/mujoco_files.jsonl, a line a file, and is not judged again
while the file, what it includes, symgen and the judges are what they were.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symgen.description.parsing.xml import root_name
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import FUNCTIONS
from tests.judges import mujoco_words
from tests.judges.example_robot_data import BOUND, QUICK, ROOT, STATES, _rounded

BOOK = ROOT / "build" / "judge" / "mujoco_files.jsonl"
TABLE = Path(__file__).with_name("mujoco_files.md")
CHOSEN_TO = 12
"""Degrees of freedom up to which each function is by the method that `generate` chooses, which
derives it by all of them.
"""
METHODS = QUICK | {"link_poses": "kinematics"}
HEADINGS = dict(zip(mujoco_words.JUDGED, ("ID", "M", "bias", "FD", "poses", "T", "U"), strict=True))
SECONDS = 900
LEVERS = 10.0
"""Largest relative difference of two answers per error of 1 rad in a rotation: levers beyond a
joint are so much longer than the length by which the difference is divided.
"""


@dataclass
class Verdict:
    """Verdict on one file.

    `theirs` and `ours` are the sentences by which MuJoCo and symgen refuse the file. `moved` is the
    largest rotation of the `snaps` and `turned` their sum (rad). `snapped` is the largest error of
    the Programs with snapping on, as `generate` has it by default, and `another` is true if
    snapping gives another robot. `errors` are those with snapping off.
    """

    file: str
    root: str = "mujoco"
    nv: int = 0
    bodies: int = 0
    snaps: int = 0
    moved: float = 0.0
    turned: float = 0.0
    snapped: float | None = None
    another: bool = False
    errors: dict[str, float] = field(default_factory=dict)
    chosen: bool = False
    theirs: str = ""
    ours: str = ""
    said: list[str] = field(default_factory=list)
    failed: str = ""

    @property
    def passed(self) -> bool:
        is_near = self.snapped is None or self.snapped <= BOUND + LEVERS * self.turned
        return is_near and not self.failed and max(self.errors.values(), default=0.0) <= BOUND


def files(folders: list[Path]) -> Iterator[tuple[str, Path]]:
    """(path below its folder, path) of every MJCF below some folders; and of those in the installed
    MuJoCo.
    """
    import mujoco

    package = Path(mujoco.__file__).parent
    for name, folder in [
        *(
            (str(path.relative_to(root)), path)
            for root in folders
            for path in sorted(root.rglob("*.xml"))
        ),
        *((f"mujoco/{path.relative_to(package)}", path) for path in sorted(package.rglob("*.xml"))),
    ]:
        if root_name(folder.read_bytes()) in ("mujoco", "mujocoinclude"):
            yield name, folder


def judge(name: str, path: Path) -> Verdict:
    """The verdict on one file."""
    verdict = Verdict(name, root_name(path.read_bytes()))
    if verdict.root != "mujoco":
        return verdict
    model: Any = None
    try:
        model = mujoco_words.compiled(path)
        verdict.nv, verdict.bodies = model.nv, model.nbody - 1
    except ValueError as error:
        verdict.theirs = _anonymous(str(error), path)
    try:
        mechanism = mujoco_words.loaded(path)
        snapped = mujoco_words.loaded(path, snap=None)
        moves = [
            float(move)
            for note in snapped.notes
            for move in re.findall(r"moved by (\S+) rad", note.text)
        ]
        verdict.snaps = sum(note.kind == "snap" for note in snapped.notes)
        verdict.moved, verdict.turned = max(moves, default=0.0), sum(moves)
        verdict.said = [
            re.sub(r"^line \d+, ", "", note.text)
            for note in mechanism.notes
            if note.kind == "warning"
        ]
        if model is not None:
            verdict.chosen = mechanism.nv <= CHOSEN_TO
            verdict.errors = _errors(mechanism, model)
            verdict.another = (
                snapped.content != mechanism.content
            )  # else it is the same robot, and the same Programs
            verdict.snapped = max(
                (_errors(snapped, model) if verdict.another else verdict.errors).values(),
                default=0.0,
            )
    except SymgenError as error:
        verdict.ours = _anonymous(str(error), path)
    except AssertionError as error:
        verdict.failed = str(error)
    return verdict


def _errors(mechanism: Mechanism, model: Any) -> dict[str, float]:
    of = mujoco_words.Model(model, mechanism)
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=7).items()
    }
    words = [
        mujoco_words.FileWord(of, {name: values[k] for name, values in states.items()})
        for k in range(STATES)
    ]
    errors = {}
    for name in mujoco_words.JUDGED:
        if build.refusal(mechanism, name, None) is not None:
            continue
        method = METHODS.get(name) if mechanism.nv > CHOSEN_TO else None
        run = machine_runner(build.program(mechanism, name, method))
        results = run({array.name: states[array.name] for array in FUNCTIONS[name].arguments})
        errors[name] = max(
            mujoco_words.error(
                name, {key: np.asarray(v[k]) for key, v in results.items()}, words[k]
            )
            for k in range(STATES)
        )
    return errors


def _anonymous(sentence: str, path: Path) -> str:
    """Return a sentence on one line, without the folders of this machine."""
    text = " ".join(sentence.split()).replace(f"{path.parent}/", "").replace(str(path.parent), "")
    return re.sub(r"'/[^']*/([^/']*)'", r"'\1'", text)


def elsewhere(name: str, path: Path) -> Verdict:
    """`judge` in a process of its own, which may take long or be killed."""
    words = [sys.executable, "-m", "tests.judges.mujoco_files", "--one", name, str(path)]
    try:
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        return Verdict(**json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return Verdict(name, failed=f"it takes more than {SECONDS} s")
    except (ValueError, TypeError, IndexError):
        return Verdict(
            name,
            failed=(
                f"its process ended with code {done.returncode}:"
                f" {(done.stderr.splitlines() or [''])[-1]}"
            ),
        )


# -- the table -------------------------------------------------------------------------------------


def table(verdicts: list[Verdict]) -> str:
    """Return the Markdown tables of the files that are judged, refused, without joints, not
    compiled by MuJoCo, and included by others.
    """
    judged = [v for v in verdicts if v.errors or v.failed]
    alone = [v for v in verdicts if v.root == "mujoco" and v not in judged]
    refused = [v for v in alone if v.nv and v.ours]
    still = [v for v in alone if not v.theirs and not v.nv]
    foreign = [v for v in alone if v.theirs]
    includes = [v for v in verdicts if v.root != "mujoco"]
    by_method = sum(not v.chosen for v in judged)
    lines = [
        "# MuJoCo's word on the MJCF files of five wheels",
        "",
        (
            "Written by `make judge` (`python -m tests.judges.mujoco_files build/judges/unpacked"
            " --write`); not edited by hand."
        ),
        (
            "MuJoCo compiles each file itself, and symgen reads the same file with `--snap off`."
            " Judged are the Programs"
        ),
        (
            "that `symgen generate` prints, run in double by NumPy and not as C, by the methods"
            f" that it chooses; of the {by_method} files with more than {CHOSEN_TO} degrees of"
            " freedom by one"
        ),
        f"method a function (¹). Errors are the largest over {STATES} states, relative as in",
        (
            "`tests/judges/pinocchio_answers.py`, forward dynamics backward; poses are those of"
            " every body, those that stand still"
        ),
        (
            "as well. Constraints and actuators are off, and friction, which sticks in MuJoCo, is"
            " left out;"
        ),
        "what symgen says it leaves out is out of both",
        (
            f"(`tests/judges/mujoco_words.py`). The bound is {BOUND:.0e}. Errors are rounded up to"
            " a power of ten. 'Snapped' is"
        ),
        (
            "the largest error of what `generate` gives unless `--snap` says otherwise, where that"
            " is another robot; the bound"
        ),
        (
            f"is then more by {LEVERS:g} times what all snapped tokens are turned by together"
            " (rad), which stands in brackets."
        ),
        "",
        (
            f"{len(verdicts)} files: {len(judged)} judged, of which {sum(v.passed for v in judged)}"
            f" pass; {len(refused)} refused by symgen for a feature; {len(still)} have no joint;"
            f" {len(foreign)} are not compiled by MuJoCo; {len(includes)} are parts of others."
        ),
        "",
        "## Judged",
        "",
        " | ".join(
            [
                "| file",
                "v",
                "bodies",
                "snapped tokens",
                *HEADINGS.values(),
                "snapped",
                "left out or said |",
            ]
        ),
        "|" + "---|" * (len(HEADINGS) + 6),
    ]
    for v in judged:
        snaps = f"{v.snaps} (≤ {_rounded(v.moved)} rad)" if v.snaps else "0"
        cells = [_rounded(v.errors[name]) if name in v.errors else "–" for name in HEADINGS]
        remarks = [f"**FAILED** {v.failed}"] * bool(v.failed) + [
            _cut(sentence) for sentence in _merged_notes(v.said)
        ]
        cells.append(
            f"{_rounded(v.snapped)} ({_rounded(v.turned)})"
            if v.another and v.snapped is not None
            else "–"
        )
        lines.append(
            f"| {v.file}{'' if v.chosen else ' ¹'} | {v.nv} | {v.bodies} | {snaps} |"
            f" {' | '.join(cells)} | {'; '.join(remarks)} |"
        )
    lines += ["", "## Refused by symgen", "", "| file | v | sentence |", "|---|---|---|"]
    lines += [f"| {v.file} | {v.nv} | {v.ours} |" for v in refused]
    lines += [
        "",
        "## Not compiled by MuJoCo",
        "",
        "| file | MuJoCo's words | symgen |",
        "|---|---|---|",
    ]
    lines += [f"| {v.file} | {_cut(v.theirs, 160)} | {v.ours or 'reads it'} |" for v in foreign]
    for title, files in (
        ("No joint, so no dynamics", still),
        ("Parts that other files include", includes),
    ):
        lines += ["", f"## {title}", "", ", ".join(v.file for v in files) or "none"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _merged_notes(notes: list[str]) -> list[str]:
    """Notes that differ only in the joint are counted."""
    counts: dict[str, int] = {}
    for sentence in notes:
        text = re.sub(r"^joint( '[^']*')?: ", "", sentence)
        counts[text] = counts.get(text, 0) + 1
    return [f"{text} ({count} joints)" if count > 1 else text for text, count in counts.items()]


def _cut(text: str, width: int = 110) -> str:
    return (text if len(text) <= width else f"{text[:width]}…").replace("|", "\\|")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="MuJoCo judges what symgen gives for MJCF files")
    parser.add_argument("folders", nargs="*", type=Path, help="where unpacked wheels are")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="the files whose path has TEXT in it"
    )
    parser.add_argument(
        "--write", action="store_true", help="rewrite the committed table; with all files only"
    )
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(asdict(judge(options.one[0], Path(options.one[1])))))
        return 0
    listed = {name: path for name, path in files(options.folders) if options.only in name}
    prints = _prints(listed)
    verdicts = _valid_verdicts(prints)
    BOOK.parent.mkdir(parents=True, exist_ok=True)
    for name, path in listed.items():
        if name in verdicts:
            continue
        start, verdict = time.perf_counter(), elsewhere(name, path)
        verdicts[name] = verdict
        with BOOK.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"of": prints[name], "verdict": asdict(verdict)}) + "\n")
        print(
            f"[{len(verdicts)}/{len(listed)}] {name}: {verdict.nv} v,"
            f" {max(verdict.errors.values(), default=0):.1e} {verdict.failed or verdict.ours}"
            f" ({time.perf_counter() - start:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
    text = table([verdicts[name] for name in listed])
    if options.write and not options.only:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text)
    failed = [name for name in listed if not verdicts[name].passed]
    print(
        f"{len(listed) - len(failed)} of {len(listed)} pass"
        + f"; these do not: {', '.join(failed)}" * bool(failed),
        file=sys.stderr,
    )
    return 1 if failed else 0


def _prints(listed: dict[str, Path]) -> dict[str, str]:
    """Return a hash of each file's folder of descriptions, symgen and the judges."""
    sources = hashlib.sha256()
    for source in sorted([*(ROOT / "symgen").rglob("*.py"), *Path(__file__).parent.glob("*.py")]):
        sources.update(source.read_bytes())
    return {
        name: hashlib.sha256(sources.digest() + path.read_bytes()).hexdigest()
        for name, path in listed.items()
    }


def _valid_verdicts(prints: dict[str, str]) -> dict[str, Verdict]:
    verdicts = {}
    for line in BOOK.read_text(encoding="utf-8").splitlines() if BOOK.exists() else []:
        entry = json.loads(line)
        verdict = Verdict(**entry["verdict"])
        if entry["of"] == prints.get(verdict.file):
            verdicts[verdict.file] = verdict
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
