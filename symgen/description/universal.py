"""A universal joint, Cardan's: two revolute joints in a row, and between them a cross without mass.

It is no joint type of its own. Its two angles are coordinates and their rates are velocities, so that nothing is gained over two
joints of one degree, which every method takes.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.description.quantities import shown
from symgen.description.tree import Connection, Link
from symgen.mechanism.mechanism import Limits
from symgen.vocabulary.poses import Vector3

KIND, HINGE = "universal", "revolute"


def two_hinges(
    whole: Connection, axes: tuple[Vector3, Vector3], limits: tuple[Limits, Limits]
) -> tuple[Link, list[Connection]]:
    """The cross and the two joints of `whole`, a universal joint: its name and _1, its name and _2.

    The first joint turns the cross about the first of `axes`, the second one turns the child about the second, which rides on
    the cross. Both are given in the joint's frame, with the angles at zero. DescriptionError where they are parallel.
    """
    (a, b, c), (x, y, z) = axes
    if not any((b * z - c * y, c * x - a * z, a * y - b * x)):
        raise whole.place.error(
            "its two axes are parallel, so that both of them turn about one line",
            "give two directions, such as [[1, 0, 0], [0, 1, 0]], or write a revolute joint",
        )
    if len(whole.drive.each) not in (0, len(axes)):
        raise whole.place.error(
            f"it has {len(whole.drive.each)} numbers of a drive and {len(axes)} velocities",
            "give one number, or one for each velocity",
        )
    names = f"{whole.name}_cross", f"{whole.name}_1", f"{whole.name}_2"
    on, first, second = (whole.place.at(f"{whole.place.element} {shown(name)}") for name in names)
    cross = Link(names[0], place=on)
    return cross, [
        replace(
            whole,
            name=names[1],
            kind=HINGE,
            child=cross.name,
            axis=axes[0],
            limits=limits[0],
            place=first,
            drive=whole.drive.at(0),
        ),
        replace(
            whole,
            name=names[2],
            kind=HINGE,
            parent=cross.name,
            pose=(),
            axis=axes[1],
            limits=limits[1],
            place=second,
            drive=whole.drive.at(1),
        ),
    ]
