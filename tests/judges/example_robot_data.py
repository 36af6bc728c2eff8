"""Pinocchio judges every URDF of the PyPI package `example-robot-data`: all that `symgen generate`
gives for it by default.

Each file is read twice. As symgen snaps it: the judge gets the same text with the snapped rotation
tokens written out as multiples of π/2 to 17 digits, and parses that itself. And with snapping off:
the judge gets the file as it is. Our side is the Programs that `generate` prints when it is told
nothing, each function by the method that it chooses, over NumPy arrays of states; the other side is
`tests.judges.pinocchio_answers`.

    python -m tests.judges.example_robot_data
        prints the table of the functions of the dynamics
    python -m tests.judges.example_robot_data --table whole
        that of what is said of the whole mechanism
    python -m tests.judges.example_robot_data --table free
        the same and more, of each with a base that floats
    python -m tests.judges.example_robot_data --write --jobs 4
        rewrites tests/judges/example_robot_data.md
    python -m tests.judges.example_robot_data --only panda -v
        some files, and what is being done
    python -m tests.judges.example_robot_data --reference
        the numeric reference in place of the Programs

The table of the dynamics takes an hour and more. What is judged stands in build/judge/, a line a
file, and is not judged again while the file, symgen and this judge are what they were; `--fresh`
starts over.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import symgen
from symgen.description.snapping import snap_token
from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from tests.judges.pinocchio_answers import ERRORS, Word, read

ROOT = Path(__file__).parents[2]
PARTIAL = ROOT / "build" / "judge"
STATES = 6
BOUND = 1e-11
"""Relative, in the sense of `pinocchio_answers`."""

HEADINGS = dict(
    zip(
        BY_DEFAULT,
        (
            "ID",
            "FD",
            "bias",
            "gravity",
            "M",
            "M+c",
            "M⁻¹",
            "M⁻¹b",
            "det",
            "ln det",
            "grad",
            "Λ⁻¹",
            "links",
            "joints' F",
            "FK",
            "J",
            "J̇v",
            "poses",
            "com",
            "Jcom",
            "T",
            "U",
            "h",
            "A_G",
            "ḣ",
            "q ⊕ v dt",
            "q ⊖ q",
        ),
        strict=True,
    )
)


@dataclass(frozen=True)
class Table:
    """Functions that are judged in one table, the base of the robots, and the sizes, besides the
    largest entry, to which errors are relative.
    """

    functions: tuple[str, ...]
    base: str
    relative: tuple[str, ...]


_SOLVED = (
    (
        "what solves with M by its backward error, as |Ma + c − tau| / (|M||a| + |c| + |tau|) with"
        " Pinocchio's M and c; what is"
    ),
    (
        "made from M⁻¹ by what a change of M by one part in itself does to it"
        " (`tests/judges/pinocchio_answers.py`)."
    ),
)
_AFLOAT = (
    "A root link called 'world', which symgen sets afloat for nobody, has another name here.",
)
_WHOLE = (
    (
        "poses and centres to 1 m where that is more, energies and momenta by what they are sums"
        " of, J̇v and ḣ by the squares of"
    ),
    (
        "velocities at their levers (`tests/judges/pinocchio_answers.py`). Of a quaternion q and −q"
        " are one."
    ),
)
TABLES = {
    "dynamics": Table(tuple(HEADINGS)[:16], "fixed", _SOLVED),
    "whole": Table(tuple(HEADINGS)[16:], "fixed", _WHOLE),
    "free": Table(
        (
            "inverse_dynamics",
            "forward_dynamics",
            "bias_force",
            "gravity_force",
            "mass_matrix",
            "forward_kinematics",
            "jacobian",
            *tuple(HEADINGS)[16:],
        ),
        "free",
        (*_SOLVED, *_WHOLE, *_AFLOAT),
    ),
}
QUICK = {
    "inverse_dynamics": "newton_euler",
    "mass_matrix": "composite_body",
    "bias_force": "newton_euler",
    "gravity_force": "newton_euler",
    "forward_dynamics": "riccati",
    "forward_kinematics": "kinematics",
    "jacobian": "kinematics",
}
"""One method a function, for a quick look: choosing the cheapest derives each by all of them."""

_ROBOTS = (("example-robot-data", 2), ("pybullet_data", 0), ("robosuite", 0))
"""Folders of wheels, and how many of their path lie outside what a file is called by."""
_RPY = r"(\brpy\s*=\s*)([\"'])([^\"']*)\2"

Say = Callable[[str], None]
Runner = Callable[[dict[str, Array]], Mapping[str, Array]]


@dataclass
class Answers:
    """Results of symgen: a runner and a method for each function, the functions left out with the
    reason, and the functions that failed.
    """

    runners: dict[str, Runner] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


Ours = Callable[[Mechanism, Say], Answers]


@dataclass
class Verdict:
    """The judge's word on one file: error per function, or the reason why there is none."""

    file: str
    nv: int = 0
    snaps: int = 0
    moved: float = 0.0
    """Largest distance in rad that a token was snapped over."""
    as_snapped: dict[str, float] = field(default_factory=dict)
    raw: dict[str, float] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    """Reason to judge neither the file nor a function of it."""
    failed: list[str] = field(default_factory=list)
    """Functions that should have been judged and failed."""
    seconds: float = 0.0

    @property
    def judged(self) -> bool:
        return bool(self.as_snapped)

    @property
    def worst(self) -> float:
        return max([*self.as_snapped.values(), *self.raw.values()], default=0.0)

    @property
    def passed(self) -> bool:
        """Judged within the bound with nothing missing, or rightly not to be judged."""
        return not self.failed and self.worst <= BOUND and (self.judged or bool(self.reason))


