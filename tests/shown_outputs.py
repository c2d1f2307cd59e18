"""Outputs that documents show: compared with those of the run that tests them, or written by `make outputs`.

On a page, a block of `output` that follows a block of code is what that code prints; a line `...` of it stands for
any lines. In a docstring, it is what follows `>>>`. Times are not compared, nor is the
directory of the test in values of Python.
"""

from __future__ import annotations

import ast
import logging
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from doctest import DocTestParser, Example
from io import StringIO
from itertools import pairwise
from textwrap import indent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BLOCK = re.compile(
    r'^(?P<indent> *)```(?P<language>bash|python|output|py title="(?P<file>[^"]+)")\n(?P<text>.*?)^(?P=indent)```$',
    re.M | re.S,
)
ONCE = re.compile(r"^first run: compiling kernels.*\n", re.MULTILINE)  # where no earlier test has compiled them
TIME = re.compile(r"\d[\d.,]*(?= (?:s|ms|min|h)\b)")


@dataclass(frozen=True)
class Block:
    """Code of a page, and where the output that it shows stands; none if it shows no output.

    A block with a title is a file of that name.
    """

    language: str
    file: str | None
    code: str
    indent: str
    shown: tuple[int, int] | None


def read_blocks(page: str) -> Iterator[Block]:
    """Each block of code of a page, with the output that follows."""
    for block, after in pairwise([*BLOCK.finditer(page), None]):
        if block is None or block["language"] == "output":
            continue
        is_output = (
            after is not None and after["language"] == "output" and not page[block.end() : after.start()].strip()
        )
        shown = after.span("text") if after is not None and is_output else None
        yield Block(block["language"], block["file"], dedented(block["text"], block["indent"]), block["indent"], shown)


def dedented(text: str, indent: str) -> str:
    """A block without the indentation of its tab."""
    return re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


def captured(run: Callable[[], object], directory: Path | None = None) -> str:
    """What code prints to both streams; without the directory of the test, which values of Python have."""
    printed, root = StringIO(), logging.getLogger()
    handlers, root.handlers = root.handlers, []  # without those of pytest, commands write to the terminal
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            run()
    finally:
        root.handlers = handlers
    text = ONCE.sub("", printed.getvalue())
    text = text if directory is None else text.replace(f"{directory}/", "")
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def run_like_a_notebook(code: str, names: dict[str, Any]) -> None:
    """Run statements, and print the value of the last one if it has one."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "block", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "block", "eval"), names)
        if value is not None:
            print(value if isinstance(value, str) else repr(value))


def is_same(printed: str, shown: str) -> bool:
    """Whether what is shown was printed, but for times and omitted lines."""
    pattern = re.sub(r"(?:\\ )*\\.\\.\\.\\\n", "(?:.*\\n)*", re.escape(TIME.sub("#", shown)))
    return re.fullmatch(pattern, TIME.sub("#", printed)) is not None


def cut_like(printed: str, shown: str) -> str:
    """What to show of an output: as many of its first or last lines as now, if `...` ends or begins what is shown."""
    lines, wanted = printed.splitlines(), shown.splitlines()
    if wanted and wanted[-1].strip() == "...":
        lines = [*lines[: len(wanted) - 1], wanted[-1]]
    elif wanted and wanted[0].strip() == "...":
        lines = [wanted[0], *lines[1 - len(wanted) :]]
    return "".join(f"{line}\n" for line in lines)


def replaced(page: str, outputs: dict[tuple[int, int], str]) -> str:
    """The page with other outputs at these places."""
    for (start, stop), output in sorted(outputs.items(), reverse=True):
        page = page[:start] + cut_like(output, page[start:stop]) + page[stop:]
    return page


def read_examples(docstring: str) -> list[Example]:
    """Examples of a docstring, each a statement and what it shows."""
    return DocTestParser().get_examples(docstring)


def run_examples(code: Sequence[str], names: dict[str, Any], directory: Path) -> list[str]:
    """Run statements one after the other, as an interactive interpreter does; what each prints."""
    return [captured(lambda one=one: run_like_a_notebook(one, names), directory) for one in code]  # type: ignore[misc]


def with_outputs(source: str, examples: Sequence[Example], printed: Sequence[str]) -> str:
    """The source of a module whose docstring shows other outputs; those that are the same keep their times."""
    wanted = [of.want if is_same(output, of.want) else output for of, output in zip(examples, printed, strict=True)]
    before, after = (_as_written(examples, outputs) for outputs in ([of.want for of in examples], wanted))
    (margin,) = {margin for margin in ("    ", "        ") if f"\n{indent(before, margin)}" in source}
    return source.replace(f"\n{indent(before, margin)}", f"\n{indent(after, margin)}")


def _as_written(examples: Sequence[Example], outputs: Sequence[str]) -> str:
    blocks = []
    for of, output in zip(examples, outputs, strict=True):
        first, *more = of.source.splitlines()
        blocks += [f">>> {first}", *(f"... {line}" for line in more), *output.splitlines()]
    return "".join(f"{line}\n" for line in blocks)
