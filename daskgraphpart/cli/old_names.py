"""Earlier names of commands and options: they work for one version, with a note, or say what is there instead."""

from __future__ import annotations

import logging
from itertools import pairwise

logger = logging.getLogger(__name__)

NEW_NAMES = {
    "chunk": "build",
    "convert": "parmetis convert",
    "remap": "to-original",
    "--columns": "--endpoints",
    "--copy-edata": "--copy-edge-data",
    "--edge-columns": "--edge-features",
    "--effort default": "--effort normal",
    "--effort fast": "--effort low",
    "--split-by": "--edge-types-from",
}
"""New names by old ones, of commands, options, and values of options."""
GONE = {
    "--imbalance": "give items of --balance their tolerance, such as --balance nodes=0.03,edges=0.1",
    "--reverse": "use from-original",
}
"""What to type in place of an option that is gone."""


SEPARATED = ("--edge-data", "--fill", "--labels", "--mask", "--node-data")
"""Options whose values began with TYPE:NAME, which is TYPE/NAME now."""


def renew(words: list[str]) -> list[str]:
    """Return a command and its words with new names in place of old ones, and log what changed."""
    new = _renewed(words[0]).split()
    for before, word in pairwise(words):
        if word.startswith("--"):
            option, sign, value = word.partition("=")
            new.append(_renewed(option.replace("_", "-")) + sign + _renewed_value(option, value))
        else:
            new.append(_renewed_value(before, word))
    return new


def _renewed_value(option: str, value: str) -> str:
    if f"{option} {value}" in NEW_NAMES:
        return _renewed(f"{option} {value}").removeprefix(f"{option} ")
    full_name, sign, rest = value.partition("=")
    of_type, colon, name = full_name.rpartition(":")
    is_whole = value.endswith(":*") or bool(sign) == (option == "--labels")  # a type or a value, without a name
    if option.replace("_", "-") not in SEPARATED or not colon or "/" in name or is_whole:
        return value
    logger.warning("%s %s is now %s/%s; the next version will not know the colon", option, full_name, of_type, name)
    return f"{of_type}/{name}{sign}{rest}"


def _renewed(name: str) -> str:
    if name not in NEW_NAMES:
        return name
    logger.warning("%s is now %s; the next version will not know the old name", name, NEW_NAMES[name])
    return NEW_NAMES[name]
