"""MJCF, the format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html): bodies within bodies, their joints and
masses, with default classes and included files.

Read as MuJoCo 4 compiles it. The root is the link `world`, which stands still; a body that has no joint is welded to the one
around it, and one that has several has massless links between them, in the order of the file. A free joint leads from the
world's origin, so that its numbers are MuJoCo's. What moves no body (contacts, sensors, pictures) is passed over, and so
are actuators, but for which hinges and slides they drive where there are loops.
Bodies without a name are called `body1`, `body2` … by their number in MuJoCo, joints by their body.
"""

from __future__ import annotations

from symgen.description.asking import NOTHING, Asked
from symgen.description.parsing.words import Unread
from symgen.description.quantities import Place, shown
from symgen.description.readers._mjcf import remarks
from symgen.description.readers._mjcf.bodies import Bodies, refused
from symgen.description.readers._mjcf.classes import Classes
from symgen.description.readers._mjcf.document import Document
from symgen.description.readers._mjcf.equalities import coupled
from symgen.description.readers._mjcf.known import check
from symgen.description.readers._mjcf.loops import Loops
from symgen.description.readers._mjcf.names import Names
from symgen.description.readers._mjcf.settings import settings, world
from symgen.description.readers._mjcf.springs import with_springs
from symgen.description.snapping import Snapper
from symgen.description.tree import AS_DECLARED, Tree, sha256_of

SUFFIXES = (".mjcf",)
ROOTS = ("mujoco", "mujocoinclude")
TAKES = ()


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The bodies and joints that the MJCF `data` and the files that it includes declare.

    DescriptionError names file, line and element.
    """
    document = Document(file)
    root = document.root(data)
    if root.name != "mujoco":
        raise root.place.error(
            f"the root element is {shown(root.name)}: this is a part that another MJCF includes",
            "give the file that includes it",
        )
    for section in root.children:
        for soft in section.all("flex") if section.name == "deformable" else ():
            raise refused(soft.place, "bends, as no body here does")
    unread = Unread("an MJCF")
    check(root, unread)
    how, classes = settings(root, snapper), Classes(root.all("default"))
    gravity, notes = world(root, how)
    bodies = Bodies(how, classes, Names(root))
    for section in root.all("worldbody"):
        bodies.read_world(section)
    said = remarks.on(root, classes)
    links = bodies.weighed()
    connections = with_springs(
        bodies.connections, links, bodies.rests, bodies.sprung, how, bodies.notes
    )
    connections = coupled(connections, bodies.rests, root.all("equality"), classes, said)
    loops = Loops(bodies)
    said += loops.read(root.all("equality"))
    return Tree(
        root.attributes.get("model", "").strip(),
        links,
        tuple(connections),
        gravity=gravity,
        notes=(*document.notes, *notes, *bodies.notes, *bodies.remarks(), *said, *unread.notes()),
        place=Place(file),
        pinocchio_order=AS_DECLARED,
        read_sha256=sha256_of(data, document.included),
        loops=tuple(loops.found),
        start=loops.start(root),
        actuated=loops.driven(root),
    )
