"""SDF 1.4 to 1.12 (http://sdformat.org/spec), the format of Gazebo: one model of a file, with its frames, joints and inertias.

Poses mean what the file's version says: a link is placed in its model and a joint in its child link, or in what `relative_to`
names; an axis is given in the model's axes up to 1.4, later in the joint's own or what `expressed_in` names. What SDF takes where
a file is silent is taken, and told where it matters (inertia, gravity). Joints' drives are applied, as Gazebo does. Visuals,
collisions, sensors and plugins are passed over.

The base is the root link, or the world where a joint leads to it. Where the file turns the root link, the base is a link of
its own at that one's origin, with the axes of the world: gravity pulls as it does in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from symgen.description.asking import NOTHING, Asked
from symgen.description.freeing import ROOT
from symgen.description.parsing.xml import tag
from symgen.description.quantities import Place, shown
from symgen.description.readers._sdf.files import Files
from symgen.description.readers._sdf.frames import WORLD, Frame, Scope, Ways
from symgen.description.readers._sdf.joints import Joints
from symgen.description.readers._sdf.links import is_model, link, weightless
from symgen.description.readers._sdf.loops import loops
from symgen.description.readers._sdf.models import Models
from symgen.description.readers._sdf.text import Text
from symgen.description.snapping import Snapper
from symgen.description.tree import UNKNOWN, Connection, ExtraFrame, Link, Tree, sha256_of
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError, RequestError, printable
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Vector3, turns

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
    gravity = _gravity(chosen.world, text, _weightless(scope, joints, asked.floating), files.notes)
    return replace(
        _tree(scope, joints, ways, ground, gravity, files.notes, asked.floating),
        read_sha256=sha256_of(data, files.read),
    )


def _weightless(scope: Scope, joints: Joints, floating: bool) -> bool:
    """True if no link that moves and has mass feels gravity."""
    still = joints.standing_with(() if floating else _roots(scope, joints))
    return weightless(
        (inner, frame, element)
        for inner in scope.all_scopes
        for frame, element in inner.links
        if frame not in still
    )


def _roots(scope: Scope, joints: Joints) -> list[Frame]:
    """The links that no joint carries."""
    return [
        frame for inner in scope.all_scopes for frame, _ in inner.links if frame not in joints.seats
    ]


def _tree(
    scope: Scope,
    joints: Joints,
    ways: Ways,
    ground: Frame,
    gravity: Vector3 | None,
    notes: list[Note],
    floating: bool,
) -> Tree:
    scopes = scope.all_scopes
    frames = [(inner, frame, element) for inner in scopes for frame, element in inner.links]
    base, placed = [Link(WORLD, place=scope.frame.place)], list[Connection]()
    roots, grounded = _roots(scope, joints), any(one.parent is ground for one in joints.all)
    afloat = floating and len(roots) + grounded > 1
    if afloat:
        placed = _afloat(roots, {one.frame.name for one in joints.all})
    elif (
        len(roots) + grounded > 1
        and roots
        and len({frame.name for _, frame, _ in frames}) == len(frames)
    ):
        _refuse_several(roots, grounded)
    elif not grounded:
        base, placed = _placed(scope, roots, ways, ground, notes)
        notes.append(
            Note(
                "info",
                "no joint leads to 'world': in Gazebo the model moves freely, which --base free is for",
            )
        )
    links = [
        link(inner, frame, element, joints.seat(frame), ways, frame in joints.standing)
        for inner, frame, element in frames
    ]
    crosses, connections = joints.connections()
    closings, said = loops(joints, ways)
    notes += [*joints.notes, *said]
    extra = []
    for inner in scopes:
        for frame, _ in inner.extra:
            on = ways.carrier(frame)
            extra.append(
                ExtraFrame(
                    frame.name,
                    on.name,
                    ways.between(joints.seat(on), frame, frame.place),
                    frame.place,
                )
            )
    return Tree(
        scope.frame.name,
        (*base, *links, *crosses),
        (*placed, *connections),
        tuple(extra),
        gravity,
        notes=tuple(notes),
        place=Place(scope.text.file),
        loops=closings,
        afloat=afloat,
        pinocchio_order=UNKNOWN,
    )


def _placed(
    scope: Scope, roots: list[Frame], ways: Ways, ground: Frame, notes: list[Note]
) -> tuple[list[Link], list[Connection]]:
    """What stands below the root link where the file turns it: a link with the axes of the world, and the joint between both."""
    way = (
        turns(ways.between(ground, roots[0], roots[0].place)) if len(roots) == 1 else ()
    )  # else it is refused later
    if not way:
        return [], []
    (root,), name = roots, f"{scope.frame.name}_placed"
    notes.append(
        Note(
            "info",
            f"the file turns link {root.name}: the base is {name}, at its origin with the axes of the world",
        )
    )
    return [Link(name, place=root.place)], [
        Connection(f"{name}_joint", "fixed", name, root.name, way, place=root.place)
    ]


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
