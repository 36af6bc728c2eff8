"""Texts of SDF for tests, one a feature, each with the same robot in TOML and an edit that makes it
another robot.
"""

from __future__ import annotations

from typing import Any

INERTIAL = (
    "<inertial><pose>0.1 0.02 0.03 0.1 0.2 0.3</pose><mass>2</mass><inertia>"
    "<ixx>0.1</ixx><ixy>0.01</ixy><ixz>0.02</ixz>"
    "<iyy>0.2</iyy><iyz>0.03</iyz><izz>0.25</izz></inertia></inertial>"
)


def link(name: str, inside: str = "", inertial: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}{inertial}</link>'


def joint(
    name: str,
    parent: str,
    child: str,
    inside: str = "<axis><xyz>0 0 1</xyz></axis>",
    kind: str = "revolute",
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent>'
        f"<child>{child}</child>{inside}</joint>"
    )


def model(*elements: str, version: str = "1.7", name: str = "r") -> str:
    """An SDF with one element a line, the first on line 2."""
    return (
        f'<sdf version="{version}"><model name="{name}">\n'
        + "\n".join(elements)
        + "\n</model></sdf>\n"
    )


def world(
    *elements: str, version: str = "1.7", gravity: str = "<gravity>0 0 -9.81</gravity>"
) -> str:
    return (
        f'<sdf version="{version}"><world name="w">{gravity}\n'
        + "\n".join(elements)
        + "\n</world></sdf>\n"
    )


def model_text(text: str) -> str:
    """The model of a file of one."""
    return text[text.index("<model") : text.rindex("</sdf>")]


# -- the same robot in TOML, whose steps are written out by hand -----------------------------------


def way(numbers: str) -> list[tuple[str, list[float]]]:
    """A pose of six numbers as SDF means it: shift, then turn about z, y and x."""
    x, y, z, roll, pitch, yaw = map(float, numbers.split())
    return [("shift", [x, y, z]), ("z", [yaw]), ("y", [pitch]), ("x", [roll])]


def turns(numbers: str) -> list[tuple[str, list[float]]]:
    return way(numbers)[1:]


def back(steps: list[tuple[str, list[float]]]) -> list[tuple[str, list[float]]]:
    return [(kind, [-x for x in values]) for kind, values in reversed(steps)]


def written(steps: list[tuple[str, list[float]]]) -> str:
    axes = {"x": "[1, 0, 0]", "y": "[0, 1, 0]", "z": "[0, 0, 1]"}
    texts = [
        f"{{ shift = {values} }}"
        if kind == "shift"
        else f"{{ turn = {values[0]!r}, axis = {axes[kind]} }}"
        for kind, values in steps
    ]
    return f"[{', '.join(texts)}]"


CENTRE = way("0.1 0.02 0.03 0.1 0.2 0.3")


def body(
    name: str,
    parent: str,
    steps: list[tuple[str, list[float]]],
    own_elements: list[tuple[str, list[float]]] | None = None,
    joint: str = 'name = "j", type = "revolute", axis = [0, 0, 1]',
) -> str:
    """A body of `INERTIAL`. `own`: from the frame of its joint to that of its link."""
    own_elements = own_elements or []
    return (
        f'[[body]]\nname = "{name}"\nparent = "{parent}"\nframe = {written(own_elements)}\n'
        f"joint = {{ {joint}, steps = {written(steps)} }}\n"
        "[[body.part]]\nmass = 2\ninertia = [0.1, 0.01, 0.02, 0.2, 0.03, 0.25]\n"
        f"steps = {written(own_elements + CENTRE)}\n"
    )


def toml(*bodies: str, base: str = "a", top: str = "") -> str:
    return f'name = "r"\n{top}\n[base]\nname = "{base}"\n' + "".join(bodies)


