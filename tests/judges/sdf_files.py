"""PyBullet's and Drake's verdicts on SDF files: PyBullet's files that have a joint, Cassie, and one
text a feature.

symgen's answers are the Programs of M and inverse dynamics, by one method each, and the reference's
poses. They run over NumPy's floats, with snapping off and without drives. Drake's wheel holds
libsdformat, the reader of Gazebo, which implements every version of SDF; PyBullet has its own
reader.

    python -m tests.judges.sdf_files              prints the tables
    python -m tests.judges.sdf_files --write      rewrites tests/judges/sdf_files.md
    python -m tests.judges.sdf_files --one 3      the verdicts on the fourth text, as JSON
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

import symgen
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from tests.judges.example_robot_data import _rounded, by_named
from tests.judges.pinocchio_answers import NO_WEIGHT
from tests.shared.sdf_texts import FEATURES

TABLE = Path(__file__).with_suffix(".md")
STATES = 4
BOUND = 1e-9
JUDGES = ("Drake", "PyBullet")
_SHAPES = ("visual", "collision", "contact", "plugin", "sensor", "include", "light")
"""Elements that say nothing of dynamics, some of them against the specification."""


@dataclass(frozen=True)
class Case:
    """A text to be judged. `remark` describes the changes of the text; `refused` is the message of
    symgen about the original file.
    """

    name: str
    text: str
    model: str = ""
    remark: str = ""
    refused: str = ""


# -- texts -----------------------------------------------------------------------------------------


def bare(text: str, model: str = "") -> str:
    """An SDF without shapes, of one model alone, whose link `world` has a name that the
    specification allows.
    """
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True))
    for element in list(root.iter(*_SHAPES)):
        element.getparent().remove(element)
    models = [model for model in root.iter("model") if model.getparent().tag in ("sdf", "world")]
    for index, model_element in enumerate(models):
        if model and index != int([*model.split(":"), "1"][1]) - 1:
            model_element.getparent().remove(model_element)
    done = str(etree.tostring(root, encoding="unicode"))
    has = any(model.get("name") == "world" for model in root.iter("link"))
    return (
        done.replace("'world'", '"world"')
        .replace('"world"', '"grounded"')
        .replace(">world<", ">grounded<")
        if has
        else done
    )


def opened(text: str) -> tuple[str, str]:
    """Return the text without closed loops, and a description of the removed elements: gearboxes,
    second joints of a link, and the links that are then disconnected.
    """
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True))
    above: dict[str, str] = {}
    joints, links = list(root.iter("joint")), list(root.iter("link"))
    for joint in joints:
        child = joint.findtext("child", "").strip()
        if joint.get("type") == "gearbox" or child in above:
            joint.getparent().remove(joint)
        else:
            above[child] = joint.findtext("parent", "").strip()

    def grounded(name: str) -> bool:
        while name in above:
            name = above[name]
        return name in (links[0].get("name"), "world")

    for link in links:
        if not grounded(link.get("name", "")):
            link.getparent().remove(link)
    for joint in root.iter("joint"):
        if not grounded(joint.findtext("child", "").strip()):
            joint.getparent().remove(joint)
    gone = len(joints) - len(list(root.iter("joint"))), len(links) - len(list(root.iter("link")))
    remark = f"opened: {gone[0]} joints and {gone[1]} links taken out"
    for inertia in root.iter("inertia"):
        moments = [float(inertia.findtext(name, "1")) for name in ("ixx", "iyy", "izz")]
        largest = ("ixx", "iyy", "izz")[moments.index(max(moments))]
        if 2 * max(moments) > 1.001 * sum(moments):
            inertia.find(largest).text = repr(0.9 * (sum(moments) - max(moments)))
            remark += (
                f"; {inertia.getparent().getparent().get('name')}: a possible {largest}, for Drake"
                " puts in another"
            )
    return str(etree.tostring(root, encoding="unicode")), remark


def pybullet_files() -> list[Path]:
    """The SDF files of the installed wheel that have a joint."""
    paths = [
        Path(str(path.locate()))
        for path in metadata.files("pybullet") or []
        if path.suffix in (".sdf", ".world")
    ]
    return sorted(path for path in paths if "<joint" in path.read_text(encoding="utf-8"))


def cassie_files() -> list[Path]:
    paths = [
        Path(str(path.locate()))
        for path in metadata.files("example-robot-data") or []
        if path.suffix == ".sdf"
    ]
    return sorted(path for path in paths if "cassie" in path.name)


def cases() -> list[Case]:
    """Every text, files first."""
    cases_in_turn = []
    for path in pybullet_files():
        text = path.read_text(encoding="utf-8")
        names = ["lbr_iiwa", "lbr_iiwa:2"] if path.name == "model2.sdf" else [""]
        cases_in_turn += [
            Case(
                f"{path.parent.name}/{path.name}",
                bare(text, name),
                name,
                refused=refusal(path, name),
            )
            for name in names
        ]
    for path in cassie_files():
        text, remark = opened(path.read_text(encoding="utf-8"))
        cases_in_turn.append(
            Case(f"cassie/{path.name}", bare(text), remark=remark, refused=refusal(path))
        )
    features = [(name, text) for name, (text, _, _, _) in FEATURES.items() if "drive" not in name]
    return cases_in_turn + [Case(name, text) for name, text in features]


def refusal(path: Path, model: str = "") -> str:
    """Return the sentence by which symgen refuses a file."""
    try:
        symgen.load(path, model=model or None)
    except symgen.SymgenError as error:
        return str(error).removeprefix(f"{path}:")
    return ""


# -- verdicts --------------------------------------------------------------------------------------


def judged(case: Case, by: str) -> dict[str, Any]:
    """Return {joints, tau, M, pose: largest relative errors} of a text by one judge, or {why} if
    the judge does not read it.
    """
    from tests.judges.drake_answers import Plant
    from tests.judges.pybullet_answers import Body

    mechanism = symgen.load(case.text, snap="off", drives="off")
    text = case.text if by == "Drake" else without_ground(case.text)
    try:
        judge = Plant(text, mechanism) if by == "Drake" else Body(text, mechanism)
    except Exception as error:  # the table names the reason why a judge does not read the file
        return {"joints": mechanism.nv, "why": str(error).strip().splitlines()[-1][:160]}
    ours = by_named(mechanism, lambda step: None).runners
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=7).items()
    }
    results = {
        "tau": ours["inverse_dynamics"]({name: states[name] for name in ("q", "v", "a")})["tau"],
        "M": ours["mass_matrix"]({"q": states["q"]})["M"],
    }
    errors = {"tau": 0.0, "M": 0.0, "pose": 0.0}
    weight = NO_WEIGHT * 9.81 * float(mechanism.mass)
    for k in range(STATES):
        values_by_name = judge.answers(*(states[name][k] for name in ("q", "v", "a")))
        for name, values in values_by_name.items():
            error = np.abs(results[name][k] - values).max() / max(np.abs(values).max(), weight)
            errors[name] = max(errors[name], float(error))
        if isinstance(judge, Plant):
            errors["pose"] = max(errors["pose"], posed(mechanism, judge, states["q"][k]))
    return {"joints": mechanism.nv, **errors}


def without_ground(text: str) -> str:
    """Remove joints to the world, which PyBullet does not read; it fixes the base itself."""
    root = etree.fromstring(text.encode())
    for joint in list(root.iter("joint")):
        if joint.findtext("parent", "").strip() == "world" and joint.get("type") == "fixed":
            joint.getparent().remove(joint)
    return str(etree.tostring(root, encoding="unicode"))


def posed(mechanism: Mechanism, judge: Any, q: Any) -> float:
    """Return the largest distance between frames of our links and Drake's, relative to the larger
    of 1 m and the position.
    """
    worst = 0.0
    for frame in mechanism.frames:
        theirs = judge.pose(frame.name) if frame.body != BASE or frame.name != "world" else None
        if theirs is not None:
            turn, position = Reference(mechanism, frame=frame.name).forward_kinematics(q)
            error = np.abs(np.column_stack([turn, position]) - theirs[:3]).max()
            worst = max(worst, float(error / max(1.0, np.abs(theirs).max())))
    return worst


def elsewhere(index: int, by: str) -> dict[str, Any]:
    """Run `judged` in a separate process, because a judge may end its process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.judges.sdf_files", "--one", str(index), "--by", by],
        capture_output=True,
        check=False,
    )
    output = done.stdout.decode(errors="replace")  # PyBullet prints more text on the same line
    try:
        return dict(json.JSONDecoder().raw_decode(output, output.index('{"joints"'))[0])
    except ValueError:
        return {"joints": 0, "why": f"its process ends with code {done.returncode}"}


