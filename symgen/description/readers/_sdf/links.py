"""The links of an SDF model: their inertias, and what of them is dynamics and not modelled.

Where nothing is said, SDF has numbers of its own: a mass of 1 kg, moments of 1 kg m², products of zero, the centre at the link's
origin. They are taken, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symgen.description.parsing.xml import tag
from symgen.description.quantities import Place, shown
from symgen.description.readers._sdf.frames import Frame, Scope, Ways
from symgen.description.tree import Inertial, Link
from symgen.vocabulary.poses import Pose, compose

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
