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
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.quantities import Place, shown
from symgen.description.readers._mjcf import remarks
from symgen.description.readers._mjcf.bodies import Bodies, refused
from symgen.description.readers._mjcf.classes import Classes
from symgen.description.readers._mjcf.document import Document, Element
from symgen.description.readers._mjcf.equalities import Loops, coupled
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


# -- vocabulary --
#
# By MuJoCo 4's schema (`mujoco.mj_printSchema`), with what older versions had besides, where it makes the tree, its masses and its
# loops: a slip of the pen there would change the robot. What is in other sections describes no body and is passed over.


_WHERE = "axisangle euler pos quat xyaxes zaxis"
_JOINT = (
    "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group limited margin "
    "name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness "
    "type user"
)
_GEOM = (
    f"{_WHERE} adhesion castshadow class conaffinity condim contype density fitscale fluidcoef fluidshape friction fromto "
    "gap group hfield margin mass material mesh name priority rgba shellinertia size solimp solmix solref surfacevel type "
    "user"
)
_BODY = "body frame joint freejoint geom inertial"
_PASSED = "camera light site"
_COMPILED = "composite flexcomp replicate attach plugin"
"""Elements that the reader of bodies refuses with a sentence of its own."""
_ACTUATORS = "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor"


def _words(reads: str, passes: str = "", closed: bool = True) -> Words:
    return Words(tuple(reads.split()), tuple(passes.split()), closed)


_IN_BODY = _words(_BODY, f"{_PASSED} {_COMPILED}")
_NONE = _words("")
KINDS = {
    "mujoco": Kind(
        _words("model", closed=False),
        _words(
            "compiler option default worldbody equality keyframe actuator tendon deformable",
            "size statistic visual extension asset contact sensor custom",
        ),
    ),
    "compiler": Kind(
        _words(
            "angle autolimits balanceinertia boundinertia boundmass coordinate eulerseq inertiafromgeom inertiagrouprange "
            "settotalmass alignfree",
            "assetdir conflict convexhull discardvisual exactmeshinertia fitaabb fusestatic meshdir "
            "passthrough savecanonical savecompiled saveinertial strippath texturedir usethread",
        ),
        _words("", "lengthrange"),
    ),
    "option": Kind(
        _words(
            "gravity density viscosity",
            "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone impratio "
            "integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance noslip_iterations "
            "noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep "
            "tolerance wind",
            closed=False,
        ),
        _words("flag"),
    ),
    "flag": Kind(
        _words(
            "gravity spring damper frictionloss equality passive",
            "actuation autoreset clampctrl constraint contact diagexact "
            "energy eulerdamp filterparent fwdinv invdiscrete ipc island limit midphase multiccd nativeccd override refsafe sensor "
            "sleep speculative warmstart",
            closed=False,
        ),
        _NONE,
    ),
    "default": Kind(
        _words("class", closed=False),
        _words(
            f"default joint geom site equality tendon {_ACTUATORS}",
            "mesh texture material camera light pair",
        ),
    ),
    "worldbody": Kind(_NONE, _IN_BODY),
    "body": Kind(
        _words(f"{_WHERE} childclass gravcomp mocap name", "fuse simple sleep user"), _IN_BODY
    ),
    "frame": Kind(_words(f"{_WHERE} childclass name scale"), _IN_BODY),
    "inertial": Kind(_words(f"{_WHERE} diaginertia fullinertia mass"), _NONE),
    "freejoint": Kind(_words("align name", "group"), _NONE),
    "joint": Kind(_words(_JOINT), _NONE),
    "geom": Kind(_words(_GEOM), _words("", "plugin")),
    "site": Kind(
        _words(
            f"{_WHERE} class fromto name", "group material mesh rgba size type user", closed=False
        ),
        _NONE,
    ),
    "equality": Kind(
        _NONE, _words("connect weld joint tendon flex flexstrain", "flexvert distance")
    ),
    "connect": Kind(
        _words("active anchor body1 body2 class name site1 site2", "solimp solref"), _NONE
    ),
    "weld": Kind(
        _words(
            "active anchor body1 body2 class name relpose site1 site2", "solimp solref torquescale"
        ),
        _NONE,
    ),
    "equality joint": Kind(
        _words("active class joint1 joint2 name polycoef", "solimp solref"), _NONE
    ),
    "default equality": Kind(_words("active", "solimp solref", closed=False), _NONE),
    "keyframe": Kind(_NONE, _words("key")),
    "key": Kind(_words("name qpos", "act ctrl mpos mquat plastic qvel time", closed=False), _NONE),
}
"""Element -> what it may hold. An element that is called the same elsewhere has its parent's name before its own."""


def check(root: Element, unread: Unread) -> None:
    """Refuse the first name that would change the robot, in the sections that describe it; note those that are left out."""
    waiting = [("mujoco", root)]
    while waiting:
        name, element = waiting.pop()
        kind = KINDS[name]
        unread.check(kind, element.name, element.attributes, element.place)
        unread.words(kind, element.name, element.text, element.place)
        for child in element.children:
            if child.name not in kind.children:
                unread.child(kind, element.name, child.name, child.place)
        inside = [(f"{name} {child.name}", child) for child in element.children]
        inside = [(of if of in KINDS else child.name, child) for of, child in inside]
        waiting += reversed([(of, child) for of, child in inside if of in KINDS])
