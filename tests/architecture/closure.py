"""What one has to read to follow a function: the modules it imports, and those that these import, from the source text.

Imports inside functions count, and names of modules in strings, as ``"daskgraphpart.cli.main:main"``; those for type
checkers do not, nor packages of others.
`python tests/architecture/closure.py` prints lines, files, and the imports of our own modules inside functions.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[2] / "daskgraphpart"
ENTRY = "daskgraphpart.jobs.partition_function"


@cache
def modules() -> dict[str, Path]:
    """All modules of the package by name."""
    paths = {path.relative_to(PACKAGE.parent).with_suffix(""): path for path in PACKAGE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


@cache
def imports_of(path: Path) -> list[tuple[str, bool, int]]:
    """Each module of ours that a file imports, whether inside a function, and the line."""
    known = modules()

    def walk(node: ast.AST, is_inside: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            names = [alias.name for alias in child.names] if isinstance(child, ast.Import) else []
            if isinstance(child, ast.ImportFrom):
                names = [child.module or "", *(f"{child.module}.{alias.name}" for alias in child.names)]
            if isinstance(child, ast.Constant) and isinstance(child.value, str) and "." in child.value:
                names, is_inside = [child.value.partition(":")[0], f"{PACKAGE.name}.{child.value}"], False
            yield from ((name, is_inside, child.lineno) for name in names if name in known)
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, is_inside or is_function)

    return list(walk(ast.parse(path.read_text(encoding="utf-8")), False))


def closure(entry: str = ENTRY) -> dict[str, int]:
    """Lines of each module that has to be read to follow `entry`."""
    known, seen, left = modules(), dict[str, int](), [entry]
    while left:
        name = left.pop()
        if name not in seen:
            seen[name] = len(known[name].read_text(encoding="utf-8").splitlines())
            left += [imported for imported, *_ in imports_of(known[name])]
    return seen


def inner_imports() -> list[str]:
    """Places of imports of our own modules inside functions."""
    places = {
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in modules().values()
        for _, is_inside, line in imports_of(path)
        if is_inside
    }
    return sorted(places)


if __name__ == "__main__":
    found = closure()
    print(f"{sum(found.values()):,} lines in {len(found)} files; {len(inner_imports())} imports inside functions")
