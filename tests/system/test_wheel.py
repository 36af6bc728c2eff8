"""The wheel is complete: templates, robots, licence, type marker, README, and a command line that
works.
"""

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
    """Build the wheel; return the folder with its content, as installed in site-packages."""
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


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with `folder` first on its path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    words = (sys.executable, *words)
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_wheel_contains_every_file(unpacked: Path) -> None:
    packed = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    code = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "symgen").rglob("*")
        if path.suffix in (".py", ".toml")
    }
    templates = {
        f"symgen/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "templates").rglob("*.j2")
    }
    assert templates
    assert not (code | templates) - packed


@pytest.mark.slow
def test_the_wheel_generates_the_same_files_as_the_checkout(unpacked: Path, tmp_path: Path) -> None:
    where = run(unpacked, "-c", "import symgen; print(symgen.__file__)")
    assert where.stdout.startswith(str(unpacked)), where.stderr
    outputs = []
    for folder in (unpacked, ROOT):
        outputs.append(tmp_path / folder.name)
        done = run(folder, "-m", "symgen", "generate", "planar_arm", "-o", str(outputs[-1]))
        assert done.returncode == 0, done.stderr
    files_of_wheel, files_of_checkout = (
        {p.name: p.read_bytes() for p in folder.iterdir()} for folder in outputs
    )
    assert len(files_of_wheel) > 10
    assert files_of_wheel == files_of_checkout


def test_the_wheel_has_complete_metadata(unpacked: Path) -> None:
    """An index reads licence, authors, addresses and classifiers; type checkers read py.typed."""
    (info,) = unpacked.glob("symgen-*.dist-info")
    metadata = email.message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    assert metadata["License-Expression"] == "MIT"
    assert (info / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert metadata["Author"] == "symgen authors"
    addresses = {entry.partition(",")[0] for entry in metadata.get_all("Project-URL", [])}
    assert {"Homepage", "Documentation", "Source", "Changelog"} <= addresses
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= set(
        metadata.get_all("Classifier", [])
    )
    assert not [c for c in metadata.get_all("Classifier", []) if c.startswith("License ::")], (
        "the expression says it (PEP 639)"
    )
    assert (unpacked / "symgen" / "py.typed").is_file()


def test_the_readme_of_the_wheel_has_no_broken_link(unpacked: Path) -> None:
    """The README has only web links and no picture, and each path that it names exists."""
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
