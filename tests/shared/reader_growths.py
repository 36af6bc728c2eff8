"""Descriptions that grow: one kind of growth each, of any length, for the readers' budgets."""

from __future__ import annotations

from collections.abc import Callable

from tests.shared.descriptions import INERTIAL, joint, link, robot
from tests.shared.sdf_growths import SDF

TURN = '<origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 0.2"/>'
TWO = (link("a"), link("b"), joint("j", "a", "b"))
BODY = (
    'name = "r"\n[[body]]\nname = "b"\nparent = "base"\nmass = 1\n'
    'joint = { name = "j", type = "revolute", axis = [0, 0, 1] }\n'
)
"""TOML of one body, whose table is open at the end."""
LOOP = (
    '[[loop]]\ntype = "weld"\nfirst = { link = "b" }\nsecond = { link = "base", xyz = [1, 0, 0] }\n'
)


def chain(
    n: int, kind: str = "revolute", inside: str = "", star: bool = False, inertial: str = INERTIAL
) -> str:
    """URDF: `n` links behind a base and a first moving one, one behind the other or all on the
    first.
    """
    names = ["world", "l0", *(f"l{i}" for i in range(1, n + 1))]
    links = [link(name, inertial) for name in names]
    joints = [joint("j0", "world", "l0")]
    joints += [
        joint(f"j{i}", "l0" if star else f"l{i - 1}", f"l{i}", kind, inside)
        for i in range(1, n + 1)
    ]
    return robot(*links, *joints)


def bodies(n: int, kind: str = "revolute", extra: str = "", star: bool = False) -> str:
    """TOML: the same."""
    text = BODY
    for i in range(n):
        parent = "b" if star or i == 0 else f"b{i - 1}"
        text += (
            f'[[body]]\nname = "b{i}"\nparent = "{parent}"\nmass = 1\n{extra}'
            f'joint = {{ name = "j{i}", type = "{kind}", '
            f"axis = [0, 0, 1], xyz = [0.1, 0.2, 0.3], rpy = [0.3, 0.1, 0] }}\n"
        )
    return text


def inside_robot(many: str) -> str:
    return robot(*TWO, many)


