"""SDF 1.4 to 1.12 (http://sdformat.org/spec), the format of Gazebo: one model of a file, with its frames, joints and inertias.

Poses mean what the file's version says: a link is placed in its model and a joint in its child link, or in what `relative_to`
names; an axis is given in the model's axes up to 1.4, later in the joint's own or what `expressed_in` names. What SDF takes where
a file is silent is taken, with a note where it matters (inertia, gravity). Joints' drives are applied, as Gazebo does. Visuals,
collisions, sensors and plugins are passed over.

Where a file says nothing of a link's inertia, SDF has numbers of its own, which are taken, with a warning: a mass of 1 kg, moments
of 1 kg m², products of zero, the centre at the link's origin.

The base is the root link, or the world where a joint leads to it. Where the file turns the root link, the base is a link of
its own at that one's origin, with the axes of the world: gravity pulls as it does in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgen.description.asking import NOTHING, Asked
from symgen.description.freeing import ROOT
from symgen.description.parsing.xml import tag
from symgen.description.quantities import Place, shown
from symgen.description.readers._sdf.files import Files
from symgen.description.readers._sdf.frames import WORLD, Frame, Scope, Ways
from symgen.description.readers._sdf.joints import Joints, loops
from symgen.description.readers._sdf.models import Models
from symgen.description.readers._sdf.text import Text
from symgen.description.snapping import Snapper
from symgen.description.tree import UNKNOWN, Connection, ExtraFrame, Inertial, Link, Tree, sha256_of
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError, RequestError, printable
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Pose, Vector3, compose, turns

SUFFIXES = (".sdf", ".world")
ROOTS = ("sdf", "gazebo")
TAKES = ("model", "packages")
GRAVITY: Vector3 = (Fraction(0), Fraction(0), Fraction(-98, 10))
"""Of a world that says nothing of it."""


@dataclass(frozen=True)
class Candidate:
    """A model that a file has, before anything of it is read. `lost`: why a file that is included is not there."""

    name: str
    element: Any
    world: Any
    opened: tuple[Any, Text] | None = None
    lost: DescriptionError | None = None

    @property
    def moves(self) -> bool:
        """Whether it has a joint that is not fixed, and is not static."""
        body = self.opened[0] if self.opened is not None else self.element
        still = any(
            tag(child) == "static" and (child.text or "").strip().lower() in ("true", "1")
            for one in (self.element, body)
            for child in one
            if isinstance(child.tag, str)
        )
        within = [
            tag(one)
            for one in body.iter()
            if isinstance(one.tag, str) and one.get("type") != "fixed"
        ]
        return not still and ("joint" in within or "include" in within)


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The links and joints of one model of the SDF text `data`; DescriptionError names file, line and element."""
    files = Files(snapper, asked.packages)
    root, text = files.root(data, file)
    candidates = _told_apart(_candidates(root, text, files))
    chosen = _chosen(candidates, asked.model, Place(file), files.notes)
    ways, ground = Ways(), Frame(WORLD, "world", Place(file), depth=0)
    models = Models(files, ways, ground)
    around = models.world(chosen.world if chosen.world is not None else root, text)
    scope = (
        models.included(chosen.element, text, opened=chosen.opened)
        if chosen.opened is not None
        else models.model(chosen.element, text)
    )
    _only_with(around, scope, {one.name for one in candidates} - {scope.frame.name})
    around.inner[scope.frame.name] = scope
    around.frames[scope.frame.name] = scope.frame
    models.settle_world(around)
    joints = Joints([*scope.all_scopes, around], models, ways)
    for read_file in files.texts:
        read_file.tell_unread()
    model = _Model(scope, joints, ways, ground, asked.floating, files.notes)
    gravity = _gravity(chosen.world, text, model.is_weightless, files.notes)
    return replace(model.tree(gravity), read_sha256=sha256_of(data, files.read))


