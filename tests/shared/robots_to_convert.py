"""Robots that are converted to other formats: the built-in robots, random robots, and one robot for
each unusual feature.
"""

from __future__ import annotations

from collections.abc import Callable

import symgen
from symgen.description.writers import Written, writers
from symgen.mechanism.mechanism import Mechanism
from tests.shared.robots_for_tests import ONE_DEGREE, OPEN, random_mechanism

HEAD = 'name = "odd"\ngravity = [0.5, -1, -9.81]\n'


SOLID = "mass = 1\ncentre = [0.1, 0.02, 0]\ninertia = [0.02, 0.001, 0, 0.03, 0, 0.04]"


def body(name: str, parent: str, joint: str, more: str = SOLID) -> str:
    return f'[[body]]\nname = "{name}"\nparent = "{parent}"\njoint = {{ {joint} }}\n{more}\n'


TURNED = (
    'steps = [{ shift = [0.1, 0.2, "1/3"] }, { quaternion = ["0.3", -0.4, 0.5, 0.1] }, { turn ='
    ' "0.7", axis = [1, 2, 3] }, { slide = 0.2, axis = [1, 1, 0] }'
)
SLANTED = f"{TURNED}]"
HINGE = (
    'type = "revolute", axis = [0.3, -1, 2], limits = { lower = -1, upper = 2, velocity = 3, effort'
    " = 5 }"
)
SLIDE = 'type = "prismatic", axis = [0, 1, 0]'
_PARTS = """\
[[body.part]]
link = "{}"
mass = {}
steps = [{{ shift = [0.1, {}, 0] }}, {{ turn = "{}", axis = [0, 1, 1] }}]
inertia = [0.02, 0.001, 0, 0.03, 0.002, 0.04]
"""
_FRAMES = """\
[[frame]]
name = "b"
body = "a"
xyz = [0.3, 0, 0]
rpy = [0.1, -1.2, 3]
[[frame]]
name = "eye & <hand>"
body = "floor"
rpy = [0, 0.3, 0]
"""
_FLOOR = '[base]\nname = "floor"\nmass = 4\ncentre = [0, 0, 1]\ninertia = [1, 0, 0, 1, 0, 1]\n'
_QUARTERS = ((1, 1, 1), (2, -1, 3), (0, 1, -1), (2, 0, 0), (0, 0, 2), (3, 1, 2))
_OF_TWO = "".join(
    _PARTS.format(link, mass, mass, turn)
    for link, mass, turn in (("a", 1, "0.4"), ("b", 2, "pi/2"), ("b", 3, "pi/3"))
)
_FOLLOWS = 'mimic = { joint = "a_joint", multiplier = -0.3, offset = 0.05 }'
_STEEP = (
    '{ turn = 0.3, axis = [0, 0, 2] }, { turn = "pi/2", axis = [0, 1, 0] }, { turn = 0.2, axis ='
    " [3, 0, 0] }"
)
ODD = {
    name: HEAD + "".join(parts)
    for name, parts in {
        "quaternions": (
            body("a", "base", f"{HINGE}, {SLANTED}"),
            body("b", "a", f"{SLIDE}, {SLANTED}"),
            body("c", "b", f'type = "fixed", {SLANTED}'),
            body("d", "c", f'type = "continuous", axis = [0, 0, 1], {SLANTED}'),
        ),
        "several": (
            body("a", "base", 'type = "planar", xyz = [1, 2, 3], rpy = [0.1, 0.2, 0.3]'),
            body(
                "b",
                "a",
                f'type = "cylindrical", axis = [1, 0, 0], {SLANTED}, damping = 2, armature = 0.1',
            ),
            body("c", "b", f'type = "free", {SLANTED}'),
        ),
        "ball": (body("a", "base", f'type = "spherical", {SLANTED}'), body("b", "a", HINGE)),
        "drives": (
            "friction_speed = 0.02\n",
            body(
                "a",
                "base",
                f"{HINGE}, damping = 0.4, friction = 0.7, stiffness = 3, rest = 0.2, "
                'unapplied = { "gear ratio" = 9 }',
            ),
            body("b", "a", f"{SLIDE}, xyz = [0.3, 0, 0], rotor_inertia = 0.002, gear_ratio = 11"),
        ),
        "mixed": (
            body("a", "base", f"{HINGE}, damping = 0.3"),
            body("b", "a", f"{SLIDE}, {SLANTED}, unapplied = {{ damping = 0.1 }}"),
            body("c", "b", f"{HINGE}, unapplied = {{ friction = 0.2, armature = 3 }}"),
        ),
        "gravity_compensation": (
            body("a", "base", HINGE, f"{SOLID}\ngravcomp = 0.7"),
            body("b", "a", f"{SLIDE}, {SLANTED}"),
            body("w", "b", f'type = "fixed", {SLANTED}', f'{SOLID}\ngravcomp = "1/3"'),
            body("c", "w", HINGE, f"{SOLID}\ngravcomp = -2"),
            body("d", "base", 'type = "free"', f"{SOLID}\ngravcomp = 1"),
        ),
        "partial_compensation": (
            _FLOOR.replace("mass", "gravcomp = 1\nmass"),
            body(
                "a",
                "floor",
                HINGE,
                _PARTS.format("a", 1, 1, "0.4")
                + "gravcomp = 2\n"
                + _PARTS.format("a", 2, 2, "0.1")
                + _PARTS.format("b", 3, 1, "pi/3")
                + "gravcomp = 1\n"
                + _PARTS.format("b", 2, 2, "0.1")
                + "gravcomp = 1\n",
            ),
        ),
        "flying": (
            body("a", "base", 'type = "free", armature = 0.2, damping = 0.3'),
            body("b", "a", f"{HINGE}, {SLANTED}"),
        ),
        "coupled": (
            'mimic = "couple"\n',
            body("a", "base", HINGE),
            body("b", "a", f"{SLIDE}, xyz = [0, 0.3, 0], {_FOLLOWS}"),
            body("c", "base", HINGE),
        ),
        "right_angles": [
            body(
                f"l{i}",
                f"l{i - 1}" if i else "base",
                f'{HINGE}, xyz = [0.1, 0, 0.2], rpy = ["{r}*pi/2", "{p}*pi/2", "{y}*pi/2"]',
            )
            for i, (r, p, y) in enumerate(_QUARTERS)
        ],
        "parts": (_FLOOR, body("a", "floor", HINGE, _OF_TWO), _FRAMES),
        "massless": (
            body("a", "base", f"{HINGE}, {SLANTED}", ""),
            body("b", "a", f"{SLIDE}, {SLANTED}, armature = 0.2", ""),
            body("c", "b", f"{HINGE}, {SLANTED}"),
            body("d", "c", f'type = "universal", axes = [[1, 0, 0], [0, 1, 1]], {SLANTED}'),
            body("e", "c", 'type = "prismatic", axis = [1, 0, 0]', ""),
            body("f", "e", f"{HINGE}, {SLANTED}"),
            '[[frame]]\nname = "lost"\nbody = "e"\n',
        ),
        "light": (
            _FLOOR.replace("[1, 0, 0, 1, 0, 1]", "[1, 0, 0, 1, 0, 5]"),
            body("a", "floor", HINGE, ""),
            body("b", "a", f'type = "spherical", {SLANTED}'),
            body("c", "b", HINGE, ""),
            body("d", "c", HINGE, "mass = 1"),
            body("e", "a", HINGE),
        ),
        "steep": (
            body("a", "base", f'{HINGE}, rpy = [0.4, "pi/2", 0.3]'),
            body("c", "a", f"{HINGE}, steps = [{_STEEP}]"),
            body(
                "b",
                "a",
                f'{HINGE}, {TURNED}, {{ turn = "pi/2", axis = [0, 1, 0] }}, '
                f"{{ turn = 0.2, axis = [1, 0, 0] }}]",
            ),
        ),
    }.items()
}
"""Robots of one oddity each, in TOML."""
RANDOM = {
    **{
        f"chain{seed}": random_mechanism(4, seed, joints=("revolute", "continuous", "prismatic"))
        for seed in range(3)
    },
    **{
        f"tree{seed}": random_mechanism(
            6, seed, "tree", ("revolute", "prismatic", "planar", "free")
        )
        for seed in range(3)
    },
    "all": random_mechanism(5, 7, "tree", ONE_DEGREE, general=False),
}
FREE = {"free panda": lambda: symgen.load("panda", base="free", lock={"panda_joint3": "0.3"})}
ROBOTS: dict[str, Callable[[], Mechanism]] = {
    **{name: (lambda name=name: symgen.load(name)) for name in OPEN},
    **{name: (lambda text=text: symgen.load(text)) for name, text in ODD.items()},
    **{name: (lambda made=made: made) for name, made in RANDOM.items()},
    **FREE,
}


REFUSED = {"urdf": ("spherical_pendulum", "ball", "light", "all"), "mjcf": ("all",), "toml": ()}
"""Robots with a joint that the format has no word for."""


def sayable(format_: str) -> list[str]:
    """The robots that a format has words for."""
    return [name for name in ROBOTS if name not in REFUSED[format_]]


def written(name: str, format_: str) -> tuple[Mechanism, Written]:
    """A robot of ROBOTS and its text."""
    robot = ROBOTS[name]()
    written_robot: Written = writers()[format_].write(robot)
    return robot, written_robot
