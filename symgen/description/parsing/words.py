"""Vocabularies of description formats: the names that an element may contain, and the treatment of
unknown names.

For each kind of element, a reader declares the names that it reads and the names that it ignores on
purpose. An unknown name is refused if it could change the robot:

    in an element whose content affects the dynamics (`closed`);
    if it is similar to a name that the reader reads (`<orgin>`, `<Axis>`);
    if the reader reads an element of this name and the file has an attribute, or vice versa.

Any other unknown name is left out with one warning per name; strict reading refuses it. Both
messages suggest the most similar known name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from symgen.description.quantities import Location, quote
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.names import closest


@dataclass(frozen=True)
class Words:
    """Names of the attributes, or of the children, that one kind of element may have.

    A reader reads the names `reads` and silently ignores the names `ignores`.
    """

    reads: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    closed: bool = False
    """True if an unknown name could change the dynamics."""
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Known names that are refused, each with (fault, remedy)."""

    def __contains__(self, name: str) -> bool:
        return name in self.reads or name in self.ignores

    def nearest(self, name: str, present: Collection[str] = ()) -> str | None:
        """Return the known name that is most similar to `name`, or None if none is similar.

        The element already contains the names `present`, so that none of them was meant. A name
        with a prefix, such as `gz:name`, is similar to none.
        """
        candidates = (word for word in (*self.reads, *self.ignores) if word not in present)
        return None if ":" in name else closest(name, candidates)


@dataclass(frozen=True)
class Kind:
    """Vocabulary of one kind of element: its attributes and children, and whether it has text."""

    attributes: Words = Words()
    children: Words = Words()
    text: bool = False
    """True if the element's text is read."""


@dataclass
class Unread:
    """Check of the names in one description, and collection of the names that are left out."""

    form: str
    """The format with its article, such as `a URDF`, for messages."""
    _locations: dict[tuple[str, str], dict[Location, None]] = field(default_factory=dict)

    def check(self, kind: Kind, name: str, attributes: Iterable[str], location: Location) -> None:
        """Refuse an unknown attribute that could change the robot; note any other unknown one.

        `name` is the name of the element, `attributes` the names of all its attributes.
        """
        present = list(attributes)
        for attribute in present:
            in_namespace = "}" in attribute or ":" in attribute
            if attribute in kind.attributes or in_namespace:
                continue
            if attribute in kind.attributes.refused:
                raise location.error(*kind.attributes.refused[attribute])
            remedy = (
                f"write it as an element: <{attribute} …/>"
                if attribute in kind.children.reads
                else ""
            )
            self._refuse_or_leave_out(
                kind.attributes,
                attribute,
                present,
                location,
                (f"the attribute {quote(attribute)}", f"of <{name}>"),
                remedy,
            )

    def child(self, kind: Kind, name: str, child: str, location: Location) -> None:
        """Refuse an unknown child element that could change the robot; note any other unknown one.

        `name` is the name of the element, `child` that of its child.
        """
        if child in kind.children.refused:
            raise location.error(*kind.children.refused[child])
        if child not in kind.children:
            remedy = (
                f'write it as an attribute: {child}="…"' if child in kind.attributes.reads else ""
            )
            self._refuse_or_leave_out(
                kind.children, child, (), location, (f"<{child}>", f"in <{name}>"), remedy
            )

    def words(self, kind: Kind, name: str, text: str, location: Location) -> None:
        """Check the text between the tags of an element whose text no reader reads.

        The text is refused if the attributes of the element affect the dynamics, and noted
        otherwise. Punctuation alone, such as a stray '>', is only noted.
        """
        if kind.text or not text:
            return
        if kind.attributes.closed and any(map(str.isalnum, text)):
            attributes = " ".join(f'{attribute}="…"' for attribute in kind.attributes.reads)
            raise location.error(
                f"<{name}> contains the text {quote(text)}, but it takes only attributes",
                f"write <{name} {attributes}/>" if attributes else "remove the text",
            )
        self.leave_out(f"the text {quote(text)} in <{name}> is not read", location)

    def leave_out(self, omission: str, location: Location, hint: str = "") -> None:
        """Record an omission at `location`. All locations of the same omission share one note."""
        self._locations.setdefault((omission, hint), {})[location] = None

    def notes(self) -> list[Note]:
        """Return one warning for each omission, with its first location and the number of
        others."""
        return [
            Note(
                "warning",
                f"{next(iter(locations)).short}:"
                f" {omission}{_more(len(locations) - 1)}{f'; {hint}' if hint else ''}",
            )
            for (omission, hint), locations in self._locations.items()
        ]

    def _refuse_or_leave_out(
        self,
        words: Words,
        name: str,
        present: Collection[str],
        location: Location,
        name_and_parent: tuple[str, str],
        remedy: str,
    ) -> None:
        """Refuse an unknown name if it could change the robot, else leave it out.

        `remedy` is not empty if the name is known as an attribute instead of a child, or vice
        versa.
        """
        nearest_name = words.nearest(name, present)
        if nearest_name is not None:
            hint = f"did you mean {quote(nearest_name)}?"
        else:
            hint = f"there are: {', '.join(words.reads)}" if words.reads else "remove it"
        if remedy or words.closed or nearest_name in words.reads:
            raise location.error(f"{name_and_parent[0]} is not known here", remedy or hint)
        self.leave_out(
            f"{' '.join(name_and_parent)} is not known in {self.form}, and is left out",
            location,
            hint if nearest_name is not None else "",
        )


def _more(count: int) -> str:
    """Return the number of further locations in parentheses; empty for zero."""
    return f" (and {count} more)" if count else ""
