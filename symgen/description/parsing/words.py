"""Vocabularies of description formats: the names that an element may hold, and the verdict on every other name.

A reader declares for each structural element which names it reads and which it knowingly passes over. Any other name

    is refused  where it would change the robot: in an element whose content decides the dynamics (`closed`), or where the name is
                nearly one that is read (`<orgin>`, `<Axis>`), or an attribute is called as an element that is read is, or
                an element as an attribute;
    is left out elsewhere, with one warning a name, which strict reading refuses.

Both sentences name the nearest known name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from symgen.description.quantities import Place, shown
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.names import closest


@dataclass(frozen=True)
class Words:
    """The names that one kind of element may hold: those that are read, and those that are passed over in silence."""

    reads: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    closed: bool = False
    """True where an unknown name could change the dynamics."""
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Names that are refused although they are known: (what each is, what to do)."""

    def __contains__(self, name: str) -> bool:
        return name in self.reads or name in self.passes

    def nearest(self, name: str, present: Collection[str] = ()) -> str | None:
        """The known name that `name` is nearly, or None: none of those `present`, and none for a name with a prefix."""
        known = (word for word in (*self.reads, *self.passes) if word not in present)
        return None if ":" in name else closest(name, known)


@dataclass(frozen=True)
class Kind:
    """The names and the text that one kind of element may hold."""

    attributes: Words = Words()
    children: Words = Words()
    text: bool = False
    """True where the element's text is read."""


@dataclass
class Unread:
    """Checks the names of one description, and collects those that are left out."""

    form: str
    """The format, for sentences: `URDF`."""
    _places: dict[tuple[str, str], dict[Place, None]] = field(default_factory=dict)

    def check(self, kind: Kind, name: str, attributes: Iterable[str], place: Place) -> None:
        """Refuse the first attribute of an element that would change the robot; note those that are left out."""
        present = list(attributes)
        for attribute in present:
            if (
                attribute in kind.attributes or "}" in attribute or ":" in attribute
            ):  # others' namespaces
                continue
            if attribute in kind.attributes.refused:
                raise place.error(*kind.attributes.refused[attribute])
            element = (
                f"write it as an element: <{attribute} …/>"
                if attribute in kind.children.reads
                else ""
            )
            self._judge(
                kind.attributes,
                attribute,
                present,
                place,
                (f"the attribute {shown(attribute)}", f"of <{name}>"),
                element,
            )

    def child(self, kind: Kind, name: str, child: str, place: Place) -> None:
        """Refuse a child at `place` that is not read and would change the robot; note another one that is left out."""
        if child in kind.children.refused:
            raise place.error(*kind.children.refused[child])
        if child not in kind.children:
            attribute = (
                f'write it as an attribute: {child}="…"' if child in kind.attributes.reads else ""
            )
            self._judge(kind.children, child, (), place, (f"<{child}>", f"in <{name}>"), attribute)

    def words(self, kind: Kind, name: str, text: str, place: Place) -> None:
        """Refuse text in an element whose attributes decide the dynamics; note other text that is left out.

        Signs alone, such as a stray '>', change nothing.
        """
        if kind.text or not text:
            return
        if kind.attributes.closed and any(map(str.isalnum, text)):
            attributes = " ".join(f'{attribute}="…"' for attribute in kind.attributes.reads)
            raise place.error(
                f"the text {shown(text)} stands in <{name}>, which has no text",
                f"write <{name} {attributes}/>" if attributes else "leave it out",
            )
        self.leave_out(f"the text {shown(text)} in <{name}> is not read", place)

    def leave_out(self, what: str, place: Place, hint: str = "") -> None:
        """Note what is left out at `place`. All places of one name share a note."""
        self._places.setdefault((what, hint), {})[place] = None

    def notes(self) -> list[Note]:
        """One warning for each name that is left out."""
        return [
            Note(
                "warning",
                f"{next(iter(places)).short}: {what}{_more(len(places) - 1)}{f'; {hint}' if hint else ''}",
            )
            for (what, hint), places in self._places.items()
        ]

    def _judge(
        self,
        words: Words,
        name: str,
        present: Collection[str],
        place: Place,
        what: tuple[str, str],
        otherwise: str,
    ) -> None:
        """Refuse an unknown name, or leave it out. `what`: the name, and what it is in; `otherwise`: its known form."""
        near = words.nearest(name, present)
        if near is not None:
            hint = f"did you mean {shown(near)}?"
        else:
            hint = f"there are: {', '.join(words.reads)}" if words.reads else "leave it out"
        if otherwise or words.closed or near in words.reads:
            raise place.error(f"{what[0]} is not known here", otherwise or hint)
        self.leave_out(
            f"{' '.join(what)} is not known in {self.form}, and is left out",
            place,
            hint if near is not None else "",
        )


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
