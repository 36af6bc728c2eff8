"""Runner of all attacks (`python -m tests.adversary`): returns 1 if an attack refuted a claim.

Each attack runs in a separate process, for an equal share of the time, with an empty cache and, by
default, with a new random seed. The files that reproduce a failure are kept in a folder.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import random
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import tests.adversary
from symgen.machine.compilers import compiler_version
from symgen.support.version import __version__
from tests.adversary import Failure

CASES = Path("build/adversary")
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "explanation" / "trust.md"
_TABLE = re.compile(r"(<!-- the last run -->\n).*?(<!-- its end -->)", re.DOTALL)
AT_ONCE = 2
PATIENCE = 120
"""Seconds beyond its share after which an attack is stopped; this counts as a failure."""


@dataclass
class Outcome:
    """Result of one attack."""

    attack: str
    tries: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def attacks() -> list[str]:
    return sorted(
        m.name
        for m in pkgutil.iter_modules(tests.adversary.__path__)
        if not m.name.startswith(("_", "test_"))
    )


def carry_out(attack: str, tries: Iterator[Failure | None], seconds: float, cases: Path) -> Outcome:
    """Run tries until the time is over; keep the files of each failure in `cases`."""
    outcome, start = Outcome(attack), time.monotonic()
    while (now := time.monotonic() - start) < seconds or not outcome.tries:
        try:
            failure = next(tries)
        except Exception as error:  # an exception in the attack itself counts as a failure
            outcome.failures.append(f"the attack itself broke: {type(error).__name__}: {error}")
            break
        outcome.tries += 1
        if failure is not None:
            outcome.failures.append(failure.sentence)
            _keep(cases / f"{attack}-{len(outcome.failures)}", failure)
    outcome.seconds = now
    return outcome


def _keep(folder: Path, failure: Failure) -> None:
    for name, content in {"failure.txt": failure.sentence + "\n", **failure.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        )


def run_in_own_process(attack: str, seed: int, seconds: float, cases: Path) -> Outcome:
    """Run an attack in a separate process; a crash of that process is a failure of this attack."""
    with tempfile.TemporaryDirectory(prefix="symgen-adversary-") as folder:
        command = [
            sys.executable,
            "-m",
            "tests.adversary",
            "--one",
            attack,
            "--seed",
            str(seed),
            "--seconds",
            str(seconds),
            "--cases",
            str(cases),
        ]
        environment = os.environ | {
            "SYMGEN_CACHE": f"{folder}/cache",
            "SYMGEN_CACHE_PROGRAMS": "off",
            "TMPDIR": folder,
        }
        try:
            completed = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=seconds + PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return Outcome(
                attack, 0, seconds + PATIENCE, [f"a try takes longer than {PATIENCE} seconds"]
            )
    lines = completed.stdout.splitlines()
    try:
        return Outcome(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        end = (completed.stderr.strip().splitlines() or ["nothing"])[-1]
        return Outcome(
            attack, 0, seconds, [f"its process ended with {completed.returncode} and said {end}"]
        )


def table(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        "| attack | the word that it attacks | tries | failures | minutes |",
        "|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        word = importlib.import_module(f"tests.adversary.{outcome.attack}").WORD
        rows.append(
            f"| `{outcome.attack}` | {word[0].upper()}{word[1:].rstrip('.')} | {outcome.tries} |"
            f" {len(outcome.failures)} | {outcome.seconds / 60:.1f} |"
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.adversary", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--minutes", type=float, default=10, help="for all attacks together (default 10)"
    )
    parser.add_argument("--seed", type=int, help="unless given, one that nobody has looked at")
    parser.add_argument(
        "--only", nargs="+", choices=attacks(), metavar="ATTACK", help="these alone"
    )
    parser.add_argument(
        "--cases", type=Path, default=CASES, help=f"where failures are kept (default {CASES})"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/explanation/trust.md"
    )
    parser.add_argument("--one", choices=attacks(), help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    if options.one:
        tries = importlib.import_module(f"tests.adversary.{options.one}").tries(seed)
        print(json.dumps(asdict(carry_out(options.one, tries, options.seconds, options.cases))))
        return 0
    names = options.only or attacks()
    share = options.minutes * 60 * min(AT_ONCE, len(names)) / len(names)
    print(f"seed {seed}, {share:.0f} seconds an attack", flush=True)
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        outcomes = list(
            pool.map(lambda name: run_in_own_process(name, seed, share, options.cases), names)
        )
    lines = table(outcomes)
    print("\n".join(lines))
    for outcome in outcomes:
        for k, sentence in enumerate(outcome.failures, 1):
            print(textwrap.shorten(f"FAILED {outcome.attack}-{k}: {sentence}", 600))
    if options.write:
        when = (
            f"{datetime.now(UTC):%Y-%m-%d}, seed {seed}, symgen {__version__}, Python"
            f" {platform.python_version()}, {compiler_version()}, {platform.machine()}"
        )
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            _TABLE.sub(
                lambda m: f"{m[1]}\n" + "\n".join([f"{when}:", "", *lines, ""]) + f"\n{m[2]}", page
            ),
            encoding="utf-8",
        )
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
