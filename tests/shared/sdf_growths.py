"""SDF that grows: one kind of growth each, for the budgets of its reader."""

from __future__ import annotations

from collections.abc import Callable

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
ALONG_Z = "<axis><xyz>0 0 1</xyz></axis>"


def chain(
    n: int,
    kind: str = "revolute",
    axis: str = ALONG_Z,
    star: bool = False,
    inertial: str = MASS,
    pose: str = "",
    seat: str = "",
    version: str = "1.7",
) -> str:
    """`n` links behind a first one. `pose` and `seat`: attributes of poses of links and joints."""
    text = f'<sdf version="{version}"><model name="r">\n<link name="l0">{MASS}</link>\n'
    for i in range(n):
        below = 0 if star else i
        text += (
            f'<link name="l{i + 1}"><pose{pose.format(i=i)}>'
            f"0.1 0.2 0.3 0.3 0.1 0.2</pose>{inertial}</link>\n"
            f'<joint name="j{i}" type="{kind}">'
            f"<pose{seat.format(below=below)}>0.1 0 0 0 0 0</pose><parent>l{below}</parent>"
            f"<child>l{i + 1}</child>{'' if kind == 'fixed' else axis}</joint>\n"
        )
    return text + "</model></sdf>"


def inside(many: str) -> str:
    """Return the text inside a model of two joints."""
    return chain(2).replace("</model>", f"{many}</model>")


def world(many: str) -> str:
    return f'<sdf version="1.7"><world name="w">{many}</world></sdf>'


SDF: dict[str, Callable[[int], str]] = {
    "links in a chain": chain,
    "links in a star": lambda n: chain(n, star=True),
    "links in their joints": lambda n: chain(
        n, pose=' relative_to="j{i}"', seat=' relative_to="l{below}"'
    ),
    "fixed links in a star": lambda n: chain(n, "fixed", star=True),
    "axes in the model": lambda n: chain(
        n, axis='<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>'
    ),
    "universal joints": lambda n: chain(
        n, "universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    ),
    "loops": lambda n: inside(
        "".join(
            f'<joint name="x{i}" type="revolute"><pose>1 0 {i} 0 0 0</pose><parent>l0</parent>'
            f"<child>l2</child>{ALONG_Z}</joint>"
            for i in range(n)
        )
    ),
    "loops that mimic": lambda n: inside(
        "".join(
            f'<joint name="x{i}" type="revolute"><parent>l0</parent><child>l2</child>'
            "<axis><xyz>1 2 3</xyz><limit><lower>0</lower>"
            f'</limit><mimic joint="j0"/></axis></joint>'
            for i in range(n)
        )
    ),
    "links without inertia": lambda n: chain(n, inertial=""),
    "joints that follow one": lambda n: chain(
        n, axis='<axis><xyz>0 0 1</xyz><mimic joint="j0"/></axis>', version="1.11"
    ),
    "frames in a row": lambda n: inside(
        "".join(
            f'<frame name="f{i + 1}"><pose relative_to="f{i}">0 0 1 0 0 0</pose></frame>'
            for i in range(n)
        )
        + '<frame name="f0"/>'
    ),
    "frames on each other": lambda n: inside(
        "".join(f'<frame name="f{i + 1}" attached_to="f{i}"/>' for i in range(n))
        + '<frame name="f0" attached_to="l0"/>'
    ),
    "frames in a ring": lambda n: inside(
        "".join(f'<frame name="f{i}" attached_to="f{(i + 1) % n}"/>' for i in range(n))
    ),
    "models in a model": lambda n: inside(
        "".join(
            f'<model name="m{i}"><link name="a"/></model>'
            f'<joint name="k{i}" type="fixed"><parent>l0</parent><child>m{i}::a</child>'
            "</joint>"
            for i in range(n)
        )
    ),
    "models inside each other": lambda n: inside(
        "".join(f'<model name="m{i}"><link name="a"/>' for i in range(n)) + "</model>" * n
    ),
    "gearboxes": lambda n: inside(
        "".join(
            f'<joint name="g{i}" type="gearbox"><parent>l0</parent><child>l1</child>'
            "<gearbox_reference_body>l0</gearbox_reference_body></joint>"
            for i in range(n)
        )
    ),
    "models in a world": lambda n: world("".join(f'<model name="m{i}"/>' for i in range(n))),
    "models of one name": lambda n: world('<model name="m"/>' * n),
    "models with joints": lambda n: world(
        inside("")[len('<sdf version="1.7">') : -len("</sdf>")] * n
    ),
    "joints of the world": lambda n: world(
        inside("")[len('<sdf version="1.7">') : -len("</sdf>")]
        + "".join(
            f'<joint name="w{i}" type="fixed"><parent>world</parent><child>r::l0</child></joint>'
            for i in range(n)
        )
    ),
    "includes that are not there": lambda n: world("<include><uri>x</uri></include>" * n),
    "names of no frame": lambda n: inside(
        "".join(
            f'<joint name="k{i}" type="fixed"><parent>l0</parent><child>x</child></joint>'
            for i in range(n)
        )
    ),
    "a long name of a frame": lambda n: inside(f'<frame name="f" attached_to="{"a::" * n}"/>'),
    "visuals": lambda n: inside(f'<link name="v">{"<visual/>" * n}</link>'),
    "elements of other programs": lambda n: inside("<drake:joint/>" * n),
    "a pose said twice": lambda n: inside("<pose>0 0 0 0 0 0</pose>" * n),
    "a long pose": lambda n: inside(f"<pose>{'0 ' * n}</pose>"),
    "a long version": lambda n: f'<sdf version="{"1" * n}"/>',
}
