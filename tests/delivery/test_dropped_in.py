"""Generated folders in a user's project: linking with one command, ASCII text, --functions-only."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.cli import main
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import texts, write
from symgen.description import marks
from symgen.emission import markdown
from symgen.emission.c_text import ascii_text, comment
from symgen.machine import targets
from symgen.support.errors import DescriptionError, RequestError
from symgen.vocabulary.options import TextOptions
from tests.shared.c99 import WARNINGS
from tests.shared.c_programs import arm
from tests.shared.folders import cases, mechanism, run

MAIN = '#include "arm.h"\nint main(void) { return arm_NV == 2 ? 0 : 1; }\n'
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "target": {"target": "cortex-m4f"},
    "wrapped": {"wrap": ("cpp17",)},
    "checked": {"checked": True, "target": "rv32imafc"},
    "own sine": {"trig": "inline"},
    "own sines": {"trig": "auto"},
    "macros": {"trig": "macro"},
}
"""Options of a folder, one at a time."""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def link_program(
    folder: Path, *folders: str, compiler: str = "gcc"
) -> subprocess.CompletedProcess[str]:
    """Compile main.c and all C files of the folders with one command."""
    includes = " ".join(f"-I{folder}" for folder in folders)
    line = f"{compiler} main.c $(find {' '.join(folders)} -name '*.c') {includes} -lm -o main"
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_command_links_a_program_with_the_folder(
    variant: str, real: str, tmp_path: Path
) -> None:
    programs = {"mass_matrix": arm(real)["mass_matrix"]}
    write(
        tmp_path / "arm",
        texts(
            FolderContents(
                mechanism(), programs, text=TextOptions(**VARIANTS[variant]), cases=cases(programs)
            )
        ),
    )
    (tmp_path / "main.c").write_text(MAIN)
    done = link_program(tmp_path, "arm")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "main").returncode == 0


@pytest.mark.parametrize("alone", [False, True])
def test_all_options_at_once_link_for_two_robots(alone: bool, tmp_path: Path) -> None:
    for name in ("arm", "other"):
        symgen.generate(
            "planar_arm",
            tmp_path / name,
            ["mass_matrix"],
            name=name,
            target="cortex-m4f",
            evidence=False,
            checked=True,
            trig="inline",
            wrap=["cpp17"],
            functions_only=alone,
        )
    (tmp_path / "main.c").write_text(f'#include "other.h"\n{MAIN}')
    done = link_program(tmp_path, "arm", "other")
    assert done.returncode == 0, done.stderr


def test_without_its_macro_the_self_test_defines_no_symbols(tmp_path: Path) -> None:
    write(
        tmp_path / "arm",
        texts(
            FolderContents(mechanism(), arm(), text=TextOptions(target="host"), cases=cases(arm()))
        ),
    )
    for file in ("arm_selftest.c", "firmware/main.c"):
        done = run(
            "gcc", "-std=c99", *WARNINGS, "-c", tmp_path / "arm" / file, "-o", "x.o", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert run("nm", "x.o", cwd=tmp_path).stdout == ""


# ASCII.

ODD = '関節 θ̈ ＊／ é "ﬁ" \u202e٣ ½ \\ ??/'


def test_generated_c_is_ascii_for_any_names(tmp_path: Path) -> None:
    """Use names in several alphabets, and all options that add text."""
    robot = tmp_path / "robot.urdf"
    names = ["Grundkörper", "плечо", re.sub('["\\\\\u202e]', "", ODD)]
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in names)
    joints = "".join(
        f'<joint name="関節{i} ²" type="revolute">'
        f'<parent link="{names[i]}"/><child link="{names[i + 1]}"/>'
        f'<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for i in range(2)
    )
    robot.write_text(
        f'<robot name="Roboter–№1 für Ωmega">{links}{joints}</robot>', encoding="utf-8"
    )
    option_sets: list[dict[str, Any]] = [
        {"trig": "inline", "checked": True, "real": "float"},
        {"trig": "macro", "payload": names[-1]},
    ]
    for number, options in enumerate(option_sets):
        folder = tmp_path / f"{number}"
        symgen.generate(
            robot,
            folder,
            ["inverse_dynamics", "forward_kinematics", "mass_matrix"],
            wrap=["cpp17"],
            target="cortex-m7",
            evidence=False,
            wrench=names[-1],
            frame=names[-1],
            **options,
        )
        source_files = [path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".hpp")]
        assert len(source_files) == (8 if options["trig"] == "inline" else 7)
        for path in source_files:
            assert path.read_bytes().isascii(), path.name
            assert re.fullmatch(r"Roboter_1_f_r_mega\w*\.\w+|main\.c", path.name)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a`", "`` a` ``"),
        ("", "`  `"),
        ("a```b`c", "````a```b`c````"),
    ],
)
def test_any_name_is_code_in_markdown(name: str, code: str) -> None:
    assert markdown.code(name) == code


def test_templates_of_c_are_ascii() -> None:
    for path in sorted(TEMPLATES.rglob("*.j2")):
        if path.name.endswith((".c.j2", ".h.j2", ".hpp.j2")):
            assert path.read_bytes().isascii(), path.name


def test_signs_beyond_ascii_are_written_out() -> None:
    written = {
        "rad/s²": "rad/s^2",
        "N·m": "N*m",
        "J M⁻¹ Jᵀ": "J M^-1 J^T",
        "x₁ ≤ π": "x1 <= pi",
        "θ̈ and ä": "thetaddot and a",
        "10⁻¹²": "10^-12",
        "Ψ": "Psi",
        "肘": "<U+8098>",
        "½": "1/2",
        "plain": "plain",
    }
    assert {text: ascii_text(text) for text in written} == written
    for text in (ODD, "＊／ int x;", "／＊", "a＼", "？？／", "\ufeff\u2028x"):
        text_of_comment = comment(text)
        assert text_of_comment.isascii()
        assert text_of_comment.isprintable()
        assert not re.search(r"\*/|/\*|\\|\?\?", text_of_comment)


# Functions alone.

ALONE = {"arm.h", *(f"arm_{function}.c" for function in arm())}


def write_arm(
    folder: Path, name: str = "arm", alone: bool = True, few: bool = False
) -> dict[str, Any]:
    programs = {"mass_matrix": arm()["mass_matrix"]} if few else arm()
    return write(
        folder,
        texts(FolderContents(mechanism(name), programs, cases=cases(programs))),
        functions_only=alone,
    )


def test_functions_only_writes_only_headers_and_c(tmp_path: Path) -> None:
    manifest = symgen.generate(
        "scara",
        tmp_path / "c",
        ["gravity_force", "mass_matrix"],
        functions_only=True,
        target="cortex-m4f",
    )
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "scara.h",
        "scara_gravity_force.c",
        "scara_mass_matrix.c",
    ]
    assert manifest["files"] == ["scara.h", "scara_gravity_force.c", "scara_mass_matrix.c"]
    assert (manifest["real"], "target" in manifest["options"]) == ("float", False)
    symgen.generate("scara", tmp_path / "whole", ["gravity_force", "mass_matrix"], real="float")
    for path in (tmp_path / "c").iterdir():
        assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()
    words = ["generate", "scara", "-f", "mass_matrix", "--trig", "inline", "--functions-only"]
    assert main([*words, "-o", str(tmp_path / "d")]) == 0
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [
        "scara.h",
        "scara_mass_matrix.c",
        "scara_sincos.h",
    ]


@pytest.mark.parametrize("command", ["verify", "prove", "show"])
def test_commands_refuse_a_folder_of_functions_only_in_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_arm(tmp_path / "c")
    assert main([command, str(tmp_path / "c")]) == 2
    message = capsys.readouterr().err
    assert "it has only functions, without the description and the manifest" in message
    assert "generate again without --functions-only" in message
    assert message.count("\n") == 1
    (tmp_path / "c" / "arm.h").write_text("/* mine */")
    with pytest.raises(DescriptionError, match=r"without a manifest\.json"):
        symgen.verify(tmp_path / "c")


def test_only_functions_of_the_same_robot_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    write_arm(folder)
    mine = {
        "main.c": b"int main(void) { return 0; }\n",
        "arm_board.c": b'#include "arm.h"\n',
        "notes.md": b"mine",
    }
    for name, text in mine.items():
        (folder / name).write_bytes(text)
    write_arm(folder, "arm_left")  # functions of another robot in the same folder
    other_robot_files = {
        name: text for name, text in content(folder).items() if name.startswith("arm_left")
    }
    assert len(other_robot_files) == len(ALONE)
    write_arm(folder, few=True)
    assert content(folder) == mine | other_robot_files | {
        name: text
        for name, text in content(folder).items()
        if name in ("arm.h", "arm_mass_matrix.c")
    }
    write_arm(folder, alone=False)  # the whole folder replaces the functions
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(content(folder)) == {*manifest["files"], *mine, *other_robot_files}
    write_arm(folder)  # the functions replace the whole folder
    assert set(content(folder)) == ALONE | mine.keys() | other_robot_files.keys()


def test_a_pipe_is_no_file_and_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a pipe would block for ever."""
    write_arm(tmp_path)
    os.mkfifo(tmp_path / "pipe.h")
    opened: list[str] = []
    monkeypatch.setattr(marks, "_head", lambda path: opened.append(path.name) or "")
    marks.functions_alone(tmp_path)
    assert set(opened) == ALONE


