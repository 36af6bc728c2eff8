"""Declaration of a method: its source, its functions, the robots that it accepts, and the
quantities that can be inspected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.methods.shared.factor import Derive, MakeFactor
from symgen.methods.shared.quantities import Quantity
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import function_named

Functions = Mapping[str, Derive]
Refusal = Callable[[Mechanism], str | None]
"""Return why a method refuses a robot, in one sentence; None if it accepts the robot."""
Choice = Literal["automatic", "explicit", "explicit_loops"]
"""Selection of a method: automatic, by its name only, or by its name only and in looped form only.
"""
Mimic = Literal["refused", "supported", "required"]
"""Robots with mimic joints: a method refuses them, supports them, or requires them."""


def accept_every_robot(mechanism: Mechanism) -> str | None:
    """Return None: the default refusal."""
    return None


def never(mechanism: Mechanism) -> bool:
    """Return False: the default of `cancels` and `inverts_inertias`."""
    return False


def always(mechanism: Mechanism) -> bool:
    """Return True: a property of a method that every robot has."""
    return True


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """Variant of a method, requested as "method:variant".

    A variant has its own functions and factor and inherits neither from the method. Fields that are
    None here, and fields that a variant does not have, are those of the method.
    """

    functions: Functions = field(default_factory=dict)
    factor: MakeFactor | None = None
    refusal: Refusal | None = None
    cancels: Callable[[Mechanism], bool] | None = None
    mimic: Mimic | None = None
    inverts_inertias: Callable[[Mechanism], bool] | None = None
    choice: Choice = "automatic"
    shallow: bool = False
    segments_end_free: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """One published method. A method's file, or the `__init__` of its folder, ends with `METHOD =
    Method(...)`.

    `source`: the paper, its year if known, and its equations. `functions`: the functions that the
    method has an algorithm for, name -> derivation. `factor`: the factorization of M. M⁻¹ b, M⁻¹,
    det M, ln det M, forward dynamics and Λ⁻¹ follow from it, unless `functions` has them.
    mass_matrix_and_bias follows from mass_matrix in the same way. `compositions`: the functions
    that the method composes of finished functions, name -> how it calls them.

    `variants`: its variants. `stands_for`: returns the variant that the plain method name denotes
    on a robot. `refusal`: returns why a robot is refused. A method that finds the reason only while
    deriving, such as a run-time payload, raises MethodRefusal. `mimic`: robots with mimic joints. A
    method that supports them factors M entry by entry, or not at all. `choice`: how it is chosen;
    "explicit" if it fails in states in which other methods do not.

    Three fields concern precision. `cancels`: returns True if the result is a difference of larger
    terms, M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ: the mobility of the free links less what the constraints
    remove. Round-off is then measured against these terms. `about_mass_centre`: reference points
    are the mass centres of the links, which may be far from a link's descendants.
    `carries_mobility_outward`: the functions whose outward sweep carries Λ⁻¹ of a link to the next
    one, where it has little influence if the link is light. `segments_end_free`: segments of a
    chain are swept as if their last links had no children.

    `sweeps`: the method visits links without pairing them, so that its length is proportional to
    their number. `regroups`: it accepts links whose inertia was moved into their parents.
    `inverts_inertias`: returns True if it divides by the inertia of every link. Links that turn
    about one direction only then receive the moments that they lack
    (`symgen.derivation.model.definite`).
    `couples_joints`: it solves for the forces of all joints together, so that its step at a joint
    depends on the kinds of the joints on the same links.
    `shallow`: it aims at short chains of operations, so passes that lengthen chains are left out.
    `quantities`: the letters that can be inspected.
    """

    source: str
    functions: Functions = field(default_factory=dict)
    factor: MakeFactor | None = None
    compositions: Mapping[str, Compose] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    stands_for: Callable[[Mechanism], str] | None = None
    refusal: Refusal = accept_every_robot
    mimic: Mimic = "refused"
    choice: Choice = "automatic"
    cancels: Callable[[Mechanism], bool] = never
    about_mass_centre: bool = False
    carries_mobility_outward: frozenset[str] = frozenset()
    segments_end_free: bool = False
    sweeps: bool = False
    regroups: bool = True
    inverts_inertias: Callable[[Mechanism], bool] = never
    couples_joints: bool = False
    shallow: bool = False
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ArgumentError(
                "the method has no source; name the paper, its year if known, and the equations"
                " that it follows"
            )
        readings: dict[str, Method | Variant] = {"the method": self}
        readings |= {
            f"variant '{name}' of the method": variant for name, variant in self.variants.items()
        }
        for label, reading in readings.items():
            if (
                not reading.functions
                and reading.factor is None
                and not (reading is self and self.compositions)
            ):
                raise ArgumentError(
                    f"{label} after {self.source} computes nothing; give it functions or a factor"
                )
            for function in reading.functions:
                function_named(function)
        for function in self.compositions:
            function_named(function)

    @property
    def supports_mimic(self) -> bool:
        """True if the method accepts robots with mimic joints."""
        return self.mimic != "refused"

    @property
    def mimic_only(self) -> bool:
        """True if the method accepts only robots with mimic joints."""
        return self.mimic == "required"

    @property
    def explicit_only(self) -> bool:
        """True if the method is never chosen automatically."""
        return self.choice != "automatic"

    @property
    def looped_only(self) -> bool:
        """True if the method exists in looped form only."""
        return self.choice == "explicit_loops"

    def variant(self, name: str) -> Method:
        """Return a variant as a method; "" returns the method itself."""
        if not name:
            return self
        variant = self.variants[name]
        return replace(
            self,
            functions=variant.functions,
            factor=variant.factor,
            compositions={},
            variants={},
            stands_for=None,
            about_mass_centre=False,
            refusal=variant.refusal or self.refusal,
            cancels=variant.cancels or self.cancels,
            mimic=variant.mimic or self.mimic,
            inverts_inertias=variant.inverts_inertias or self.inverts_inertias,
            choice=variant.choice,
            shallow=variant.shallow,
            segments_end_free=variant.segments_end_free,
            quantities={
                letter: quantity
                for letter, quantity in self.quantities.items()
                if quantity.variant in ("", name)
            },
        )