@dataclass
class _Model:
    """The model that is read, with its joints and the ways between its frames; `floating` if root links are to move freely."""

    scope: Scope
    joints: Joints
    ways: Ways
    ground: Frame
    floating: bool
    notes: list[Note]

    @cached_property
    def links(self) -> list[tuple[Scope, Frame, Any]]:
        """Each link: the scope in which it stands, its frame and its element."""
        return [
            (inner, frame, element)
            for inner in self.scope.all_scopes
            for frame, element in inner.links
        ]

    @cached_property
    def roots(self) -> list[Frame]:
        """The links that no joint carries."""
        return [frame for _, frame, _ in self.links if frame not in self.joints.seats]

    @cached_property
    def grounded(self) -> bool:
        """True if a joint leads to the world."""
        return any(joint.parent is self.ground for joint in self.joints.all)

    @property
    def is_weightless(self) -> bool:
        """True if no link that moves and has mass feels gravity."""
        still = self.joints.standing_with(() if self.floating else self.roots)
        return weightless(link for link in self.links if link[1] not in still)

    def tree(self, gravity: Vector3 | None) -> Tree:
        """Return what the model declares."""
        afloat = self.floating and len(self.roots) + self.grounded > 1
        base, base_joints = self._afloat() if afloat else self._base()
        links = [
            link(
                inner,
                frame,
                element,
                self.joints.seat(frame),
                self.ways,
                frame in self.joints.standing,
            )
            for inner, frame, element in self.links
        ]
        crosses, connections = self.joints.connections()
        closings, loop_notes = loops(self.joints, self.ways)
        self.notes += [*self.joints.notes, *loop_notes]
        return Tree(
            self.scope.frame.name,
            (*base, *links, *crosses),
            (*base_joints, *connections),
            tuple(self._extra_frames()),
            gravity,
            notes=tuple(self.notes),
            place=Place(self.scope.text.file),
            loops=closings,
            afloat=afloat,
            pinocchio_order=UNKNOWN,
        )

    def _afloat(self) -> tuple[list[Link], list[Connection]]:
        """Return the world, and a free joint for each root link."""
        taken = {joint.frame.name for joint in self.joints.all}
        return [self._world()], _afloat(self.roots, taken)

    def _base(self) -> tuple[list[Link], list[Connection]]:
        """Return the base link, and the joint to the root link where that is turned; DescriptionError where several would be root."""
        if self.grounded or len(self.roots) > 1:
            distinct = len({frame.name for _, frame, _ in self.links}) == len(self.links)
            if self.roots and distinct:
                _refuse_several(self.roots, self.grounded)
        if self.grounded:
            return [self._world()], []
        turned = self._turned_root()
        self.notes.append(
            Note(
                "info",
                "no joint leads to 'world': in Gazebo the model moves freely, which --base free is for",
            )
        )
        return turned

    def _world(self) -> Link:
        return Link(WORLD, place=self.scope.frame.place)

    def _turned_root(self) -> tuple[list[Link], list[Connection]]:
        """Return a link with the axes of the world and the joint to the root link, where the file turns that."""
        if len(self.roots) != 1:
            return [], []  # which is refused later
        root, name = self.roots[0], f"{self.scope.frame.name}_placed"
        turn = turns(self.ways.between(self.ground, root, root.place))
        if not turn:
            return [], []
        self.notes.append(
            Note(
                "info",
                f"the file turns link {root.name}: the base is {name}, at its origin with the axes of the world",
            )
        )
        joint = Connection(f"{name}_joint", "fixed", name, root.name, turn, place=root.place)
        return [Link(name, place=root.place)], [joint]

    def _extra_frames(self) -> Iterator[ExtraFrame]:
        for inner in self.scope.all_scopes:
            for frame, _ in inner.extra:
                carrier = self.ways.carrier(frame)
                pose = self.ways.between(self.joints.seat(carrier), frame, frame.place)
                yield ExtraFrame(frame.name, carrier.name, pose, frame.place)


def _afloat(roots: Sequence[Frame], taken: set[str]) -> list[Connection]:
    """A free joint for each root link, from the world's origin, as Gazebo lets each of them move."""
    joints = []
    for root in roots:
        name = f"{ROOT}_{root.name}"
        while name in taken:
            name += "_"
        taken.add(name)
        joints.append(Connection(name, "free", WORLD, root.name, axis=Z_AXIS, place=root.place))
    return joints


def _refuse_several(roots: Sequence[Frame], grounded: bool) -> None:
    """DescriptionError for links that no joint carries, where the base stands still and more than one would be it."""
    listed = ", ".join(shown(root.name) for root in roots[:8]) + (
        f" and {len(roots) - 8} more" if len(roots) > 8 else ""
    )
    several = (
        f"no joint carries the links {listed}"
        if len(roots) > 1
        else f"no joint carries the link {listed}"
    )
    what = f"{several}, while others are joined to the world" if grounded else several
    raise roots[-1].place.error(
        f"{what}; in Gazebo each moves freely",
        "read it with --base free, or join all but one to a parent"
        if not grounded
        else "read it with --base free, or join each to a parent or the world",
    )