# -- the table -------------------------------------------------------------------------------------


def row(case: Case, verdicts: dict[str, dict[str, Any]]) -> str:
    cells, remarks = [], [case.remark] if case.remark else []
    for by in JUDGES:
        verdict = verdicts.get(by, {"why": ""})
        names = ("tau", "M", "pose") if by == "Drake" else ("tau", "M")
        cells += [_rounded(verdict[name]) if name in verdict else "–" for name in names]
        if verdict.get("why"):
            remarks.append(f"{by} does not read it ({verdict['why']})")
        remarks += [
            f"**FAILED** {by}: {name} is {verdict[name]:.1e} off"
            for name in names
            if not verdict.get(name, 0.0) <= BOUND
        ]
    if case.refused:
        remarks.append(f"the file itself is refused: {case.refused}")
    nv = max(verdict.get("joints", 0) for verdict in verdicts.values())
    remark = "; ".join(remarks).replace("|", "\\|")
    return (
        f"| {case.name}{', ' + case.model if case.model else ''} | {nv} | {' | '.join(cells)} |"
        f" {remark} |"
    )


def table(listed: list[Case], verdicts: list[dict[str, dict[str, Any]]]) -> str:
    """Markdown: the files, then the features."""
    head = [
        "| {} | velocities | Drake: ID | M | poses | PyBullet: ID | M | remark |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines = [
        "# PyBullet's and Drake's word on SDF",
        "",
        (
            "Written by `make judge` (`python -m tests.judges.sdf_files --write`); not edited by"
            " hand. Judged are the Programs"
        ),
        (
            "of inverse dynamics and M, and the poses of all links, the largest error over"
            f" {STATES} states relative to the largest"
        ),
        (
            f"entry of the judge's answer (of poses to 1 m). The bound is {BOUND:.0e}. Read with"
            " `--snap off --drives off`; shapes,"
        ),
        (
            "sensors and plugins were taken out, and a link called `world`, which the specification"
            " keeps for the world, has another"
        ),
        (
            "name. Drake's wheel holds libsdformat. PyBullet makes up moments from the shapes: it"
            " was given the declared ones."
        ),
        "",
        "## Files of the wheel of PyBullet, and Cassie's of example-robot-data",
        "",
        head[0].format("file"),
        head[1],
    ]
    files = [index for index, case in enumerate(listed) if case.name not in FEATURES]
    lines += [row(listed[index], verdicts[index]) for index in files]
    lines += [
        "",
        "## One text a feature (`tests/shared/sdf_texts.py`)",
        "",
        head[0].format("feature"),
        head[1],
    ]
    lines += [
        row(listed[index], verdicts[index]) for index in range(len(listed)) if index not in files
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="PyBullet and Drake judge SDF files")
    parser.add_argument("--write", action="store_true", help="rewrite the committed table")
    parser.add_argument("--one", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--by", choices=JUDGES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    listed = cases()
    if options.one is not None:
        print(json.dumps(judged(listed[options.one], options.by)))
        return 0
    verdicts = []
    for index, case in enumerate(listed):
        of_a_file = case.name not in FEATURES
        verdicts.append({by: elsewhere(index, by) for by in JUDGES if of_a_file or by == "Drake"})
        print(row(case, verdicts[-1]), file=sys.stderr, flush=True)
    text = table(listed, verdicts)
    if options.write:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int("FAILED" in text)


if __name__ == "__main__":
    raise SystemExit(main())
