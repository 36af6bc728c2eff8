"""What is installed from a wheel is whole: templates, robots, licence, types, a README by itself, a command line that works."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, as it would stand in site-packages."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("symgen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process that finds symgen at `place` first."""
    environment = {**os.environ, "PYTHONPATH": str(place)}
    words = (sys.executable, *words)
    return subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_holds_every_file(unpacked: Path) -> None:
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    code = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "symgen").rglob("*")
        if path.suffix in (".py", ".toml")
    }
    templates = {
        f"symgen/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "templates").rglob("*.j2")
    }
    assert templates
    assert not (code | templates) - held


def test_the_wheel_generates_what_the_checkout_does(unpacked: Path, tmp_path: Path) -> None:
    where = run(unpacked, "-c", "import symgen; print(symgen.__file__)")
    assert where.stdout.startswith(str(unpacked)), where.stderr
    folders = []
    for place in (unpacked, ROOT):
        folders.append(tmp_path / place.name)
        done = run(place, "-m", "symgen", "generate", "planar_arm", "-o", str(folders[-1]))
        assert done.returncode == 0, done.stderr
    ours, theirs = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    assert len(ours) > 10
    assert ours == theirs


def test_the_wheel_says_what_it_is(unpacked: Path) -> None:
    """Licence, authors, addresses and classifiers, as an index reads them; the package is typed."""
    (info,) = unpacked.glob("symgen-*.dist-info")
    said = email.message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    assert said["License-Expression"] == "MIT"
    assert (info / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert said["Author"] == "symgen authors"
    addresses = {entry.partition(",")[0] for entry in said.get_all("Project-URL", [])}
    assert {"Homepage", "Documentation", "Source", "Changelog"} <= addresses
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= set(
        said.get_all("Classifier", [])
    )
    assert not [c for c in said.get_all("Classifier", []) if c.startswith("License ::")], (
        "the expression says it (PEP 639)"
    )
    assert (unpacked / "symgen" / "py.typed").is_file()


def test_what_an_index_shows_leads_nowhere_that_is_not_there(unpacked: Path) -> None:
    """The README by itself: no link and no picture that only a checkout has; the paths that it names are this project's."""
    (info,) = unpacked.glob("symgen-*.dist-info")
    text = str(
        email.message_from_string((info / "METADATA").read_text(encoding="utf-8")).get_payload()
    )
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    assert text.startswith("# symgen\n")
    assert not [
        target
        for target in re.findall(r"\]\(([^)]*)\)", prose)
        if not target.startswith("https://")
    ]
    assert "<img" not in prose
    named = re.findall(r"\(`((?:docs|tests|symgen)/[^`]*)`\)", prose)
    assert len(named) >= 5
    assert not [path for path in named if not (ROOT / path).exists()]
    assert re.search(r"^```text\ndescription ──> Mechanism", text, re.M), "the picture, in signs"
