"""The contract of a method: what it is a reading of, what it computes, which robots it suits, and what it names on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.methods.shared.factor import Derive, TakeApart
from symgen.methods.shared.quantities import Quantity
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import named

Functions = Mapping[str, Derive]
Refusal = Callable[[Mechanism], str | None]
"""Why a robot is not suited, in one sentence; None where it is."""


def suits(mechanism: Mechanism) -> str | None:
    """A refusal of no robot."""
    return None


def never(mechanism: Mechanism) -> bool:
    """No robot's answer is a difference of larger terms."""
    return False


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """Another reading of the same method, asked for as "method:variant".

    Its functions and its factor are its own, none is taken from the method. A refusal and a `differs` that it does not
    state are the method's, as is all else but `centred`, `shallow`, `followers`, `asked`, `looped` and `tails`.
    """

    functions: Functions = field(default_factory=dict)
    factor: TakeApart | None = None
    refusal: Refusal | None = None
    differs: Callable[[Mechanism], bool] | None = None
    centred: bool = False
    shallow: bool = False
    followers: bool = False
    asked: bool = False
    looped: bool = False
    tails: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """One published method. A method's file, or the `__init__` of its folder, ends with `METHOD = Method(...)`.

    `source`: the paper, its year if known, and its equations. `functions`: what the method has an algorithm of its own
    for, name -> derivation. `factor`: how it takes M apart; M⁻¹ b, M⁻¹, det M, ln det M, forward dynamics and Λ⁻¹ follow
    from it where `functions` has no algorithm of its own, as mass_matrix_and_bias does from mass_matrix. `compositions`: what it
    makes of finished functions, name -> how it calls them.

    `variants`: its other readings. `stands_for`: which of them the method by its plain name is on a robot, where that is one.
    `refusal`: why a robot is not suited. What only a derivation can see, such as a run-time payload, a method declines by
    raising MethodRefusal. `differs`: whether the answer is a difference of larger terms, M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ:
    what each link would do were it free, less what its neighbours keep it from; round-off is then measured against them.
    `centred`: whether its reference points are the links' mass centres, from which what a link carries may be far. `outward`: the
    functions in which it carries Λ⁻¹ of a link out to the next one, which feels little of it where the link is light.

    `sweeps`: whether it goes along the links without pairing them, so that its length grows as their number does. `regroups`:
    whether it accepts links whose inertia was moved into their parents. `shallow`: whether few operations one after another are
    what it is for, so that it is kept from the passes that have fewer of them in longer chains. `couples`: whether it goes on
    where joints follow others across the tree: it takes M apart entry by entry, or not at all. `followers`: whether it is
    there for such robots alone. `asked`: whether it is taken only where it is asked for by its name, since it does not stand
    in every state in which others do. `looped`: whether it is there as loops over links alone, and so asked for by its name
    too. `tails`: whether it sweeps segments of a chain as if nothing were behind their last links. `quantities`: the letters that
    it lets people look at.
    """

    source: str
    functions: Functions = field(default_factory=dict)
    factor: TakeApart | None = None
    compositions: Mapping[str, Compose] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    stands_for: Callable[[Mechanism], str] | None = None
    refusal: Refusal = suits
    differs: Callable[[Mechanism], bool] = never
    centred: bool = False
    outward: frozenset[str] = frozenset()
    sweeps: bool = False
    regroups: bool = True
    shallow: bool = False
    couples: bool = False
    followers: bool = False
    asked: bool = False
    looped: bool = False
    tails: bool = False
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
            centred=own.centred,
            shallow=own.shallow,
            followers=own.followers,
            asked=own.asked,
            looped=own.looped,
            tails=own.tails,
            refusal=own.refusal or self.refusal,
            differs=own.differs or self.differs,
            quantities={
                letter: one for letter, one in self.quantities.items() if one.variant in ("", name)
            },
        )