def test_files_that_symgen_may_not_have_written_are_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "arm.h").write_text("#define arm_NQ 2\n")
    with pytest.raises(RequestError, match="holds files that symgen did not write"):
        write_arm(folder)
    (folder / "arm.h").unlink()
    write_arm(folder, few=True)
    (folder / "arm_gravity_force.c").write_text("int mine;\n")
    before = content(folder)
    with pytest.raises(RequestError, match=r"arm_gravity_force\.c was not written by symgen"):
        write_arm(folder)
    (folder / "arm_gravity_force.c").unlink()
    with pytest.raises(RequestError, match="holds the functions of 'arm' alone"):
        write_arm(folder, "other", alone=False)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(RequestError, match="holds files that symgen did not write"):
        write_arm(folder)
    assert {**before, "manifest.json": b"{"}.keys() - {"arm_gravity_force.c"} == content(
        folder
    ).keys()


# One default of the real type.


@pytest.mark.parametrize("target", [*targets.names(), None])
def test_the_default_real_type_is_that_of_the_target(
    target: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = target in ("cortex-m4f", "rv32imafc")
    words = [] if target is None else ["--target", target, "--no-evidence"]
    assert (
        main(["generate", "planar_arm", "-f", "gravity_force", *words, "-o", str(tmp_path / "c")])
        == 0
    )
    out, err = capsys.readouterr()
    expected = "float" if single else "double"
    assert f"in C ({expected})" in out
    assert ("since the FPU of" in err) == single
    assert "slower" not in err
    assert json.loads((tmp_path / "c" / "manifest.json").read_text())["real"] == expected
    manifest = symgen.generate(
        "planar_arm", tmp_path / "python", ["gravity_force"], target=target, evidence=False
    )
    assert manifest["real"] == expected == targets.default_real(target)
    manifest = symgen.generate(
        "planar_arm", tmp_path / "asked", ["gravity_force"], "double", target=target, evidence=False
    )
    assert manifest["real"] == "double"


def test_functions_only_does_not_change_the_text_of_the_functions(tmp_path: Path) -> None:
    complete = texts(FolderContents(mechanism(), arm()))
    write_arm(tmp_path / "c")
    assert content(tmp_path / "c") == {
        name: text.encode() for name, text in complete.items() if name in ALONE
    }