AT, SEAT = "1 2 3 0.4 0.5 0.6", "0.1 0.2 0.3 0.3 -0.2 0.1"
A, POSED = link("a"), f"<pose>{AT}</pose>"
B, J = link("b", POSED), joint("j", "a", "b")
SEATED = joint("j", "a", "b", f"<pose>{SEAT}</pose><axis><xyz>0 0 1</xyz></axis>")
UPRIGHT = toml(body("b", "a", way(AT)[:1], turns(AT)))
"""The joint at the origin of b, its axis the model's z."""
PLAIN = toml(body("b", "a", way(AT)))
IN_MODEL = '<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>'
OLD = "<axis><xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
FRAME = f'<frame name="f" attached_to="a"><pose>{SEAT}</pose></frame>'
CROSS = (
    "<axis><xyz>1 0 0</xyz></axis>"
    "<axis2><xyz>0 1 0</xyz><dynamics><damping>3</damping></dynamics></axis2>"
)
UNIVERSAL = toml(
    body("b", "a", way(AT), joint='name = "j", type = "universal", axes = [[1, 0, 0], [0, 1, 0]]')
)
PI = "3.14159265358979323846264338327950288419716939937510582097494"
THREE = [A, B, link("c", "<pose>0.5 0 0 0 0 0</pose>"), J, joint("k", "a", "c")]
SECOND = body(
    "c",
    "a",
    way("0.5 0 0 0 0 0"),
    joint='name = "k", type = "revolute", axis = [0, 0, 1], '
    'mimic = { joint = "j", multiplier = -2, offset = 0.25 }',
)
DRIVEN = (
    "<axis><xyz>0 0 1</xyz><dynamics><damping>3</damping><friction>2</friction>"
    "<spring_stiffness>5</spring_stiffness>"
    "<spring_reference>0.1</spring_reference></dynamics></axis>"
)
GEAR = joint(
    "g",
    "b",
    "c",
    "<gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    "<axis><xyz>0 0 -1</xyz></axis><axis2><xyz>0 0 -1</xyz></axis2>",
    "gearbox",
)
INNER = model_text(model(link("b", "<pose>0.1 0 0 0.3 0 0</pose>"), name="m")).replace(
    'name="m">', f'name="m"><pose>{AT}</pose>', 1
)
LYING = model(A, B, J).replace('name="r">', 'name="r"><pose>7 8 9 0.3 0.2 0.1</pose>', 1)