# -- our side --------------------------------------------------------------------------------------


def committed(table_name: str) -> Path:
    """Return the path of a committed table of TABLES."""
    return Path(__file__).with_name(
        "example_robot_data" + f"_{table_name}" * (table_name != "dynamics") + ".md"
    )


def by_default(mechanism: Mechanism, say: Say, requested: Iterable[str] = BY_DEFAULT) -> Answers:
    """Return the answers of the Programs that `symgen generate` prints for a robot by default."""
    chosen = build.requested(mechanism, None)
    programs_of_robot = Answers(
        left_out={name: _why(mechanism, name) for name in requested if name not in chosen}
    )
    for name, method in ((name, chosen[name]) for name in requested if name in chosen):
        say(f"deriving {name}")
        try:
            program = build.program(mechanism, name, method)
        except SymgenError as error:
            programs_of_robot.failed[name] = str(error)
            continue
        programs_of_robot.runners[name], programs_of_robot.methods[name] = (
            machine_runner(program),
            program.method,
        )
    return programs_of_robot


def _why(mechanism: Mechanism, name: str) -> str:
    lost = build.rank_loss(mechanism, None) if FUNCTIONS[name].needs_inverse else None
    return (
        f"M is singular at joint {lost.joint}"
        if lost is not None
        else f"{mechanism.nv} joints make it long"
    )


def by_named(mechanism: Mechanism, say: Say) -> Answers:
    """The functions of QUICK, each by its method."""
    chosen = {
        name: method
        for name, method in QUICK.items()
        if build.refusal(mechanism, name, None) is None
    }
    programs = {name: build.program(mechanism, name, method) for name, method in chosen.items()}
    left_out = {name: _why(mechanism, name) for name in QUICK if name not in chosen}
    return Answers(
        {name: machine_runner(program) for name, program in programs.items()}, chosen, left_out
    )


def by_reference(
    mechanism: Mechanism, say: Say, all_to: int = 1000, requested: Iterable[str] = BY_DEFAULT
) -> Answers:
    """Return results of the reference in float64, which tell an error of the test harness from an
    error of a Program. A robot with more than `all_to` joints gets the functions of QUICK only.
    """
    reference = Reference(mechanism, frame=tip(mechanism))
    left_out = {
        name: _why(mechanism, name)
        for name in requested
        if build.refusal(mechanism, name, None) is not None
    }

    def run(name: str, states: dict[str, Array]) -> Mapping[str, Array]:
        return reference.evaluate(
            name, {array.name: states[array.name] for array in FUNCTIONS[name].arguments}
        )

    requested_of_size = requested if mechanism.nv <= all_to else QUICK
    return Answers(
        {name: partial(run, name) for name in requested_of_size if name not in left_out},
        {},
        left_out,
    )


# -- one file --------------------------------------------------------------------------------------


def files() -> list[Path]:
    """Every URDF of the installed package, sorted by its path inside the package."""
    listed = importlib.metadata.files("example-robot-data") or []
    return sorted((Path(str(f.locate())) for f in listed if f.suffix == ".urdf"), key=short)


