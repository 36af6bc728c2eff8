"""What the texts of one robot share, whichever backend prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from symgen.support.version import __version__
from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.functions import Function
from symgen.vocabulary.identifiers import identifier
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import SINE_RANGE, SINE_ULPS


@dataclass(frozen=True)
class Target:
    """What the text of one robot shares: its C name, its sizes, and where it came from.

    `name` becomes a C identifier (`identifier`). `text` says where sine and cosine come from, and whether the functions return a
    status.
    """

    name: str
    sizes: Sizes
    text: TextOptions = PLAIN
    source_sha256: str = ""
    frames: tuple[str, ...] = ()
    """The links whose frames the functions speak of, in their order, where one of them does and they are known."""
    wrenches: tuple[str, ...] = ()
    """The links that feel wrenches, in their order, where they are several; what is said of one stands in brackets behind it."""
    told: tuple[str, ...] = ()
    """Lines of the header that say what the entries of q and v are, where joints have several. ASCII."""
    rates: bool = True
    """Whether every velocity is the rate of a coordinate, so that a derivative along velocities is one by coordinates."""
    contacts: tuple[str, ...] = ()
    """The points that may touch something, in their order, where they are known."""
    forces: str = ""
    """Further terms of the bias force besides C v + g, of drives and gravity compensation, in ASCII."""
    armature: bool = False
    """True if the mass matrix has an armature on its diagonal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", identifier(self.name))

    @property
    def checked(self) -> bool:
        """Whether the functions return a status."""
        return self.text.checked

    def frames_of(self, function: Function | None) -> tuple[str, ...]:
        """The frames that one of them speaks of."""
        return (
            ()
            if function is None or not function.needs_frame
            else self.frames
            if function.needs_frames
            else self.frames[:1]
        )

    def wrenches_of(self, arguments: Iterable[Array]) -> tuple[str, ...]:
        """The links whose wrenches a function with these arguments feels, where they are several."""
        return self.wrenches if any("NW" in array.shape for array in arguments) else ()

    def contacts_of(self, function: Function | None) -> tuple[str, ...]:
        """The points that one of them speaks of."""
        return self.contacts if function is not None and function.counts("NT") else ()

    def symbol(self, function: str) -> str:
        """The C name of a function."""
        return f"{self.name}_{derivatives.symbol(function)}"

    def file(self, function: str) -> str:
        """The name of the file that holds a function."""
        return f"{self.symbol(function)}.c"

    def file_of_many(self, function: str) -> str:
        """The name of the file that holds a function for many states."""
        return f"{self.symbol(function)}_batch.c"

    def device(self, function: str) -> str:
        """The name of the file that holds a function for a thread of a GPU."""
        return f"{self.symbol(function)}.cuh"

    def kernel(self, function: str) -> str:
        """The name of the file that holds the kernel of a function, and what launches it."""
        return f"{self.symbol(function)}_cuda.cu"

    @property
    def cuda(self) -> str:
        """The name of the file that declares the functions for a GPU."""
        return f"{self.name}_cuda.h"

    @property
    def turns_on_gpu(self) -> str:
        """The name of the file with the sine and cosine of a GPU's functions."""
        return f"{self.name}_sincos.cuh"

    @property
    def batch(self) -> str:
        """The name of the file that declares the functions for many states."""
        return f"{self.name}_batch.h"

    @property
    def lanes(self) -> str:
        """The name of the file that reads states into lanes and writes them back."""
        return f"{self.name}_lanes.h"

    @property
    def header(self) -> str:
        """The name of the file that declares the functions."""
        return f"{self.name}.h"

    @property
    def sincos(self) -> str:
        """The name of the file with a sine and cosine of one's own."""
        return f"{self.name}_sincos.h"

    @property
    def context(self) -> dict[str, Any]:
        """What every template may say about the robot."""
        return {
            "name": self.name,
            "nq": self.sizes.NQ,
            "nv": self.sizes.NV,
            "nb": self.sizes.NB,
            "macro_trig": self.text.trig == "macro",
            "inline_trig": self.text.trig == "inline",
            "auto_trig": self.text.trig == "auto",
            "ulps": SINE_ULPS["inline"],
            "range": SINE_RANGE,
            "returns": "int" if self.checked else "void",
            "checked": self.checked,
            "batch": self.text.batch,
            "version": __version__,
            "source_sha256": self.source_sha256 or "unknown",
        }
