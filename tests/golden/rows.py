"""Rows of the golden table: robots, the requested outputs, and the combinations of options that are
allowed. A robot is a built-in name or a file of `robots/`.

A row consists of arguments of `symgen.load` and `symgen.generate`, or of a command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.covering import Choice, covering

FILES = Path(__file__).resolve().parent / "robots"


@dataclass(frozen=True)
class Robot:
    """A robot by name or file, how it is read, and two of its links.

    `task` are the rows of a task that its second link can have. `closure` takes the place of
    CLOSURE in the file. `tags` has "loops" where joints close loops.
    """

    source: str
    links: tuple[str, str]
    task: str
    load: dict[str, Any] = field(default_factory=dict)
    closure: str = ""
    tags: frozenset[str] = frozenset()


def _robot(
    source: str, links: str, task: str, tags: str = "", closure: str = "", **load: Any
) -> Robot:
    first, second = links.split()
    return Robot(source, (first, second), task, load, closure, frozenset(tags.split()))


ROBOTS = {
    "planar_arm": _robot("planar_arm", "link1 link2", "x,y"),
    "scara": _robot("scara", "link2 link4", "wz,x,y,z"),
    "point_masses": _robot("planar_point_mass:3", "link2 link3", "wz,x"),
    "spherical_pendulum": _robot("spherical_pendulum", "rod end", "wx,wy,wz"),
    "tree": _robot("tree.urdf", "lift left", "wz"),
    "tree_coupled": _robot(
        "tree.urdf",
        "lift camera",
        "wz",
        mimic="couple",
        drives="on",
        joint_order="pinocchio",
        lock={},
        gravity="0,0.5,-9.81",
    ),
    "hopper": _robot("hopper.urdf", "thigh foot", "wx,wz,x,y,z", base="free"),
    "ball": _robot("ball.xml", "lower upper", "wx,wy,wz"),
    "cart": _robot("cart.toml", "plate boom", "wz,x,y"),
    "screws": _robot("screws.toml", "nut tool", "wz,x"),
    "jaws": _robot("jaws.toml", "left right", "wy,y"),
    "rows": _robot("rows.toml", "link2 link3", "wy,x,z"),
    "branches": _robot("branches.csv", "two three", "x"),
    "swing": _robot("swing.sdf", "seat knob", "wy,wx"),
    "slot": _robot("slot.toml", "rod tool", "wy", "loops"),
    "scissors": _robot("scissors.toml", "upper lower", "wz", "loops"),
    "lever": _robot("lever.xml", "a c", "wy,x", "loops", drives="damping"),
    "four_bar": _robot("four_bar", "coupler rocker", "wz", "loops"),
    "bennett": _robot("bennett", "link2 link3", "wx,wy,wz", "loops"),
}
"""Robots that meet every option."""
READ = {
    "lever_compensated": _robot("lever.xml", "a c", "wy,x", "loops"),
    "tree_locked": _robot(
        "tree.urdf",
        "trunk right",
        "wz",
        lock={"column": "0.25", "left_arm": None},
        snap="off",
        drives="damping",
    ),
    "ball_undriven": _robot("ball.xml", "upper lower", "wx,wy,wz", drives="off"),
}
"""Files with other options of reading, for the output of commands."""
CLOSURES = (
    "revolute",
    "prismatic",
    "cylindrical",
    "spherical",
    "universal",
    "weld",
    "distance",
    "frictionless_point",
    "soft_finger",
)
"""Joints that close loops; each holds the brick of `held.toml`."""
_MORE = {"distance": 'distance"\ndistance = "0.1'}
"""Attributes of a loop closure besides its type."""
BUNDLES = {
    "forces": "inverse_dynamics bias_force gravity_force",
    "forward": "forward_dynamics mass_matrix_solve",
    "inertia": "mass_matrix mass_matrix_and_bias inverse_mass_matrix",
    "determinant": (
        "mass_matrix_determinant mass_matrix_log_determinant mass_matrix_log_determinant_gradient"
    ),
    "links": "link_accelerations interbody_forces operational_inertia_inverse",
    "kinematics": "forward_kinematics jacobian bias_acceleration link_poses",
    "centre": "center_of_mass center_of_mass_jacobian kinetic_energy potential_energy",
    "momentum": "centroidal_momentum centroidal_momentum_matrix centroidal_momentum_rate",
    "slopes": "inverse_dynamics_derivatives forward_dynamics_derivatives",
    "steps": "integrate difference step step_rk4",
    "coriolis": "coriolis_matrix mass_matrix_coriolis_and_bias",
    "regressors": "regressor base_regressor base_parameters",
    "task": "operational_inertia dynamically_consistent_inverse",
    "contacts": "contact_forward_dynamics contact_impulse",
    "motion_of_loops": (
        "constrained_forward_dynamics constrained_inverse_dynamics reduced_mass_matrix "
        "constraint_impulse"
    ),
    "closing_of_loops": "constraint_residual constraint_jacobian constraint_bias assemble",
    "default": "",
}
"""Functions that a row asks for together; none are those that a user gets who names none."""
FACTORS: dict[str, tuple[str, ...]] = {
    "robot": tuple(ROBOTS),
    "bundle": tuple(BUNDLES),
    "mode": ("-", "jvp", "vjp", "jacobian", "hvp"),
    "form": ("auto", "unrolled"),
    "trig": ("-", "libm", "macro", "inline", "auto"),
    "checked": ("-", "checked"),
    "batch": ("-", "batch"),
    "real": ("-", "double", "float"),
    "wrap": ("-", "cpp17", "casadi", "cuda", "cpp17,casadi"),
    "target": ("-", "host", "cortex-m4f", "cortex-m7", "rv32imafc"),
    "parameters": ("-", "*", "gravity", "link"),
    "loads": ("-", "payload", "wrench", "wrenches", "payload+wrench"),
    "contact": ("-", "contact", "contacts"),
    "frame": ("-", "frame", "frames"),
    "jacobian": ("-", "local", "world", "linear", "local+linear"),
    "gains": ("-", "baumgarte"),
    "only": ("-", "functions_only"),
    "name": ("-", "arm1"),
}
"""Factors of a choice and their values; "-" is the default."""
OF_LOOPS = ("motion_of_loops", "closing_of_loops")
WITHOUT_GRAVITY = ("momentum", "determinant", "task", "kinematics", "closing_of_loops")
"""Bundles none of whose functions feels gravity; the last two feel no inertia either."""
NO_HVP = ("slopes", "coriolis")
"""Bundles that hold derivatives: the third ones are refused."""


def legal(choice: Choice) -> bool:
    """Return True if symgen takes these choices together."""
    robot = ROBOTS.get(choice.get("robot", ""))
    tags = frozenset() if robot is None else robot.tags
    bundle = choice.get("bundle")

    def chosen(factor: str) -> bool:
        return choice.get(factor, "-") != "-"

    if chosen("target") and (chosen("batch") or choice.get("wrap") == "cuda"):
        return False
    if robot is not None and "loops" not in tags and (bundle in OF_LOOPS or chosen("gains")):
        return False
    if chosen("gains") and bundle not in (None, "motion_of_loops", "contacts"):
        return False
    if bundle is not None and "contact" in choice and (bundle == "contacts") != chosen("contact"):
        return False
    parameters = choice.get("parameters", "-")
    if bundle in WITHOUT_GRAVITY and (
        parameters == "gravity" or (parameters != "-" and bundle in WITHOUT_GRAVITY[-2:])
    ):
        return False
    if choice.get("mode") == "hvp" and bundle in NO_HVP:
        return False
    return not (chosen("mode") and bundle == "default")


def arguments(choice: Choice) -> dict[str, Any]:
    """The arguments of `symgen.generate` for a choice."""
    robot = ROBOTS[choice["robot"]]
    first, second = robot.links
    names = BUNDLES[choice["bundle"]].split()
    mode = choice["mode"]
    if mode != "-":
        out = ("assemble", "base_parameters", *(("center_of_mass",) if mode == "jacobian" else ()))
        names += [f"{name}:{mode}" for name in names if name not in out]
    named_arguments: dict[str, Any] = {"functions": names or None}
    if choice["bundle"] == "task":
        named_arguments["task_rows"] = robot.task
    named_arguments |= {"form": choice["form"]} if choice["form"] != "auto" else {}
    named_arguments |= {word: True for word in ("checked", "batch") if choice[word] != "-"}
    named_arguments |= {
        word: choice[word] for word in ("trig", "real", "target", "name") if choice[word] != "-"
    }
    named_arguments |= {"baumgarte": True} if choice["gains"] != "-" else {}
    named_arguments |= {"functions_only": True} if choice["only"] != "-" else {}
    named_arguments |= {"wrap": choice["wrap"].split(",")} if choice["wrap"] != "-" else {}
    named_arguments |= {
        "-": {},
        "*": {"parameters": "*"},
        "gravity": {"parameters": "gravity"},
        "link": {"parameters": [f"{first}.mass", "gravity"]},
    }[choice["parameters"]]
    named_arguments |= {
        "-": {},
        "payload": {"payload": second},
        "wrench": {"wrench": first},
        "wrenches": {"wrench": [first, second]},
        "payload+wrench": {"payload": first, "wrench": second},
    }[choice["loads"]]
    named_arguments |= {
        "-": {},
        "contact": {"contact": f"{second}:0,0.05,0.1"},
        "contacts": {"contact": [f"{first}:0.1,0,0.05", f"{second}:0,0.05,0.1"]},
    }[choice["contact"]]
    named_arguments |= {"-": {}, "frame": {"frame": first}, "frames": {"frame": [second, first]}}[
        choice["frame"]
    ]
    if choice["bundle"] == "task" and choice["frame"] != "frames":
        named_arguments["frame"] = second
    return (
        named_arguments
        | {
            "-": {},
            "local": {"jacobian_frame": "local"},
            "world": {"jacobian_frame": "world"},
            "linear": {"jacobian_order": "linear"},
            "local+linear": {"jacobian_frame": "local", "jacobian_order": "linear"},
        }[choice["jacobian"]]
    )


@dataclass(frozen=True)
class Row:
    """A folder that `symgen.generate` writes with `options`, or the output of a command if
    `command` is not empty.
    """

    name: str
    robot: Robot
    options: dict[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def source(self) -> str | Path:
        """Return the arguments of `symgen.load`, beside the files."""
        text = self.robot.source
        if self.robot.closure:
            return (
                (FILES / text)
                .read_text(encoding="utf-8")
                .replace("CLOSURE", _MORE.get(self.robot.closure, self.robot.closure))
            )
        return Path(text) if "." in text else text


def _covering() -> Iterator[Row]:
    for choice in covering(FACTORS, legal):
        words = [choice["robot"], choice["bundle"]] + [
            f"{factor}={choice[factor]}"
            for factor, values in list(FACTORS.items())[2:]
            if choice[factor] != values[0]
        ]
        yield Row(" ".join(words), ROBOTS[choice["robot"]], arguments(choice))


FORCE_SOLVES = (
    "forward_dynamics inverse_mass_matrix mass_matrix_solve mass_matrix_determinant "
    "mass_matrix_log_determinant operational_inertia_inverse"
)
METHODS = {
    "composite_body": (
        f"{FORCE_SOLVES} gravity_force mass_matrix mass_matrix_and_bias center_of_mass "
        "center_of_mass_jacobian potential_energy centroidal_momentum_matrix coriolis_matrix "
        "mass_matrix_coriolis_and_bias"
    ),
    "composite_body:bias": "forward_dynamics bias_force mass_matrix_and_bias",
    "composite_body:coupled": "link_accelerations interbody_forces",
    "constraint_force": f"{FORCE_SOLVES} interbody_forces",
    "constraint_force:parallel": f"{FORCE_SOLVES} interbody_forces",
    "derivative_recursion": "inverse_dynamics_derivatives forward_dynamics_derivatives",
    "fixman": FORCE_SOLVES,
    "fixman:spatial": FORCE_SOLVES,
    "fixman:planar": f"{FORCE_SOLVES} mass_matrix_log_determinant_gradient",
    "kinematics": "forward_kinematics jacobian link_poses integrate difference",
    "newton_euler": (
        "inverse_dynamics bias_force gravity_force mass_matrix mass_matrix_and_bias "
        "bias_acceleration kinetic_energy centroidal_momentum centroidal_momentum_rate regressor "
        "base_regressor base_parameters"
    ),
    "reverse_accumulation": "mass_matrix_log_determinant_gradient",
    "riccati": (
        f"{FORCE_SOLVES} mass_matrix_log_determinant_gradient link_accelerations interbody_forces"
    ),
    "riccati:fd1": "forward_dynamics",
    "riccati:fd2": "forward_dynamics link_accelerations",
    "riccati:fd3": "forward_dynamics",
    "riccati:fd4": "forward_dynamics interbody_forces",
    "riccati:two_sweeps": "forward_dynamics",
    "rk4": "step_rk4",
    "semi_implicit_euler": "step",
    "udut": FORCE_SOLVES,
    "udut:links": FORCE_SOLVES,
}
"""Functions of open chains by the methods that have them."""
METHODS_OF_LOOPS = {
    "composite_body": "constrained_forward_dynamics reduced_mass_matrix constraint_impulse",
    "constraint_force": "constrained_forward_dynamics constraint_impulse",
    "fixman": "constrained_forward_dynamics constraint_impulse",
    "gauss_newton": "assembly_step",
    "kinematics": "constraint_residual constraint_jacobian constraint_bias",
    "newton_euler": "constrained_inverse_dynamics reduced_mass_matrix",
    "riccati": "constrained_forward_dynamics constraint_impulse",
    "udut": "constrained_forward_dynamics constraint_impulse",
    "udut:links": "constrained_forward_dynamics constraint_impulse",
}
"""Requests of robots with closed loops."""
CHAIN = _robot("chain.toml", "link3 link34", "wx,wy,wz,x,y,z")
MASSES = _robot("planar_point_mass:40", "link3 link40", "wz,x,y")
PAIR = _robot("pair.toml", "rail drone", "wx,wy,wz,x,y,z")
"""Chains beside each other, of which some move freely."""
TEXTS: dict[str, dict[str, Any]] = {
    "": {},
    "checked": {"checked": True, "trig": "libm"},
    "float batch": {"real": "float", "batch": True, "trig": "inline"},
    "checked batch": {"checked": True, "batch": True, "trig": "inline"},
    "cpp17": {"wrap": ["cpp17"]},
    "m7": {"target": "cortex-m7"},
    "cuda": {"wrap": ["cuda"]},
    "cuda checked": {"wrap": ["cuda"], "checked": True, "real": "float"},
}
"""Options that change the text of loops."""
STATUS = tuple(text for text in TEXTS if text != "checked batch")
PARTS = ("", "checked", "checked batch", "cpp17", "m7")
"""Options of chains in parts, which may have fewer parts than a vector of floats has lanes."""
LOOPED: dict[str, tuple[Robot, str, tuple[str, ...]]] = {
    "masses40": (
        MASSES,
        "forward_dynamics=fixman:planar inverse_dynamics mass_matrix_determinant",
        STATUS,
    ),
    "masses40 cyclic": (MASSES, "mass_matrix_solve=fixman:parallel", PARTS),
    "masses40 segments": (
        MASSES,
        "forward_dynamics=riccati:segments mass_matrix_solve=fixman:segments",
        PARTS,
    ),
    "chain34": (
        CHAIN,
        "inverse_dynamics bias_force gravity_force forward_dynamics mass_matrix_solve "
        "mass_matrix_log_determinant forward_kinematics center_of_mass kinetic_energy "
        "potential_energy link_poses",
        STATUS,
    ),
    "chain34 segments": (CHAIN, "forward_dynamics=riccati:segments", PARTS),
    "chain34 levels": (
        CHAIN,
        "forward_dynamics=constraint_force:parallel mass_matrix_solve=constraint_force:parallel",
        PARTS,
    ),
    "chain34 blocks": (
        CHAIN,
        "forward_dynamics=constraint_force mass_matrix_solve=fixman:spatial",
        STATUS,
    ),
    "ur5 levels": (
        _robot("ur5", "forearm_link ee_link", "wx,wy,wz,x,y,z"),
        "forward_dynamics=constraint_force:parallel",
        PARTS,
    ),
    **{
        f"{name} {method}": (
            ROBOTS[name],
            f"forward_dynamics={method} mass_matrix_solve={method}",
            STATUS,
        )
        for name, methods in (
            ("scara", ("riccati", "constraint_force", "fixman:spatial")),
            ("rows", ("riccati", "constraint_force", "fixman:spatial")),
        )
        for method in methods
    },
    "pair joints": (
        PAIR,
        "forward_dynamics=constraint_force mass_matrix_solve=fixman:spatial "
        "mass_matrix_log_determinant=constraint_force",
        ("", "checked"),
    ),
    **{
        f"{name} forces": (
            ROBOTS[name],
            "inverse_dynamics bias_force gravity_force",
            ("", "checked", "cuda"),
        )
        for name in ("scara", "tree", "rows", "branches", "ball", "hopper")
    },
}
"""Functions whose form is loops over links, in segments or in levels where the method says so, and
the texts of them.
"""
LARGE = {
    "puma560": ("puma560", ""),
    "panda": ("panda", "forward_dynamics inverse_dynamics jacobian inverse_mass_matrix"),
    "ur5": ("ur5", "forward_dynamics mass_matrix_and_bias link_poses"),
    "quadruped": ("quadruped", "inverse_dynamics mass_matrix jacobian centroidal_momentum_matrix"),
    "stewart": ("stewart", "constraint_jacobian constraint_bias inverse_dynamics"),
    "two_pandas_bar": ("two_pandas_bar", "constraint_residual forward_kinematics"),
    "free_body": ("free_body", ""),
    "slider_crank": ("slider_crank", ""),
}
"""Built-in robots that are large or alike to one of ROBOTS, with some functions; none is what a
user gets.
"""
_FORMULAS = (
    ("planar_arm", "M[0,1]", "--format text"),
    ("planar_arm", "M[0,1]", "--format latex"),
    ("planar_arm", "M", "--format python"),
    ("planar_arm", "c", "--format c"),
    ("planar_arm", "M[0,1]", "--form recursive"),
    ("planar_arm", "M[0,1]", "--form recursive --format c"),
    ("planar_arm", "M[0,1]", "--form closed --format c"),
    ("planar_arm", "tau", "--form looped"),
    ("planar_arm", "M[0,1]", "--where"),
    ("planar_arm", "M", "--structure"),
    ("planar_arm", "M[0,0]", "--symbols all"),
    ("planar_arm", "D[0]", "--method riccati"),
    ("planar_arm", "U[0,1]", "--method udut"),
    ("planar_arm", "M", "--at q0=pi/3,q1=pi/2"),
    ("planar_arm", "", ""),
    ("scara", "M[0,0]", "--form multiangle"),
    ("scara", "g[2]", "--form multiangle --full --format c"),
    ("scara", "P[2]", "--method riccati"),
    ("scara", "J", "--format python"),
    ("puma560", "M[1,2]", "--form recursive --format python"),
    ("puma560", "", ""),
    ("four_bar", "A", ""),
    ("four_bar", "K_loops", ""),
    ("four_bar", "e_loops", "--form recursive"),
    ("tree.urdf", "g", "--symbols m,l"),
    ("cart.toml", "M", ""),
)
_SUFFIXES = {"python": ".py", "c": ".c", "latex": ".tex"}
_READ = (
    "planar_arm",
    "scara",
    "four_bar",
    "tree.urdf",
    "ball.xml",
    "cart.toml",
    "swing.sdf",
    "jaws.toml",
)


def _explicit() -> Iterator[Row]:
    for methods, names in (
        (METHODS, ("scara", "point_masses", "branches", "tree_coupled")),
        (METHODS_OF_LOOPS, ("slot", "four_bar")),
    ):
        for name in names:
            for method, functions in methods.items():
                requested = [f"{function}={method}" for function in functions.split()]
                if not _refused(name, method):
                    yield Row(f"{name} by {method}", ROBOTS[name], {"functions": requested})
    for closure in CLOSURES:
        held_robot = Robot("held.toml", ("fore", "brick"), "wx,wy,wz,x,y,z", {}, closure)
        names = f"{BUNDLES['closing_of_loops']} constrained_forward_dynamics"
        yield Row(f"held by_{closure}", held_robot, {"functions": names.split()})
        if closure in ("distance", "frictionless_point"):
            named_arguments: dict[str, Any] = {
                "functions": ["constrained_forward_dynamics=riccati:grasps"]
            }
            for gains in (False, True):
                yield Row(
                    f"held by_{closure} riccati:grasps{' gains' * gains}",
                    held_robot,
                    {**named_arguments, "baumgarte": gains},
                )
    for name, (robot, functions, written) in LOOPED.items():
        for text in written:
            yield Row(
                f"{name} looped {text}".strip(),
                robot,
                {"functions": functions.split(), "form": "looped", **TEXTS[text]},
            )
    of_frames = "jacobian forward_kinematics bias_acceleration link_accelerations"
    for name, frame in (("hopper", "trunk"), ("pair", "drone")):
        robot = ROBOTS.get(name, PAIR)
        requested = [*of_frames.split(), "operational_inertia_inverse=riccati"]
        for text in ("", "checked"):
            yield Row(
                f"{name} {frame} looped {text}".strip(),
                robot,
                {"functions": requested, "form": "looped", "frame": frame, **TEXTS[text]},
            )
    for name, (source, functions) in LARGE.items():
        robot = _robot(source, "- -", "")
        yield Row(f"{name} some", robot, {"functions": functions.split() or None})
    for name, robot in READ.items():
        yield Row(f"{name} default", robot)
    yield Row(
        "scara contact_at_an_origin",
        ROBOTS["scara"],
        {"functions": BUNDLES["contacts"].split(), "contact": "link4"},
    )
    yield Row(
        "planar_arm effort",
        ROBOTS["planar_arm"],
        {"functions": ["forward_dynamics"], "effort": "high"},
    )


def _refused(robot: str, method: str) -> bool:
    """Return True if a method is for other robots."""
    coupled = ("composite_body", "composite_body:bias", "composite_body:coupled")
    if robot == "tree_coupled":
        return method not in (*coupled, "newton_euler", "kinematics", "reverse_accumulation")
    if method in ("composite_body:coupled", "reverse_accumulation"):
        return True
    if robot == "point_masses":
        return method in ("constraint_force", "constraint_force:parallel", "fixman:spatial")
    return method == "fixman:planar"


def _commands() -> Iterator[Row]:
    def row(suffix: str, *words: str) -> Row:
        return Row("command " + " ".join(words), ROBOTS["planar_arm"], command=words, suffix=suffix)

    for robot, request, options in _FORMULAS:
        style = options.partition("--format ")[2].split()
        suffix = _SUFFIXES.get(style[0], ".md") if style else ".md"
        yield row(suffix, "inspect", robot, *([request] if request else []), *options.split())
    for method, format, suffix in (
        ("riccati", "markdown", ".md"),
        ("udut", "latex", ".tex"),
        ("all", "notebook", ".json"),
    ):
        words = ("derive", "planar_arm", "--method", method, "--format", format)
        yield row(suffix, *words)
    yield row(".md", "derive", "planar_point_mass:3", "--method", "fixman")
    yield row(".md", "derive", "scara", "--method", "constraint_force")
    yield row(".json", "prove", "scara", "--identities", "--json")
    yield row(".md", "robots")
    for robot in _READ:
        yield row(".md", "show", robot)
        yield row(".json", "show", robot, "--json")
        yield row(".toml", "convert", robot, "--to", "toml", "-o", "-")
        if robot not in ("ball.xml", "four_bar", "cart.toml"):
            yield row(".xml", "convert", robot, "--to", "urdf", "-o", "-")
        yield row(".xml", "convert", robot, "--to", "mjcf", "-o", "-")
    for robot in ("planar_arm", "scara", "tree.urdf"):
        yield row(
            ".md", "generate", robot, "-o", "OUT/folder", "-f", "forward_dynamics", "-f", "jacobian"
        )


def rows() -> list[Row]:
    """All rows, in their order."""
    return [*_covering(), *_explicit(), *_commands()]