def short(path: Path) -> str:
    """The path inside the package's `robots` folder, or inside what holds the robots of another
    package.
    """
    path_parts = path.parts
    start = next(
        path_parts.index(folder) + more for folder, more in _ROBOTS if folder in path_parts
    )
    return "/".join(path_parts[start:])


def snapped_text(text: str) -> str:
    """The URDF with every rpy token that symgen snaps written as that multiple of π/2."""

    def rewrite(match: re.Match[str]) -> str:
        tokens = []
        for token in match.group(3).split():
            angle = snap_token(token)
            tokens.append(token if angle is None else repr(float(angle)))
        return f"{match.group(1)}{match.group(2)}{' '.join(tokens)}{match.group(2)}"

    return re.sub(_RPY, rewrite, text)


def compare(mechanism: Mechanism, text: str, ours: Answers, say: Say) -> dict[str, float]:
    """Relative error per function, the largest over the states."""
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=7).items()
    }
    model = read(text, mechanism, tip(mechanism))
    words = [
        Word(model, {name: values[k] for name, values in states.items()}) for k in range(STATES)
    ]
    errors = {}
    for name, run in ours.runners.items():
        say(f"judging {name}")
        results = run({array.name: states[array.name] for array in FUNCTIONS[name].arguments})
        with np.errstate(all="ignore"):
            errors[name] = max(
                ERRORS[name]({key: values[k] for key, values in results.items()}, words[k])
                for k in range(STATES)
            )
    return errors


def judge(
    path: Path,
    ours: Ours = by_default,
    raw_to: int = 1000,
    say: Say = lambda what: None,
    base: str = "fixed",
) -> Verdict:
    """Return the verdict on one file; up to `raw_to` joints also with unsnapped angles. Any
    exception is recorded as a failure.
    """
    import pinocchio

    verdict = Verdict(short(path))
    start = time.perf_counter()
    text = path.read_text(encoding="utf-8")
    robot: Path | str = path
    if base == "free":
        robot = text = text.replace(
            '"world"', '"afloat"'
        )  # symgen does not free a base that is fixed to a link of this name
    try:
        verdict.nv = pinocchio.buildModelFromXML(
            text, *[pinocchio.JointModelFreeFlyer()] * (base == "free")
        ).nv
    except (ValueError, RuntimeError) as error:
        verdict.reason = (
            "Pinocchio does not load it: "
            + (str(error).strip().splitlines() or ["no reason given"])[-1].strip()
        )
        return verdict
    if verdict.nv == 0:
        verdict.reason = "no joint moves"
        return verdict
    try:
        mechanism = symgen.load(robot, base=base)
        moves = [
            float(move)
            for note in mechanism.notes
            for move in re.findall(r"moved by (\S+) rad", note.text)
        ]
        verdict.moved = max(moves, default=0.0)
        verdict.snaps = sum(note.kind == "snap" for note in mechanism.notes)
        verdict.as_snapped = _judged(mechanism, snapped_text(text), ours, verdict, say)
        verdict.raw = dict(verdict.as_snapped)
        if verdict.snaps and verdict.nv <= raw_to:
            unsnapped = symgen.load(robot, snap="off", base=base)
            verdict.raw = _judged(
                unsnapped, text, ours, verdict, lambda step: say(f"{step}, unsnapped")
            )
    except (SymgenError, AssertionError, np.linalg.LinAlgError) as error:
        verdict.failed.append(f"{type(error).__name__}: {error}")
    verdict.seconds = time.perf_counter() - start
    return verdict


def _judged(
    mechanism: Mechanism, text: str, ours: Ours, verdict: Verdict, say: Say
) -> dict[str, float]:
    evaluated = ours(mechanism, say)
    verdict.methods = verdict.methods or evaluated.methods
    reasons: dict[str, list[str]] = {}
    for name, why in evaluated.left_out.items():
        reasons.setdefault(why, []).append(HEADINGS[name])
    verdict.reason = "; ".join(
        f"left out: {', '.join(names)}: {why}" for why, names in reasons.items()
    )
    verdict.failed += [f"{HEADINGS[name]}: {why}" for name, why in evaluated.failed.items()]
    return compare(mechanism, text, evaluated, say)


# -- all files -------------------------------------------------------------------------------------