def _candidates(root: Any, text: Text, files: Files) -> Iterator[Candidate]:
    """The models of a file in their order, those of its worlds included."""
    for child in text.children(root):
        if tag(child) == "world":
            for one in text.children(child):
                if is_model(one):
                    yield _candidate(one, child, text, files)
        elif is_model(child):
            yield _candidate(child, None, text, files)


def _candidate(element: Any, world: Any, text: Text, files: Files) -> Candidate:
    place = text.place(element)
    if tag(element) == "model":
        return Candidate(text.attribute(element, "name", place), element, world)
    named = text.one(element, "name", place)
    name = (named.text or "").strip() if named is not None else ""
    try:
        opened = files.included(element, text, place, 0)
    except DescriptionError as error:
        return Candidate(
            name or text.word(element, "uri", place).rpartition("/")[2], element, world, lost=error
        )
    return Candidate(name or opened[1].attribute(opened[0], "name", place), element, world, opened)


def _chosen(
    candidates: list[Candidate], asked: str | None, place: Place, notes: list[Note]
) -> Candidate:
    """Return the model that was asked for, or the only one that moves; note which others are left out."""
    if not candidates:
        raise place.error("the file holds no model", "give one that does")
    if asked is not None:
        model = _model_named(asked, candidates, place)
    else:
        model = _only_moving(candidates, place)
    if model.lost is not None:
        raise model.lost
    rest = [candidate for candidate in candidates if candidate is not model]
    if rest:
        notes.append(
            Note(
                "info",
                f"of the models in the file {shown(model.name)} is read; left out: {_listed(rest)}",
            )
        )
    return model


def _model_named(asked: str, candidates: list[Candidate], place: Place) -> Candidate:
    by_name = {candidate.name: candidate for candidate in reversed(candidates)}
    try:
        return by_name[nearest(asked, [candidate.name for candidate in candidates], "model")]
    except RequestError as error:
        what, _, hint = str(error).partition("; ")
        raise place.error(what, hint) from None


def _only_moving(candidates: list[Candidate], place: Place) -> Candidate:
    """Return the only model with joints, else the first one; DescriptionError where several could be meant."""
    moving = [candidate for candidate in candidates if candidate.lost is None and candidate.moves]
    if len(moving) > 1:
        raise place.error(
            f"it holds {len(moving)} models with joints: {_listed(moving)}",
            f"give --model {printable(moving[0].name, 40)}, say",
        )
    lost = [candidate for candidate in candidates if candidate.lost is not None]
    if not moving and len(lost) > 1:
        raise place.error(
            f"none of the models that it includes is there: {_listed(lost)}",
            "put their folders beside this file, or give --package NAME=FOLDER",
        )
    return (moving or lost or candidates)[0]


def _listed(models: Sequence[Candidate]) -> str:
    return ", ".join(shown(one.name) for one in models[:8]) + (
        f" and {len(models) - 8} more" if len(models) > 8 else ""
    )


def _told_apart(models: Iterable[Candidate]) -> list[Candidate]:
    """The same, those of one name counted from the second on, `arm:2`: SDF has no such models, but files have."""
    count: Counter[str] = Counter()
    found = []
    for one in models:
        count[one.name] += 1
        found.append(
            replace(one, name=f"{one.name}:{count[one.name]}") if count[one.name] > 1 else one
        )
    return found


def _only_with(around: Scope, scope: Scope, others: set[str]) -> None:
    """Keep those joints of the world that touch the model. DescriptionError where one joins it to another model."""
    kept = []
    for frame, element in around.joints:
        ends = {
            around.text.word(element, role, frame.place).partition("::")[0]
            for role in ("parent", "child")
        }
        if scope.frame.name in ends:
            foreign = next(iter(sorted(ends & others)), None)
            if foreign is not None:
                raise frame.place.error(
                    f"it joins the model to {shown(foreign)}, another model",
                    "put both into one model",
                )
            kept.append((frame, element))
    around.joints = kept


def _gravity(world: Any, text: Text, weightless: bool, notes: list[Note]) -> Vector3 | None:
    """That of the world: up to 1.5 it stands in its physics. None without a world, unless no link feels any."""
    if weightless:
        notes.append(
            Note("info", "no link feels gravity, as their <gravity> says: it is read as 0 0 0")
        )
        return ZERO3
    if world is None:
        return None
    place = text.place(world)
    found = text.one(world, "gravity", place)
    if found is None:
        physics = next((one for one in text.children(world) if tag(one) == "physics"), None)
        found = text.one(physics, "gravity", place) if physics is not None else None
    if found is None:
        notes.append(
            Note(
                "info",
                "the world says nothing of gravity, so that it has what SDF then takes: 0 0 -9.8 m/s²",
            )
        )
        return GRAVITY
    return text.vector(found, text.place(found, place))


