"""Generated folders with one damage: `verify` must fail, and never with a traceback."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import symgen
from symgen.support.errors import SymgenError
from tests.adversary import Failure, _robots

WORD = (
    "verify passes a folder only where every byte of every file of symgen's in it is what symgen"
    " prints for that robot."
)

EACH = 12
"""Number of damages to one folder."""
WORDS = (
    "null",
    "[]",
    "{}",
    "0",
    "-1",
    "1e999",
    '"',
    "\\",
    "??/",
    "%:",
    "<:",
    "//",
    "/*",
    "*/",
    "\x00",
    "\u00e9",
    "../x",
    " ",
    "\n",
    "#define sin cos",
    "_Pragma",
    "+",
    "-",
    "(",
    ";",
)


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one damage at each step; each folder is damaged EACH times, always from intact."""
    for count in itertools.count():
        random = Random(f"folders/{seed}/{count}")
        with tempfile.TemporaryDirectory(prefix="symgen-folders-") as folder:
            intact_folder = _generated(random, Path(folder) / "whole")
            if intact_folder is not None:
                for k in range(EACH):
                    yield _attacked(random, intact_folder, Path(folder) / str(k))


def _generated(random: Random, path: Path) -> Path | None:
    """Generate a random folder; None if symgen refuses or does not verify it."""
    mechanism = (
        symgen.load(random.choice(("planar_arm", "scara")))
        if random.random() < 0.3
        else _robots.mechanism(random)
    )
    options, text = _robots.options(random, mechanism)
    target = random.choice((None, "host"))
    functions = random.sample(
        (
            "mass_matrix",
            "inverse_dynamics",
            "gravity_force",
            "forward_kinematics",
            "mass_matrix_solve",
            "gravity_force:jvp",
            "inverse_dynamics:vjp(q)",
            "mass_matrix:jacobian",
        ),
        2,
    )
    try:
        symgen.generate(
            mechanism,
            path,
            functions,
            real=options.real,
            name="arm",
            frame=options.frame,
            payload=options.payload,
            wrench=options.wrench,
            jacobian_frame=options.jacobian_frame,
            jacobian_order=options.jacobian_order,
            trig=text.trig,
            checked=text.checked,
            wrap=random.choice(((), ("cpp17",))),
            target=target,
            evidence=False,
        )
        return (
            path if symgen.verify(path, states=1).passed else None
        )  # a method may lose all digits for this robot
    except SymgenError:
        return None


def _attacked(random: Random, intact_folder: Path, folder: Path) -> Failure | None:
    shutil.copytree(intact_folder, folder)
    name = random.choice(
        sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    )
    damage = f"{name}: {_damaged(random, folder, name)}"
    if all(
        (folder / path.relative_to(intact_folder)).is_file()
        and (folder / path.relative_to(intact_folder)).read_bytes() == path.read_bytes()
        for path in intact_folder.rglob("*")
        if path.is_file()
    ):
        return None  # the damage left all files unchanged
    try:
        report = symgen.verify(folder, states=1)
        verdict = (
            "passes" if report.passed and all(check.passed for check in report.of("files")) else ""
        )
    except SymgenError as error:
        verdict = "" if "\n" not in str(error) else "has an error of several lines"
    except Exception as error:  # verify must not raise any other exception
        verdict = f"ends in {type(error).__name__}: {error}"
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    shutil.rmtree(folder)
    return Failure(f"verify of a folder damaged in {damage} {verdict}", files) if verdict else None


def _damaged(random: Random, folder: Path, name: str) -> str:
    """Damage a file of the folder; return a description of the damage."""
    path = folder / name
    data = path.read_bytes()
    kind = random.choice(
        ("flip", "word", "drop", "double", "swap", "cut", "gone", "link", "folder", "pipe", "value")
    )
    at, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    end = min(end, at + random.choice((1, 4, 40)))
    lines = data.splitlines(keepends=True)
    if kind == "value" and name == "manifest.json":
        return change_manifest(random, path)
    if kind in ("gone", "link", "folder", "pipe"):
        path.unlink()
        if kind == "link":
            path.symlink_to("/dev/null" if random.random() < 0.5 else "nowhere")
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        return kind
    if kind == "swap" and len(lines) > 1:
        k = random.randrange(len(lines) - 1)
        lines[k], lines[k + 1] = lines[k + 1], lines[k]
        path.write_bytes(b"".join(lines))
        return f"lines {k + 1} and {k + 2} swapped"
    new = {
        "flip": bytes([data[at - 1] ^ (1 << random.randrange(8))]) if at else b" ",
        "word": random.choice(WORDS).encode(),
        "double": 2 * data[at:end],
    }.get(kind, b"")
    start, stop = (
        (at - 1, at) if kind == "flip" and at else (at, at if kind in ("flip", "word") else end)
    )
    path.write_bytes(data[:at] if kind == "cut" else data[:start] + new + data[stop:])
    return f"{kind} at byte {at}"


def change_manifest(random: Random, path: Path) -> str:
    """Change or delete one value of the manifest; return a description."""
    manifest = json.loads(path.read_bytes())
    node, keys = manifest, []
    while isinstance(node, dict | list) and node and (not keys or random.random() < 0.7):
        key = random.choice(list(node)) if isinstance(node, dict) else random.randrange(len(node))
        keys.append(key)
        inside, node = node, node[key]
    if random.random() < 0.3:
        del inside[keys[-1]]
    else:
        inside[keys[-1]] = random.choice(
            (None, True, 0, -3, 1.5, "", "panda", "../../x", [], {}, [None], "9" * 400)
        )
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"another value at {keys}"
