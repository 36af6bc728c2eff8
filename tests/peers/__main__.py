"""`python -m tests.peers` measures and writes; `--again` only writes, `--counts` only counts."""

from __future__ import annotations

import argparse
import json
import os
import sys

from symgen.benchmarks.bench import STATES
from tests.peers import figures, page
from tests.peers.measuring import ROUNDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument(
        "--again", action="store_true", help="from the figures of the last run, without measuring"
    )
    parser.add_argument(
        "--counts",
        action="store_true",
        help="operations as they are today; times stay those of the last run",
    )
    options = parser.parse_args()
    if not options.again:
        measured = (
            figures.counted(
                json.loads(page.FIGURES.read_text(encoding="utf-8")), figures.to_terminal
            )
            if options.counts
            else figures.measured(figures.to_terminal)
        )
        page.FOLDER.mkdir(exist_ok=True)
        page.FIGURES.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(page.FIGURES.read_text(encoding="utf-8"))
    page.PAGE.write_text(page.text(recorded, ROUNDS, STATES), encoding="utf-8")
    page.draw(recorded)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(
        code
    )  # past the destructors of several copies of one C++ library, which end in a crash
