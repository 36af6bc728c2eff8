"""Recorded sizes of identities: `python -m tests.identity_sizes --write` records them.

The difference of an identity's sides is relative to its size.
`verification/test_identities_of_reference.py` compares the sizes with the recorded ones.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path

from tests.shared.reference_functions import CASES, NAMED, exact_results, functions

FILE = Path(__file__).with_name("identity_sizes.json")
DIGITS = 6
Sizes = dict[str, dict[str, list[float]]]
"""Robot → identity → the smallest and the largest size over states and entries."""


def sizes_of(name: str, title: str) -> list[float]:
    """Return the smallest and the largest size of an identity of a robot."""
    identity = NAMED[title]
    with exact_results(name).scalars.working():
        _, size = identity.distance(functions(name, identity))
    return [float(f"{float(x):.{DIGITS}g}") for x in (size.min(), size.max())]


@cache
def recorded() -> Sizes:
    """Return the recorded sizes."""
    sizes: Sizes = json.loads(FILE.read_text(encoding="utf-8"))
    return sizes


def _text(sizes: Sizes) -> str:
    """Return JSON with one line an identity."""
    robots = [
        f'"{name}": {{\n'
        + ",\n".join(
            f"  {json.dumps(title, ensure_ascii=False)}: {pair}" for title, pair in of.items()
        )
        + "\n}"
        for name, of in sizes.items()
    ]
    return "{" + ",\n".join(robots) + "}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    sizes: Sizes = {}
    for name, title in CASES:
        sizes.setdefault(name, {})[title] = sizes_of(name, title)
    text = _text(sizes)
    if parser.parse_args().write:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
