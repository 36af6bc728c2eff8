"""Vocabularies of description formats: the names that an element may contain, and the treatment of
every other name.

For each structural element, a reader declares the names that it reads and those that it ignores on
purpose. Any other name

    is refused   if it could change the robot: in an element whose content affects the dynamics
                 (`closed`); if it is similar to a name that is read (`<orgin>`, `<Axis>`); if an
                 attribute has the name of an element that is read, or vice versa;
    is left out  otherwise, with one warning per name, which strict reading refuses.

Both messages suggest the nearest known name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from symgen.description.quantities import Location, quote
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.names import closest


@dataclass(frozen=True)
class Words:
    """Names that one kind of element may contain: names that are read, and names that are ignored
    silently.
    """

    reads: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    closed: bool = False
    """True if an unknown name could change the dynamics."""
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Known names that are refused, each with (fault, remedy)."""

    def __contains__(self, name: str) -> bool:
        return name in self.reads or name in self.passes

    def nearest(self, name: str, present: Collection[str] = ()) -> str | None:
        """Return the known name most similar to `name`, or None. Names in `present`, and names with
        a prefix, do not count.
        """
        candidates = (word for word in (*self.reads, *self.passes) if word not in present)
        return None if ":" in name else closest(name, candidates)


@dataclass(frozen=True)
class Kind:
    """Names and text that one kind of element may contain."""

    attributes: Words = Words()
    children: Words = Words()
    text: bool = False
    """True if the element's text is read."""


@dataclass
class Unread:
    """Check of the names of one description, and collection of those that are left out."""

    form: str
    """The format, for messages, such as `a URDF`."""
    _places: dict[tuple[str, str], dict[Location, None]] = field(default_factory=dict)

    def check(self, kind: Kind, name: str, attributes: Iterable[str], location: Location) -> None:
        """Refuse the first attribute of an element that could change the robot; note the attributes
        that are left out.
        """
        present = list(attributes)
        for attribute in present:
            if (
                attribute in kind.attributes or "}" in attribute or ":" in attribute
            ):  # other namespaces
                continue
            if attribute in kind.attributes.refused:
                raise location.error(*kind.attributes.refused[attribute])
            element = (
                f"write it as an element: <{attribute} …/>"
                if attribute in kind.children.reads
                else ""
            )
            self._judge(
                kind.attributes,
                attribute,
                present,
                location,
                (f"the attribute {quote(attribute)}", f"of <{name}>"),
                element,
            )

    def child(self, kind: Kind, name: str, child: str, location: Location) -> None:
        """Refuse a child that is not read and could change the robot; note any other child that is
        left out.
        """
        if child in kind.children.refused:
            raise location.error(*kind.children.refused[child])
        if child not in kind.children:
            attribute = (
                f'write it as an attribute: {child}="…"' if child in kind.attributes.reads else ""
            )
            self._judge(
                kind.children, child, (), location, (f"<{child}>", f"in <{name}>"), attribute
            )

    def words(self, kind: Kind, name: str, text: str, location: Location) -> None:
        """Refuse text in an element whose attributes affect the dynamics; note other text that is
        left out.

        Punctuation alone, such as a stray '>', changes nothing.
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
        """Note what is left out at `location`. All locations of one name share a note."""
        self._places.setdefault((omission, hint), {})[location] = None

    def notes(self) -> list[Note]:
        """Return one warning for each name that is left out."""
        return [
            Note(
                "warning",
                f"{next(iter(places)).short}:"
                f" {omission}{_more(len(places) - 1)}{f'; {hint}' if hint else ''}",
            )
            for (omission, hint), places in self._places.items()
        ]

    def _judge(
        self,
        words: Words,
        name: str,
        present: Collection[str],
        location: Location,
        name_and_parent: tuple[str, str],
        otherwise: str,
    ) -> None:
        """Refuse an unknown name, or leave it out. `otherwise` is its known form, if any."""
        near = words.nearest(name, present)
        if near is not None:
            hint = f"did you mean {quote(near)}?"
        else:
            hint = f"there are: {', '.join(words.reads)}" if words.reads else "remove it"
        if otherwise or words.closed or near in words.reads:
            raise location.error(f"{name_and_parent[0]} is not known here", otherwise or hint)
        self.leave_out(
            f"{' '.join(name_and_parent)} is not known in {self.form}, and is left out",
            location,
            hint if near is not None else "",
        )


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