def table(verdicts: list[Verdict], table_name: str = "dynamics", reference: bool = False) -> str:
    """Markdown: one line a file, errors rounded up to one digit."""
    names = TABLES[table_name].functions
    judged = [v for v in verdicts if v.judged]
    ours = (
        "symgen's reference"
        if reference
        else "what `symgen generate` gives by default, by the methods that it chooses"
    )
    counted = "joints" if TABLES[table_name].base == "fixed" else "degrees of freedom"
    lines = [
        "# Pinocchio's word on the URDFs of example-robot-data"
        + " with a base that floats" * (TABLES[table_name].base == "free"),
        "",
        (
            "Written by `make judge` (`python -m tests.judges.example_robot_data --write`); not"
            " edited by hand. Judged is"
        ),
        f"{ours}. Errors are the largest",
        (
            f"over {STATES} states, relative to the largest entry of Pinocchio's answer (to the"
            " weight at 1 m where gravity is 0);"
        ),
        *TABLES[table_name].relative,
        (
            "The judge reads the text as snapped; *raw* is the largest of the same errors, of all"
            " functions of this table, with"
        ),
        (
            "`--snap off` against the file as it is. A – is left out, for the reason in the"
            f" remark. The bound is {BOUND:.0e}"
        ),
        "everywhere.",
        "",
        (
            f"{len(judged)} of {len(verdicts)} files have a joint and are loaded by Pinocchio;"
            f" {sum(v.passed for v in verdicts)} of {len(verdicts)} pass."
        ),
        "",
        " | ".join(
            [
                "| file",
                counted,
                "snapped tokens",
                *(HEADINGS[name] for name in names),
                "raw",
                "remark |",
            ]
        ),
        "|---|---|---|" + "---|" * (len(names) + 2),
    ]
    for v in verdicts:
        cells = [_rounded(v.as_snapped[name]) if name in v.as_snapped else "–" for name in names]
        raw = _rounded(max(v.raw.values())) if v.raw else "–"
        lines.append(
            f"| {v.file} | {v.nv} | {_snaps(v)} | {' | '.join(cells)} | {raw} | {_remark(v)} |"
        )
    chosen = {name: Counter(v.methods[name] for v in judged if name in v.methods) for name in names}
    lines += ["", "| function | methods chosen, by how many files |", "|---|---|"]
    for name, counts in chosen.items():
        listed = ", ".join(
            f"`{method}` {count}"
            for method, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        )
        lines.append(f"| `{name}` | {listed or '–'} |")
    return "\n".join(lines) + "\n"


def _remark(verdict: Verdict) -> str:
    beyond = [
        f"{HEADINGS[name]} is {error:.1e} off"
        for name, error in verdict.as_snapped.items()
        if not error <= BOUND
    ]
    beyond += [
        f"{HEADINGS[name]} is {error:.1e} off unsnapped"
        for name, error in verdict.raw.items()
        if not error <= BOUND
    ]
    failures = [f"**FAILED** {failure}" for failure in (*verdict.failed, *beyond)]
    return (
        "; ".join([*failures, *([verdict.reason] if verdict.reason else [])])
        .replace("|", "\\|")
        .replace("\n", " ")
    )


def _snaps(verdict: Verdict) -> str:
    return f"{verdict.snaps} (≤ {_rounded(verdict.moved)} rad)" if verdict.snaps else "0"


def _rounded(error: float) -> str:
    """Rounded up to a power of ten, so that the table says the same on another machine."""
    return (
        "0"
        if error == 0
        else f"1e{math.ceil(math.log10(error))}"
        if math.isfinite(error)
        else str(error)
    )


def fingerprints(paths: Iterable[Path]) -> dict[str, str]:
    """Return a hash of each description, symgen and the judge; a verdict with another hash is out
    of date.
    """
    sources = hashlib.sha256()
    for source in sorted([*(ROOT / "symgen").rglob("*.py"), *Path(__file__).parent.glob("*.py")]):
        sources.update(source.read_bytes())
    return {
        short(path): hashlib.sha256(sources.digest() + path.read_bytes()).hexdigest()
        for path in paths
    }


