"""Context of the generated texts of one robot, independent of the backend."""

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
    """Context of the texts of one robot: its C name, its sizes, and its source.

    `name` becomes a C identifier (`identifier`). `text` selects the source of sine and cosine, and
    whether functions return a status.
    """

    name: str
    sizes: Sizes
    text: TextOptions = PLAIN
    source_sha256: str = ""
    frames: tuple[str, ...] = ()
    """Links whose frames the functions use, in order; empty if no function uses one or they are not
    known.
    """
    wrenches: tuple[str, ...] = ()
    """Links with an external wrench, in order, if there are several; comments name a single link in
    brackets.
    """
    coordinate_lines: tuple[str, ...] = ()
    """Lines of the header that explain the entries of q and v of joints with several entries.
    ASCII.
    """
    rates: bool = True
    """True if every velocity is the rate of a coordinate, so that derivatives along velocities are
    derivatives by coordinates.
    """
    contacts: tuple[str, ...] = ()
    """Contact points in order, if they are known."""
    forces: str = ""
    """Additional terms of the bias force besides C v + g, from drives and gravity compensation, in
    ASCII.
    """
    armature: bool = False
    """True if the mass matrix has an armature on its diagonal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", identifier(self.name))

    @property
    def checked(self) -> bool:
        """True if the functions return a status."""
        return self.text.checked

    def frames_of(self, function: Function | None) -> tuple[str, ...]:
        """Return the frames that a function uses."""
        return (
            ()
            if function is None or not function.needs_frame
            else self.frames
            if function.uses_all_frames
            else self.frames[:1]
        )

    def wrenches_of(self, arguments: Iterable[Array]) -> tuple[str, ...]:
        """Return the links whose wrenches are among these arguments, if there are several."""
        return self.wrenches if any("NW" in array.shape for array in arguments) else ()

    def contacts_of(self, function: Function | None) -> tuple[str, ...]:
        """Return the contact points that a function uses."""
        return self.contacts if function is not None and function.counts("NT") else ()

    def symbol(self, function: str) -> str:
        """Return the C name of a function."""
        return f"{self.name}_{derivatives.identifier_part(function)}"

    def c_file(self, function: str) -> str:
        """Return the name of the file of a function."""
        return f"{self.symbol(function)}.c"

    def batch_file(self, function: str) -> str:
        """Return the name of the file of a function for blocks of states."""
        return f"{self.symbol(function)}_batch.c"

    def device_file(self, function: str) -> str:
        """Return the name of the file of a function for a GPU thread."""
        return f"{self.symbol(function)}.cuh"

    def kernel_file(self, function: str) -> str:
        """Return the name of the file with the kernel of a function and its launcher."""
        return f"{self.symbol(function)}_cuda.cu"

    @property
    def cuda_header(self) -> str:
        """Name of the header that declares the functions for a GPU."""
        return f"{self.name}_cuda.h"

    @property
    def cuda_sincos_file(self) -> str:
        """Name of the file with the sine and cosine of a GPU's functions."""
        return f"{self.name}_sincos.cuh"

    @property
    def batch_header(self) -> str:
        """Name of the header that declares the functions for blocks of states."""
        return f"{self.name}_batch.h"

    @property
    def lanes_file(self) -> str:
        """Name of the file that loads states into lanes and stores them back."""
        return f"{self.name}_lanes.h"

    @property
    def header(self) -> str:
        """Name of the header that declares the functions."""
        return f"{self.name}.h"

    @property
    def sincos_file(self) -> str:
        """Name of the file with the generated sine and cosine."""
        return f"{self.name}_sincos.h"

    @property
    def context(self) -> dict[str, Any]:
        """Variables that every template can use."""
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