# feature -> (SDF, the same robot in TOML, an edit of the SDF, options of both)
FEATURES: dict[str, tuple[str, str, tuple[str, str], dict[str, Any]]] = {
    "a link in its model": (model(A, B, J), PLAIN, ("1 2 3", "1 2 4"), {}),
    "a joint in its child": (
        model(A, B, SEATED),
        toml(body("b", "a", way(AT) + way(SEAT), back(way(SEAT)))),
        ("-0.2", "0.2"),
        {},
    ),
    "a joint in its child, of 1.4": (
        model(A, B, SEATED, version="1.4"),
        toml(
            body(
                "b",
                "a",
                [*way(AT), *way(SEAT)[:1], *back(turns(AT))],
                [*turns(AT), *back(way(SEAT)[:1])],
            )
        ),
        ("1.4", "1.5"),
        {},
    ),
    "an axis of 1.4": (model(A, B, J, version="1.4"), UPRIGHT, ('"1.4"', '"1.6"'), {}),
    "a silent axis of 1.4": (
        model(A, B, joint("j", "a", "b", ""), version="1.4"),
        UPRIGHT,
        ('"1.4"', '"1.5"'),
        {},
    ),
    "an axis of 1.5": (model(A, B, J, version="1.5"), PLAIN, ('"1.5"', '"1.4"'), {}),
    "an axis in the parent model": (
        model(A, B, joint("j", "a", "b", OLD), version="1.6"),
        UPRIGHT,
        (">1</use", ">0</use"),
        {},
    ),
    "an axis expressed in the model": (
        model(A, B, joint("j", "a", "b", IN_MODEL)),
        UPRIGHT,
        (' expressed_in="__model__"', ""),
        {},
    ),
    "an axis expressed in a frame": (
        model(A, B, FRAME, joint("j", "a", "b", IN_MODEL.replace("__model__", "f"))),
        toml(body("b", "a", [*way(AT)[:1], *turns(SEAT)], [*back(turns(SEAT)), *turns(AT)])),
        ('expressed_in="f"', ""),
        {},
    ),
    "a link in its joint": (
        model(
            A,
            link("b", f'<pose relative_to="j">{SEAT}</pose>'),
            joint("j", "a", "b", f'<pose relative_to="a">{AT}</pose><axis><xyz>0 0 1</xyz></axis>'),
        ),
        toml(body("b", "a", way(AT), way(SEAT))),
        (' relative_to="a"', ""),
        {},
    ),
    "a link in a frame": (
        model(A, FRAME, link("b", f'<pose relative_to="f">{AT}</pose>'), J),
        toml(body("b", "a", way(SEAT) + way(AT))),
        (' relative_to="f"', ""),
        {},
    ),
    "a frame of 1.6": (
        model(A, FRAME, link("b", f'<pose frame="f">{AT}</pose>'), J, version="1.6"),
        toml(body("b", "a", way(SEAT) + way(AT))),
        (' frame="f"', ""),
        {},
    ),
    "a frame in a frame": (
        model(
            A,
            B,
            J,
            f'<frame name="f" attached_to="b"><pose>{SEAT}</pose></frame>',
            '<frame name="g"><pose relative_to="f">0 0 1 0 0 0</pose></frame>',
        ),
        PLAIN + f'[[frame]]\nname = "f"\nbody = "b"\nsteps = {written(way(SEAT))}\n'
        '[[frame]]\nname = "g"\nbody = "a"\n'
        f"steps = {written(way(AT) + way(SEAT) + way('0 0 1 0 0 0'))}\n",
        (' attached_to="b"', ""),
        {},
    ),
    "a joint on a frame": (
        model(A, B, FRAME, '<frame name="h" attached_to="b"/>', joint("j", "f", "h")),
        PLAIN,
        ('attached_to="b"/>', 'attached_to="b"><pose>1 0 0 0 0 0</pose></frame>'),
        {},
    ),
    "a canonical link": (
        model(
            link("z"),
            A,
            B,
            joint("w", "a", "z", "", "fixed"),
            '<frame name="h"/>',
            joint("j", "h", "b"),
        ).replace('name="r"', 'name="r" canonical_link="a"'),
        PLAIN,
        (' canonical_link="a"', ' canonical_link="b"'),
        {},
    ),
    "a model in a model": (
        model(A, INNER, joint("j", "a", "m::b")),
        toml(body("m::b", "a", way(AT) + way("0.1 0 0 0.3 0 0"))),
        ("<pose>0.1 0 0 0.3", "<pose>0.1 0 0 0.2"),
        {},
    ),
    "a model placed by a frame": (
        model(
            A, INNER.replace('name="m"', 'name="m" placement_frame="b"'), joint("j", "a", "m::b")
        ),
        toml(body("m::b", "a", way(AT))),
        (' placement_frame="b"', ""),
        {},
    ),
    "degrees": (
        model(A, link("b", '<pose degrees="true">1 2 3 90 0 45</pose>'), J),
        toml(body("b", "a", [])).replace(
            "steps = [] }",
            "steps = [{ shift = [1, 2, 3] }, { turn = 'pi/4', axis = [0, 0, 1] }, "
            "{ turn = 'pi/2', axis = [1, 0, 0] }] }",
        ),
        (' degrees="true"', ""),
        {},
    ),
    "a quaternion": (
        model(A, link("b", '<pose rotation_format="quat_xyzw">1 2 3 0.1 0.7 0.1 0.7</pose>'), J),
        toml(body("b", "a", [])).replace(
            "steps = [] }",
            "steps = [{ shift = [1, 2, 3] }, { quaternion = [0.7, 0.1, 0.7, 0.1] }] }",
        ),
        ("0.1 0.7<", "0.7 0.1<"),
        {},
    ),
    "a quaternion and the model's axis": (
        model(
            A,
            link("b", '<pose rotation_format="quat_xyzw">1 2 3 0.1 0.7 0.1 0.7</pose>'),
            joint("j", "a", "b", IN_MODEL),
        ),
        toml(body("b", "a", way(AT)[:1]))
        .replace("frame = []", "frame = [{ quaternion = [0.7, 0.1, 0.7, 0.1] }]")
        .replace(
            f"0.25]\nsteps = {written(CENTRE)[:1]}",
            "0.25]\nsteps = [{ quaternion = [0.7, 0.1, 0.7, 0.1] }, ",
        ),
        (' expressed_in="__model__"', ""),
        {},
    ),
    "a slide": (
        model(A, B, joint("j", "a", "b", kind="prismatic")),
        PLAIN.replace("revolute", "prismatic"),
        ("0 0 1<", "0 1 0<"),
        {},
    ),
    "a screw by its lead": (
        model(
            A,
            B,
            joint(
                "j",
                "a",
                "b",
                f"<screw_thread_pitch>{PI}</screw_thread_pitch><axis><xyz>0 0 1</xyz></axis>",
                "screw",
            ),
        ),
        PLAIN.replace('"revolute"', '"helical", pitch = 0.5'),
        (">3.1", ">-3.1"),
        {},
    ),
    "a screw by turns a metre": (
        model(
            A,
            B,
            joint(
                "j",
                "a",
                "b",
                "<thread_pitch>-2</thread_pitch><axis><xyz>0 0 1</xyz></axis>",
                "screw",
            ),
        ),
        PLAIN.replace('"revolute"', '"helical", pitch = 0.5'),
        (">-2<", ">2<"),
        {},
    ),
    "a ball": (
        model(A, B, joint("j", "a", "b", "", "ball")),
        PLAIN.replace('"revolute", axis = [0, 0, 1]', '"spherical"'),
        ("0.5 0.6", "0.5 0.7"),
        {},
    ),
    "a universal joint": (
        model(A, B, joint("j", "a", "b", CROSS, "universal")),
        UNIVERSAL,
        ("1 0 0<", "1 0 1<"),
        {"drives": "off"},
    ),
    "two hinges in a row": (
        model(A, B, joint("j", "a", "b", CROSS, "revolute2")),
        UNIVERSAL,
        ("0 1 0<", "0 1 1<"),
        {"drives": "off"},
    ),
    "one that mimics": (
        model(
            *THREE[:-1],
            joint(
                "k",
                "a",
                "c",
                '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>-2</multiplier><offset>0.45'
                "</offset><reference>0.1</reference></mimic></axis>",
            ),
            version="1.11",
        ),
        toml(body("b", "a", way(AT)), SECOND).replace("0.25 }", "0.65 }"),
        ("<reference>0.1", "<reference>-0.1"),
        {"mimic": "couple"},
    ),
    "a gearbox": (
        model(*THREE, GEAR).replace(POSED, "<pose>1 2 3 0 0 0</pose>"),
        toml(body("b", "a", way("1 2 3 0 0 0")), SECOND).replace("offset = 0.25", "offset = 0"),
        ("0 0 -1</xyz></axis2", "0 0 1</xyz></axis2"),
        {"mimic": "couple"},
    ),
    "a gearbox in axes of its own": (
        model(
            *THREE,
            GEAR.replace(
                "<xyz>0 0 -1</xyz></axis>", '<xyz expressed_in="b">0 0 -1</xyz></axis>', 1
            ),
        ),
        toml(body("b", "a", way(AT)), SECOND).replace("offset = 0.25", "offset = 0"),
        ('expressed_in="b">0 0 -1', 'expressed_in="b">0 0 1'),
        {"mimic": "couple"},
    ),
    "a gearbox on a child": (
        model(A, *THREE[1:3], joint("j", "b", "a"), THREE[4], GEAR).replace(
            POSED, "<pose>1 2 3 0 0 0</pose>"
        ),
        toml(body("a", "b", way("-1 -2 -3 0 0 0")), SECOND, base="b").replace(
            "-2, offset = 0.25", "2, offset = 0"
        ),
        ("ratio>2", "ratio>-2"),
        {"mimic": "couple"},
    ),
    "one that mimics a second axis": (
        model(
            *THREE[:3],
            joint("j", "a", "b", CROSS, "universal"),
            joint("k", "a", "c", '<axis><xyz>0 0 1</xyz><mimic joint="j" axis="axis2"/></axis>'),
        ),
        UNIVERSAL + SECOND.replace('"j", multiplier = -2, offset = 0.25', '"j_2"'),
        ('axis="axis2"', 'axis="axis"'),
        {"mimic": "couple", "drives": "off"},
    ),
    "a drive": (
        model(A, B, joint("j", "a", "b", DRIVEN)),
        PLAIN.replace(
            "[0, 0, 1], steps",
            "[0, 0, 1], damping = 3, friction = 2, stiffness = 5, rest = 0.1, steps",
        ),
        ("<damping>3", "<damping>2"),
        {},
    ),
    "a link without inertia": (
        model(A, link("b", POSED, ""), J),
        PLAIN.replace(
            f"mass = 2\ninertia = [0.1, 0.01, 0.02, 0.2, 0.03, 0.25]\nsteps = {written(CENTRE)}",
            "mass = 1\ninertia = [1, 0, 0, 1, 0, 1]\nsteps = []",
        ),
        ("</pose></link>", "</pose><inertial><inertia><izz>2</izz></inertia></inertial></link>"),
        {},
    ),
    "a model that lies": (
        world(model_text(LYING)),
        toml(body("b", "z", turns("0 0 0 0.3 0.2 0.1") + way(AT)), base="z"),
        ("0.3 0.2 0.1", "0.3 0.2 0"),
        {},
    ),
    "the world": (
        world(
            model_text(LYING).replace(
                "</model>", joint("w", "world", "a", "", "fixed") + "</model>"
            )
        ),
        toml(body("b", "world", way("7 8 9 0.3 0.2 0.1") + way(AT)), base="world"),
        ("7 8 9", "7 8 8"),
        {},
    ),
    "a joint of the world": (
        world(model_text(LYING), joint("w", "world", "r::a", "", "fixed")),
        toml(body("b", "world", way("7 8 9 0.3 0.2 0.1") + way(AT)), base="world"),
        ("7 8 9", "7 8 8"),
        {},
    ),
    "gravity of the world": (
        world(model_text(model(A, B, J)), gravity="<gravity>1 2 3</gravity>"),
        PLAIN.replace('name = "r"', 'name = "r"\ngravity = [1, 2, 3]', 1),
        ("1 2 3</gravity", "1 2 4</gravity"),
        {},
    ),
    "gravity of 1.4": (
        world(
            model_text(model(A, B, joint("j", "a", "b", OLD))),
            version="1.4",
            gravity='<physics type="ode"><gravity>1 2 3</gravity></physics>',
        ),
        UPRIGHT.replace('name = "r"', 'name = "r"\ngravity = [1, 2, 3]', 1),
        ("1 2 3</gravity", "1 3 3</gravity"),
        {},
    ),
    "no gravity": (
        model(
            *(link.replace("<inertial>", "<gravity>0</gravity><inertial>") for link in (A, B)), J
        ),
        PLAIN.replace('name = "r"', 'name = "r"\ngravity = [0, 0, 0]', 1),
        ("2</mass", "3</mass"),
        {},
    ),
}
