"""The contract of a method: what it is a reading of, what it computes, which robots it suits, and what it names on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.methods.shared.factor import Derive, TakeApart
from symgen.methods.shared.quantities import Quantity
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import named

Functions = Mapping[str, Derive]
Refusal = Callable[[Mechanism], str | None]
"""Why a robot is not suited, in one sentence; None where it is."""
Choice = Literal["automatic", "explicit", "explicit_loops"]
"""How a method is chosen: among the methods of a function, by its name alone, or by its name and as loops over links alone."""
Mimic = Literal["refused", "supported", "required"]
"""Robots with mimic joints: a method refuses them, takes them too, or takes no other."""


def suits(mechanism: Mechanism) -> str | None:
    """A refusal of no robot."""
    return None


def never(mechanism: Mechanism) -> bool:
    """No robot's answer is a difference of larger terms."""
    return False


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """Another reading of the same method, requested as "method:variant".

    Its functions and its factor are its own, none is taken from the method. The fields that are None here are the
    method's, as is all that is no field of a variant.
    """

    functions: Functions = field(default_factory=dict)
    factor: TakeApart | None = None
    refusal: Refusal | None = None
    cancels: Callable[[Mechanism], bool] | None = None
    mimic: Mimic | None = None
    choice: Choice = "automatic"
    shallow: bool = False
    segments_end_free: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """One published method. A method's file, or the `__init__` of its folder, ends with `METHOD = Method(...)`.

    `source`: the paper, its year if known, and its equations. `functions`: what the method has an algorithm of its own
    for, name -> derivation. `factor`: how it takes M apart; M⁻¹ b, M⁻¹, det M, ln det M, forward dynamics and Λ⁻¹ follow
    from it where `functions` has no algorithm of its own, as mass_matrix_and_bias does from mass_matrix. `compositions`: what it
    makes of finished functions, name -> how it calls them.

    `variants`: its other readings. `stands_for`: which of them the method by its plain name is on a robot, where that is one.
    `refusal`: why a robot is not suited. What only a derivation can see, such as a run-time payload, a method declines by
    raising MethodRefusal. `mimic`: robots with mimic joints; a method that supports them takes M apart entry by entry, or not
    at all. `choice`: how it is chosen; "explicit" where it does not hold in every state in which others do.

    Precision: `cancels` is true if the answer is a difference of larger terms, M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ: what each link
    would do were it free, less what its neighbours keep it from; round-off is then measured against them.
    `about_mass_centre`: its reference points are the links' mass centres, which may be far from what a link carries.
    `carries_mobility_outward`: the functions in which it carries Λ⁻¹ of a link out to the next one, on which it depends little
    where the link is light. `segments_end_free`: it sweeps segments of a chain as if their last links carried nothing.

    `sweeps`: it goes along the links without pairing them, so that its length grows as their number does. `regroups`: it
    accepts links whose inertia was moved into their parents. `shallow`: its purpose is short chains of operations, so that the
    passes that lengthen chains are left out. `quantities`: the letters that can be inspected.
    """

    source: str
    functions: Functions = field(default_factory=dict)
    factor: TakeApart | None = None
    compositions: Mapping[str, Compose] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    stands_for: Callable[[Mechanism], str] | None = None
    refusal: Refusal = suits
    mimic: Mimic = "refused"
    choice: Choice = "automatic"
    cancels: Callable[[Mechanism], bool] = never
    about_mass_centre: bool = False
    carries_mobility_outward: frozenset[str] = frozenset()
    segments_end_free: bool = False
    sweeps: bool = False
    regroups: bool = True
    shallow: bool = False
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ArgumentError(
                "a method has no source; name the paper, its year if known, and the equations that it follows"
            )
        readings: dict[str, Method | Variant] = {"the method": self}
        readings |= {
            f"variant '{name}' of the method": variant for name, variant in self.variants.items()
        }
        for which, reading in readings.items():
            if (
                not reading.functions
                and reading.factor is None
                and not (reading is self and self.compositions)
            ):
                raise ArgumentError(
                    f"{which} after {self.source} computes nothing; give it functions or a factor"
                )
            for function in reading.functions:
                named(function)
        for function in self.compositions:
            named(function)

    @property
    def supports_mimic(self) -> bool:
        """True if it takes robots with mimic joints."""
        return self.mimic != "refused"

    @property
    def mimic_only(self) -> bool:
        """True if it takes no robot without mimic joints."""
        return self.mimic == "required"

    @property
    def explicit_only(self) -> bool:
        """True if it is never chosen automatically."""
        return self.choice != "automatic"

    @property
    def looped_only(self) -> bool:
        """True if it has no rows, only loops over links."""
        return self.choice == "explicit_loops"

    def variant(self, name: str) -> Method:
        """A variant as a method by itself; "" is the method."""
        if not name:
            return self
        own = self.variants[name]
        return replace(
            self,
            functions=own.functions,
            factor=own.factor,
            compositions={},
            variants={},
            stands_for=None,
            about_mass_centre=False,
            refusal=own.refusal or self.refusal,
            cancels=own.cancels or self.cancels,
            mimic=own.mimic or self.mimic,
            choice=own.choice,
            shallow=own.shallow,
            segments_end_free=own.segments_end_free,
            quantities={
                letter: one for letter, one in self.quantities.items() if one.variant in ("", name)
            },
        )