URDF: dict[str, Callable[[int], str]] = {
    "links in a chain": chain,
    "links in a chain, backwards": lambda n: robot(*chain(n).split("\n")[-3:0:-1]),
    "links in a star": lambda n: chain(n, star=True),
    "fixed links in a chain": lambda n: chain(n, "fixed", TURN),
    "fixed links in a star": lambda n: chain(n, "fixed", TURN, star=True),
    "massless links": lambda n: chain(n, inertial=""),
    "links that stand still": lambda n: chain(n).replace(
        '"j0" type="revolute"', '"j0" type="fixed"'
    ),
    "moments that no body has": lambda n: chain(n).replace('izz="1"', 'izz="9"'),
    "limits in words": lambda n: chain(
        n, inside='<limit lower="a" upper="b"/><mimic joint="j0"/><dynamics damping="1"/>'
    ),
    "snapped angles": lambda n: chain(n, inside='<origin rpy="1.5708 0 3.1416"/>'),
    "comments": lambda n: inside_robot("<!-- x -->" * n),
    "comments that never end": lambda n: inside_robot("<!-- x " * n),
    "instructions": lambda n: inside_robot("<?x y?>" * n),
    "instructions that never end": lambda n: inside_robot("<?x " * n),
    "sections": lambda n: inside_robot("<![CDATA[x]]>" * n),
    "blanks": lambda n: inside_robot(" \n\t" * n),
    "brackets": lambda n: inside_robot("<" * n),
    "question marks": lambda n: "<?xml " + "?" * n,
    "declarations": lambda n: " " * n + "<?xml " * n,
    "attributes": lambda n: inside_robot("<x " + " ".join(f'a{i}="1"' for i in range(n)) + "/>"),
    "attributes of one name": lambda n: inside_robot("<x " + 'a="1" ' * n + "/>"),
    "a long attribute": lambda n: inside_robot(f'<x a="{"y" * n}"/>'),
    "a long name": lambda n: inside_robot(link("n" * n)),
    "a long number": lambda n: inside_robot(link("c", INERTIAL.replace('"1"', f'"{"9" * n}"'))),
    "a long vector": lambda n: inside_robot(
        joint("k", "b", "b", inside=f'<axis xyz="{"1 " * n}"/>')
    ),
    "a long root": lambda n: f"<{'r' * n}/>",
    "a long type": lambda n: robot(link("a"), link("b"), joint("j", "a", "b", "t" * n)),
    "a long parent": lambda n: robot(link("a"), link("b"), joint("j", "a" * n, "b")),
    "unknown elements": lambda n: inside_robot("<x/>" * n),
    "unknown elements in a link": lambda n: robot(
        link("a"), link("b", INERTIAL + "<visual/>" * n), joint("j", "a", "b")
    ),
    "foreign prefixes": lambda n: inside_robot("<x:y/>" * n),
    "foreign prefixes of many names": lambda n: inside_robot(
        "".join(f"<x{i}:y/>" for i in range(n))
    ),
    "namespaces": lambda n: inside_robot(
        "<x " + " ".join(f'xmlns:a{i}="b{i}"' for i in range(n)) + "/>"
    ),
    "entities": lambda n: inside_robot("&lt;" * n),
    "unknown entities": lambda n: inside_robot("&x;" * n),
    "deep elements": lambda n: inside_robot("<x>" * n + "</x>" * n),
    "links of one name": lambda n: robot(*[link("a")] * n),
    "joints of one name": lambda n: robot(
        *chain(n).replace("j1", "j").split("\n")[1:-2], *[joint("j", "l0", "l1")] * n
    ),
    "roots": lambda n: robot(*(link(f"a{i}") for i in range(n))),
    "a ring": lambda n: chain(n).replace(
        '"j0" type="revolute"><parent link="world"', f'"j0" type="fixed"><parent link="l{n}"'
    ),
    "joints without links": lambda n: inside_robot(
        "".join(joint(f"k{i}", f"p{i}", f"c{i}") for i in range(n))
    ),
    "a child said twice": lambda n: robot(
        link("a"), link("b"), joint("j", "a", "b", inside='<child link="b"/>' * n)
    ),
    "a limit said twice": lambda n: robot(
        link("a"), link("b"), joint("j", "a", "b", inside='<limit lower="0"/>' * n)
    ),
    "transmissions": lambda n: inside_robot(
        "".join(
            f'<transmission name="t{i}"><joint name="j"/>'
            f"<mechanicalReduction>{i}</mechanicalReduction></transmission>"
            for i in range(n)
        )
    ),
    "ratios of one transmission": lambda n: inside_robot(
        '<transmission><joint name="j"/>'
        + "".join(f"<mechanicalReduction>{i}</mechanicalReduction>" for i in range(n))
        + "</transmission>"
    ),
    "joints of one transmission": lambda n: inside_robot(
        "<transmission>"
        + "".join(
            f'<joint name="k{i}"/><mechanicalReduction>{i}</mechanicalReduction>' for i in range(n)
        )
        + "</transmission>"
    ),
    "bytes that are no UTF-8": lambda n: inside_robot("é" * n),
}

