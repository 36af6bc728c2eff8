"""Universal (Cardan) joint: two revolute joints in series with a massless cross between them.

It is not a joint type of its own. Its two angles are coordinates and their rates are velocities, so
that two joints of one degree of freedom, which every method supports, are equivalent.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.description.quantities import quote
from symgen.description.tree import Connection, Link
from symgen.mechanism.mechanism import Limits
from symgen.vocabulary.poses import Vector3

KIND, HINGE = "universal", "revolute"


def two_hinges(
    universal: Connection, axes: tuple[Vector3, Vector3], limits: tuple[Limits, Limits]
) -> tuple[Link, list[Connection]]:
    """Return the cross and the two joints, NAME_1 and NAME_2, of the joint `universal`.

    The first joint rotates the cross about the first of `axes`. The second joint rotates the child
    about the second axis, which moves with the cross. Both axes are given in the joint's frame at
    zero angles. Raises DescriptionError if they are parallel.
    """
    (a, b, c), (x, y, z) = axes
    if not any((b * z - c * y, c * x - a * z, a * y - b * x)):
        raise universal.location.error(
            "its two axes are parallel",
            "give two directions, such as [[1, 0, 0], [0, 1, 0]], or write a revolute joint",
        )
    if len(universal.drive.each) not in (0, len(axes)):
        raise universal.location.error(
            f"its drive has {len(universal.drive.each)} values for {len(axes)} velocities",
            "give one value, or one for each velocity",
        )
    names = f"{universal.name}_cross", f"{universal.name}_1", f"{universal.name}_2"
    cross_location, first, second = (
        universal.location.at(f"{universal.location.element} {quote(name)}") for name in names
    )
    cross = Link(names[0], location=cross_location)
    return cross, [
        replace(
            universal,
            name=names[1],
            kind=HINGE,
            child=cross.name,
            axis=axes[0],
            limits=limits[0],
            location=first,
            drive=universal.drive.at(0),
        ),
        replace(
            universal,
            name=names[2],
            kind=HINGE,
            parent=cross.name,
            pose=(),
            axis=axes[1],
            limits=limits[1],
            location=second,
            drive=universal.drive.at(1),
        ),
    ]
