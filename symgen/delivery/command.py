"""The command that makes a folder again out of the description that lies in it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from symgen.delivery.omissions import missing_words
from symgen.vocabulary.functions import PREPARING


def command(
    name: str, manifest: Mapping[str, Any], evidence: bool, prefix: str | None = None
) -> list[str]:
    """The canonical command, word by word, to be given inside the folder: it writes the same bytes to ../NAME-again.

    `name` is the C name, `prefix` the --name that was given, `manifest` has the functions, the options and what is not
    modelled. Every choice is named,
    and nothing of the machine: what the reading decided (gravity, locked joints, snaps) stands in NAME.toml.
    """
    options = manifest["options"]
    words = ["symgen", "generate", f"{name}.toml", "-o", f"../{name}-again"]
    for function, entry in manifest["functions"].items():
        if function in PREPARING:
            continue
        words += ["-f", f"{function}={entry['method']}"]
    for word in missing_words(manifest["not_modelled"]):
        words += ["-f", word]
    words += ["--real", manifest["real"]]
    for option in (
        "name",
        "frame",
        "payload",
        "wrench",
        "jacobian_frame",
        "jacobian_order",
        "task_rows",
        "contact",
        "effort",
        "form",
        "parameter",
        "trig",
        "target",
    ):
        chosen = prefix if option == "name" else options.get(option)
        for value in chosen if isinstance(chosen, list) else () if chosen is None else (chosen,):
            flag = f"--{option.replace('_', '-')}"
            words += [f"{flag}={value}"] if value.startswith("-") else [flag, value]
    for wrapper in options.get("wrap", ()):
        words += ["--wrap", wrapper]
    words += [f"--{flag}" for flag in ("baumgarte", "checked", "batch") if options.get(flag)]
    return words + (["--no-evidence"] if options.get("target") and not evidence else [])


def lines(words: list[str], width: int = 110) -> list[str]:
    """The command as a shell reads it, wrapped behind backslashes, never between an option and its value."""
    parts: list[str] = []
    for word in words:
        if (
            parts
            and parts[-1].startswith("-")
            and " " not in parts[-1]
            and not word.startswith("-")
        ):
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
    found = [""]
    for part in parts:
        if found[-1] and len(found[-1]) + len(part) > width:
            found.append(" ")
        found[-1] += f" {part}" if found[-1] else part
    return [line + " \\" for line in found[:-1]] + found[-1:]