TOML: dict[str, Callable[[int], str]] = {
    "bodies in a chain": bodies,
    "bodies in a star": lambda n: bodies(n, star=True),
    "fixed bodies in a chain": lambda n: bodies(n, "fixed"),
    "fixed bodies in a star": lambda n: bodies(n, "fixed", star=True),
    "universal joints": lambda n: bodies(n, "universal").replace(
        'universal", axis = [0, 0, 1]', 'universal", axes = [[1, 0, 0], [0, 1, 0]]'
    ),
    "thirds": lambda n: bodies(n, "fixed", "".join(["centre = ['1/3', '1/7', '1/11']\n"])),
    "rows": lambda n: 'convention = "dh"\n' + "[[row]]\na = 1\nalpha = 'pi/3'\nmass = 1\n" * n,
    "parts": lambda n: (
        BODY.replace("mass = 1\n", "") + "[[body.part]]\nmass = 1\nrpy = [0.1, 0.2, 0.3]\n" * n
    ),
    "frames in a row": lambda n: (
        BODY + "".join(f"[[frame]]\nname = 'f{i}'\nbody = 'b'\nxyz = [1, 2, 3]\n" for i in range(n))
    ),
    "loops": lambda n: BODY + LOOP * n,
    "loops of distances": lambda n: (
        BODY
        + "".join(
            LOOP.replace('weld"', f'distance"\nname = "l{i}"\ndistance = {i + 1}') for i in range(n)
        )
    ),
    "starts": lambda n: (
        "start = { "
        + ", ".join(f"j{i} = 'pi/{i + 3}'" for i in range(n))
        + " }\n"
        + bodies(n)
        + LOOP
    ),
    "a long start": lambda n: f"start = {{ j = [{'1, ' * n}] }}\n" + BODY + LOOP,
    "notes": lambda n: (
        BODY + "".join(f"[[note]]\nkind = 'info'\ntext = 'n{i}'\n" for i in range(n))
    ),
    "steps": lambda n: (
        BODY
        + "[[frame]]\nname = 'f'\nbody = 'b'\nsteps = ["
        + "{ turn = 0.1, axis = [1, 0, 0] }, { shift = [1, 2, 3] }, " * n
        + "]\n"
    ),
    "steps of many turns": lambda n: (
        BODY
        + "[[frame]]\nname = 'f'\nbody = 'b'\nsteps = ["
        + "".join(f"{{ turn = '{i}*pi/{2 * i + 1}', axis = [1, 0, 0] }}, " for i in range(1, n + 1))
        + "]\n"
    ),
    "unapplied": lambda n: BODY.replace(
        "1] }", "1], unapplied = { " + ", ".join(f"d{i} = 1" for i in range(n)) + " } }"
    ),
    "comments": lambda n: BODY + "# x\n" * n,
    "blanks": lambda n: BODY + " \t\n" * n,
    "blanks in a line": lambda n: BODY + " " * n,
    "tables": lambda n: BODY + "".join(f"[t{i}]\n" for i in range(n)),
    "tables of one name": lambda n: BODY + "[t]\n" * n,
    "arrays of tables": lambda n: BODY + "[[t]]\n" * n,
    "keys": lambda n: BODY + "".join(f"k{i} = 1\n" for i in range(n)),
    "keys of 60 parts": lambda n: BODY + "".join(f"k{i}{'.a' * 60} = 1\n" for i in range(n)),
    "keys of one table": lambda n: BODY + "".join(f"k.k{i} = 1\n" for i in range(n)),
    "tables within one": lambda n: BODY + "".join(f"[k.k{i}]\n" for i in range(n)),
    "a key of many parts": lambda n: "a" + ".a" * n + " = 1",
    "a key of many parts, with blanks": lambda n: "a" + " . a" * n + " = 1",
    "a long key": lambda n: "a" * n + " = 1",
    "long keys": lambda n: ("a" * 99 + "\n") * n,
    "an array": lambda n: BODY + "x = [" + "1, " * n + "]\n",
    "nested arrays": lambda n: BODY + "x = " + "[" * n + "]" * n,
    "nested tables": lambda n: BODY + "x = " + "{ a = " * n + "1" + "}" * n,
    "an inline table": lambda n: (
        BODY + "x = { " + ", ".join(f"a{i} = 1" for i in range(n)) + " }\n"
    ),
    "inline tables": lambda n: BODY + "x = [" + "{ a = 1 }, " * n + "]\n",
    "a long text": lambda n: BODY + f"source = '{'x' * n}'\n",
    "a text of escapes": lambda n: BODY + 'x = "' + "\\u0041" * n + '"\n',
    "a text of many lines": lambda n: BODY + 'x = """' + "x\n" * n + '"""\n',
    "a text that never ends": lambda n: BODY + 'x = """' + 'x"\n' * n,
    "quotation marks": lambda n: BODY + '"' * n,
    "quotation marks and dots": lambda n: BODY + '"".' * n,
    "a long whole number": lambda n: BODY.replace("mass = 1", "mass = " + "9" * n),
    "a long decimal": lambda n: BODY.replace("mass = 1", "mass = 0." + "9" * n),
    "a long number in quotes": lambda n: BODY.replace("mass = 1", f"mass = '{'9' * n}'"),
    "long numbers": lambda n: (
        BODY
        + "centre = ["
        + ", ".join([f"'0.{'9' * 1400}'"] * 3)
        + "]\n"
        + "".join(
            f"[[frame]]\nname = 'f{i}'\nbody = 'b'\nxyz = [0.{'7' * 1400}, 0, 0]\n"
            for i in range(n // 10)
        )
    ),
    "a long angle": lambda n: BODY.replace("axis =", f"rpy = ['{'1+' * n}1', 0, 0], axis ="),
    "a long angle of blanks": lambda n: BODY.replace(
        "axis =", f"rpy = ['pi/2{' ' * n}x', 0, 0], axis ="
    ),
    "dates": lambda n: BODY + "x = [" + "1979-05-27T07:32:00Z, " * n + "]\n",
    "underscores": lambda n: BODY + "x = 1" + "_1" * n + "\n",
    "bare dots": lambda n: BODY + "." * n,
    "equal signs": lambda n: BODY + "=" * n,
    "carriage returns": lambda n: BODY + "\r\n" * n,
}
ROD = '<joint/><geom type="capsule" size="0.05" fromto="0 0 0 0.1 0.2 0.3"/>'
"""MJCF elements of a body that moves and has mass."""


def worldbody(bodies: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{bodies}</worldbody>{after}</mujoco>"


def nested(n: int, inside: str = ROD, attributes: str = "") -> str:
    """MJCF: `n` bodies within each other."""
    return worldbody(f'<body pos="0 0 1" {attributes}>{inside}' * n + "</body>" * n)


def in_one(many: str, before: str = "", after: str = "") -> str:
    return worldbody(f"<body>{ROD}{many}</body>", before, after)


MJCF: dict[str, Callable[[int], str]] = {
    "bodies within each other": nested,
    "bodies beside each other": lambda n: worldbody(f"<body>{ROD}</body>" * n),
    "welded bodies": lambda n: in_one('<body pos="1 0 0" euler="1 2 3"/>' * n),
    "welded bodies within each other": lambda n: in_one(
        '<body pos="1 0 0" euler="1 2 3">' * n + "</body>" * n
    ),
    "bodies that stand still": lambda n: worldbody(
        f"<body>{ROD}</body>" + '<body><geom type="mesh" mesh="x"/></body>' * n
    ),
    "joints of one body": lambda n: in_one('<joint pos="1 2 3" axis="1 2 3" ref="30"/>' * n),
    "geoms of one body": lambda n: in_one('<geom size="0.1"/>' * n),
    "geoms that are bounded": lambda n: in_one(
        '<geom size="0.1" pos="1 0 0"/>' * n, '<compiler boundmass="9e9"/>'
    ),
    "frames within each other": lambda n: in_one(
        '<frame pos="1 0 0" quat="1 2 3 4">' * n + '<geom size="1"/>' + "</frame>" * n
    ),
    "frames beside each other": lambda n: in_one(
        '<frame pos="1 0 0" quat="1 2 3 4"><geom size="1"/></frame>' * n
    ),
    "names that are taken": lambda n: worldbody(
        f"<body>{ROD}</body>" + "".join(f'<body name="body{i}"/>' for i in range(n))
    ),
    "classes within each other": lambda n: in_one(
        "",
        '<default><geom size="1"/>'
        + "".join(f'<default class="c{i}"><joint damping="1"/>' for i in range(n))
        + "</default>" * n
        + "</default>",
    ),
    "classes beside each other": lambda n: in_one(
        "",
        '<default><geom size="1"/>'
        + "".join(f'<default class="c{i}"><joint damping="1"/></default>' for i in range(n))
        + "</default>",
    ),
    "elements of one class": lambda n: in_one(
        "", "<default>" + '<geom size="1"/>' * n + "</default>"
    ),
    "compilers": lambda n: in_one("", '<compiler angle="radian"/>' * n),
    "options": lambda n: in_one("", '<option density="1"><flag gravity="enable"/></option>' * n),
    "equalities": lambda n: in_one(
        '<joint name="a"/><joint name="b"/>',
        "",
        "<equality>" + '<joint joint1="a" joint2="b"/>' * n + "</equality>",
    ),
    "loops": lambda n: worldbody(
        f'<body name="a">{ROD}</body><body name="b">{ROD}</body>',
        "",
        "<equality>" + '<connect body1="a" body2="b" anchor="1 2 3"/>' * n + "</equality>",
    ),
    "loops across many bodies": lambda n: (
        nested(60).replace("</mujoco>", "")
        + "<equality>"
        + '<weld body1="body60"/>' * n
        + "</equality></mujoco>"
    ),
    "loops that are not active": lambda n: in_one(
        "", "", "<equality>" + '<weld active="false"/>' * n + "</equality>"
    ),
    "loops at sites": lambda n: worldbody(
        "".join(f'<body>{ROD}<site name="s{i}"/></body>' for i in range(n + 1)),
        "",
        "<equality>"
        + "".join(f'<connect site1="s{i}" site2="s{i + 1}"/>' for i in range(n))
        + "</equality>",
    ),
    "tendons": lambda n: in_one("", "", "<tendon>" + '<fixed stiffness="1"/>' * n + "</tendon>"),
    "actuators": lambda n: in_one(
        "", "", "<actuator>" + '<motor armature="1"/>' * n + "</actuator>"
    ),
    "gravcomp": lambda n: worldbody(f'<body gravcomp="1">{ROD}</body>' * n),
    "springs that hang on inertia": lambda n: worldbody(
        f"<body>{ROD}</body>".replace("<joint", '<joint springdamper="1 1"') * n
    ),
    "includes": lambda n: in_one('<include file="x"/>' * n),
    "sites": lambda n: in_one("<site/>" * n),
    "meshes": lambda n: in_one("", "<asset>" + "<mesh/>" * n + "</asset>"),
    "a long vector": lambda n: worldbody(f'<body pos="{"1 " * n}"/>'),
    "a long number": lambda n: worldbody(f'<body pos="1 2 {"9" * n}"/>'),
    "attributes": lambda n: worldbody("<body " + " ".join(f'a{i}="1"' for i in range(n)) + "/>"),
    "attributes of an actuator": lambda n: in_one(
        "", "", "<actuator><motor " + " ".join(f'a{i}="1"' for i in range(n)) + "/></actuator>"
    ),
}
_ROW = "# name: r\n# convention: dh\nname,a,alpha,mass,cx\n"
CSV: dict[str, Callable[[int], str]] = {
    "rows": lambda n: _ROW + "".join(f"l{i},0.{i},0.{i}1,1,0.{i}2\n" for i in range(n)),
    "bodies": lambda n: (
        "# name: r\nname,parent,type,axis_x,mass,x,roll\nb0,base,revolute,1,1,0.1,pi/3\n"
        + "".join(f"b{i},b{i - 1},revolute,1,1,0.{i},pi/{i}\n" for i in range(1, n))
    ),
    "rows of one name": lambda n: _ROW + "l,1,2,3,4\n" * n,
    "a fault at the end": lambda n: (
        _ROW + "".join(f"l{i},1,2,3,4\n" for i in range(n)) + "l,1,2,x,4\n"
    ),
    "comments": lambda n: _ROW + "# x\n# word: x\n" * n,
    "a long comment": lambda n: _ROW + f"# {'x' * n}: y\n",
    "words of the whole": lambda n: "# x\n" * 100 + "".join(f"# nam{i}: x\n" for i in range(n)),
    "empty lines": lambda n: _ROW + "\n,,,,\n \t\n" * n,
    "columns": lambda n: ",".join(f"c{i}" for i in range(n)),
    "columns of one name": lambda n: "a," * n,
    "cells": lambda n: _ROW + "1," * n,
    "a long cell": lambda n: _ROW + f"l,{'9' * n},0,1,1\n",
    "a long angle": lambda n: _ROW + f"l,1,{'1+' * n}1,1,1\n",
    "a long name": lambda n: _ROW + f"{'l' * n},1,0,1,1\n",
    "quotation marks": lambda n: _ROW + '"' * n,
    "quoted cells": lambda n: _ROW + "".join(f'"l""{i}",1,0,1,1\n' for i in range(n)),
    "carriage returns": lambda n: _ROW + "\r" * n,
    "repeated rows": lambda n: f"# name: r\n# convention: dh\na,mass,repeat\n1,1,{n}\n",
}
GROWTHS = {"urdf": URDF, "toml": TOML, "csv": CSV, "mjcf": MJCF, "sdf": SDF}
