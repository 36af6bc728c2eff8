"""What joints move: bodies, each of one declared inertia or of several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.vocabulary.poses import Pose


@dataclass(frozen=True, repr=False)
class Part:
    """One declared inertia, carried by a body.

    `pose` leads from the body's frame to the part's centre of mass and axes; `moments` = (Ixx, Ixy, Ixz, Iyy, Iyz,
    Izz) are about that centre, in those axes (tensor entries: Ixy is −∫xy dm). A point mass has zero moments. `gravcomp` is
    the fraction of its weight that is borne for it, at its centre.
    """

    link: str
    pose: Pose
    mass: Fraction
    moments: tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction] = (Fraction(0),) * 6
    gravcomp: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"<Part {self.link}: {float(self.mass):g} kg>"


@dataclass(frozen=True, repr=False)
class Body:
    """What one joint moves: its own declared inertia and that of every link lumped into it (`parts`)."""

    name: str
    parts: tuple[Part, ...] = ()

    @property
    def mass(self) -> Fraction:
        return sum((part.mass for part in self.parts), Fraction(0))

    @property
    def unborne(self) -> Body:
        """The same, of which no weight is borne."""
        return replace(
            self, parts=tuple(replace(part, gravcomp=Fraction(0)) for part in self.parts)
        )

    def __repr__(self) -> str:
        return f"<Body {self.name}: {float(self.mass):g} kg, of {', '.join(part.link for part in self.parts) or 'nothing'}>"