# -- links --


_MOMENTS = {
    name: Fraction(name in ("ixx", "iyy", "izz"))
    for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
}
"""With what SDF takes for each of them."""


def link(scope: Scope, frame: Frame, element: Any, seat: Frame, ways: Ways, still: bool) -> Link:
    """A link that moves with the frame `seat`. Of one that stands `still` no inertia is felt."""
    text, place = scope.text, frame.place
    way = ways.between(seat, frame, place)
    for name, what in (
        ("enable_wind", "wind is not modelled"),
        ("must_be_base_link", "its joints say which link is the base"),
    ):
        if text.flag(element, name, place):
            text.note("info", place, f"<{name}> is left out: {what}")
    decay = text.one(element, "velocity_decay", place)
    if decay is not None and any(text.number(decay, name, place) for name in ("linear", "angular")):
        text.note("warning", text.place(decay, place), "the decay of its velocity is not modelled")
    return Link(
        frame.name,
        (_inertial(scope, frame, element, way, "info" if still else "warning"),),
        place,
        way,
    )


def _inertial(scope: Scope, frame: Frame, element: Any, way: Pose, worth: str) -> Inertial:
    text, place = scope.text, frame.place
    found = text.one(element, "inertial", place)
    if found is None:
        text.note(
            worth,
            place,
            "declares no <inertial>, so that it has what SDF then takes: 1 kg and moments of 1 kg m²",
        )
        return Inertial(Fraction(1), tuple(_MOMENTS.values()), way, place)
    here = text.place(found, place)
    if text.said(found, "auto", here):
        raise here.error(
            "its inertia is to be computed from its collisions (auto), which symgen does not do",
            "write its mass and inertia out, as `gz sdf -p --expand-auto-inertials` prints them",
        )
    added = text.one(found, "fluid_added_mass", here)
    if added is not None and any(
        (child.text or "").strip().strip("0.") for child in text.children(added)
    ):
        text.note("warning", text.place(added, here), "the added mass of a fluid is not modelled")
    mass, moments = text.number(found, "mass", here), _moments(scope, found, here, worth)
    if mass is None:
        text.note(worth, here, "declares no <mass>, so that it has what SDF then takes: 1 kg")
        mass = Fraction(1)
    pose, relative = text.pose(found, here)
    if relative:
        raise here.error(
            "its pose is relative to a frame, and that of an inertial is in its link",
            "leave out relative_to",
        )
    return Inertial(mass, moments, compose(way, pose), here)


def _moments(scope: Scope, inertial: Any, place: Place, worth: str) -> tuple[Fraction, ...]:
    text = scope.text
    found = text.one(inertial, "inertia", place)
    if found is None:
        text.note(
            worth,
            place,
            "declares no <inertia>, so that it has what SDF then takes: moments of 1 kg m²",
        )
        return tuple(_MOMENTS.values())
    here = text.place(found, place)
    given = {name: text.number(found, name, here) for name in _MOMENTS}
    silent = [name for name in ("ixx", "iyy", "izz") if given[name] is None]
    if silent:
        text.note(worth, here, f"says nothing of {', '.join(silent)}, so that SDF takes 1 kg m²")
    return tuple(_MOMENTS[name] if value is None else value for name, value in given.items())


def weightless(links: Iterable[tuple[Scope, Frame, Any]]) -> bool:
    """True if no link feels gravity. DescriptionError where some do and some do not. A link without mass does neither."""
    felt, unfelt = list[Frame](), list[Frame]()
    for scope, frame, element in links:
        off = scope.text.flag(element, "gravity", frame.place) is False
        if not _massless(scope, frame, element):
            (unfelt if off else felt).append(frame)
    if felt and unfelt:
        raise unfelt[0].place.error(
            f"it feels no gravity and {shown(felt[0].name)} does, and symgen has one gravity for all links",
            "take <gravity> out of the links",
        )
    return bool(unfelt)


def _massless(scope: Scope, frame: Frame, element: Any) -> bool:
    inertial = scope.text.one(element, "inertial", frame.place)
    return (
        inertial is not None
        and scope.text.number(inertial, "mass", scope.text.place(inertial, frame.place)) == 0
    )


def is_model(element: Any) -> bool:
    """Whether an element declares or includes a model."""
    return tag(element) in ("model", "include")