def valid_verdicts(book: Path, prints: Mapping[str, str]) -> dict[str, Verdict]:
    """Read the verdicts of a partial result that are still valid, by file; incomplete lines are
    skipped.
    """
    verdicts = {}
    for line in book.read_text(encoding="utf-8").splitlines() if book.exists() else []:
        try:
            entry = json.loads(line)
            verdict = Verdict(**entry["verdict"])
        except (ValueError, TypeError, KeyError):
            continue
        if entry.get("of") == prints.get(verdict.file, ""):
            verdicts[verdict.file] = verdict
    return verdicts


def elsewhere(path: Path, table_name: str, reference: bool, verbose: bool) -> Verdict:
    """`judge` in a process of its own, so that one that is killed is one failure and no more."""
    words = [
        sys.executable,
        "-m",
        "tests.judges.example_robot_data",
        "--one",
        str(path),
        "--table",
        table_name,
    ]
    words += ["--reference"] * reference + ["-v"] * verbose
    start = time.perf_counter()
    errors = None if verbose else subprocess.PIPE
    done = subprocess.run(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True, check=False
    )
    try:
        return Verdict(**json.loads(done.stdout))
    except (ValueError, TypeError):
        error_lines = (done.stderr or "").strip().splitlines()[-1:] or ["no word"]
        why = f"its process ended with code {done.returncode}: {error_lines[0]}"
        return Verdict(short(path), failed=[why], seconds=time.perf_counter() - start)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Pinocchio judges what symgen gives for the URDFs of example-robot-data"
    )
    parser.add_argument(
        "--write", action="store_true", help="rewrite the committed table; with all files only"
    )
    parser.add_argument(
        "--table",
        choices=TABLES,
        default="dynamics",
        help="the functions that are judged (default: dynamics)",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="judge the numeric reference in place of the Programs",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes at once (default 1)"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="the files whose path has TEXT in it; repeat with commas",
    )
    parser.add_argument("--fresh", action="store_true", help="judge again what build/judge/ knows")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="say each function as it is derived and judged"
    )
    parser.add_argument("--one", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    ours: Ours = partial(
        by_reference if options.reference else by_default, requested=TABLES[options.table].functions
    )
    if options.one:
        path = Path(options.one)

        def say(step: str) -> None:
            if options.verbose:
                print(f"{short(path)}: {step}", file=sys.stderr, flush=True)

        print(json.dumps(asdict(judge(path, ours, say=say, base=TABLES[options.table].base))))
        return 0
    if options.write and (options.only or options.reference):
        parser.error(
            "--write is for all files and for what symgen generates; leave out --only and"
            " --reference"
        )
    paths = [
        path for path in files() if any(text in short(path) for text in options.only.split(","))
    ]
    PARTIAL.mkdir(parents=True, exist_ok=True)
    book = PARTIAL / f"{'reference' if options.reference else 'default'}_{options.table}.jsonl"
    if options.fresh:
        book.unlink(missing_ok=True)
    prints = fingerprints(
        paths
    )  # before the run: files that change during the run are judged again
    verdicts = valid_verdicts(book, prints)
    waiting = [path for path in paths if short(path) not in verdicts]
    if verdicts:
        print(
            f"{len(verdicts)} of {len(paths)} files are judged already, as {book.relative_to(ROOT)}"
            " says",
            file=sys.stderr,
        )
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        running = {
            pool.submit(elsewhere, path, options.table, options.reference, options.verbose): path
            for path in waiting
        }
        for future in as_completed(running):
            verdict, path = future.result(), running[future]
            verdicts[verdict.file] = verdict
            with book.open("a", encoding="utf-8") as out:
                out.write(
                    json.dumps({"of": prints[verdict.file], "verdict": asdict(verdict)}) + "\n"
                )
            print(
                f"[{len(verdicts)}/{len(paths)}] {verdict.file}: {verdict.nv} joints,"
                f" {len(verdict.as_snapped)} functions, {verdict.worst:.1e} {_remark(verdict)}"
                f" ({verdict.seconds:.0f} s)",
                file=sys.stderr,
                flush=True,
            )
    text = table([verdicts[short(path)] for path in paths], options.table, options.reference)
    if options.write:
        committed(options.table).write_text(text, encoding="utf-8")
    else:
        print(text)
    failed = [verdict.file for verdict in verdicts.values() if not verdict.passed]
    print(
        f"{len(paths) - len(failed)} of {len(paths)} pass"
        + f"; these do not: {', '.join(sorted(failed))}" * bool(failed),
        file=sys.stderr,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
