"""What type checkers see is what is there: names and methods that plug-ins add, and each wrong call of a file."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import daskgraphpart

PACKAGE = Path(daskgraphpart.__file__).parent
ROOT = PACKAGE.parent
CALLS = ROOT / "tests" / "typing" / "calls.py"


def for_checkers(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a module or class that only type checkers read."""
    blocks = (of.body for of in body if isinstance(of, ast.If) and ast.unparse(of.test) == "TYPE_CHECKING")
    return [statement for block in blocks for statement in block]


def imported(body: list[ast.stmt]) -> dict[str, str]:
    """By name, the full name of what a module imports for type checkers."""
    found = (of for of in for_checkers(body) if isinstance(of, ast.ImportFrom))
    return {alias.asname or alias.name: f"{of.module}.{alias.name}" for of in found for alias in of.names}


def registered() -> dict[str, str]:
    """Full names of the functions of our plug-ins, by the name they are registered with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: home.replace(":", ".") for name, home in project["entry-points"]["daskgraphpart.functions"].items()}


@pytest.mark.needs
def test_checkers_know_every_public_name_from_where_it_is() -> None:
    body = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
    ours = {name: f"daskgraphpart.{module}.{name}" for name, module in daskgraphpart._HOMES.items()}
    ours |= {name: f"daskgraphpart.{module}" for name, module in daskgraphpart._MODULES.items()}
    assert imported(body) == ours | {name: home for name, home in registered().items() if "." not in name}


@pytest.mark.needs
def test_checkers_know_every_method_that_plugins_add() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        homes = imported(body)
        for noun in (of for of in body if isinstance(of, ast.ClassDef)):
            for method in for_checkers(noun.body):
                assert isinstance(method, ast.Assign), f"{path}: {ast.unparse(method)}"
                first, dot, rest = ast.unparse(method.value).partition(".")
                found[f"{noun.name}.{ast.unparse(method.targets[0])}"] = f"{homes[first]}{dot}{rest}"
    assert found == {name: home for name, home in registered().items() if "." in name}


def wrong_lines() -> set[int]:
    """Lines of the file of calls that a comment calls wrong."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "  # wrong: " in line}


def test_about_half_of_the_calls_are_wrong() -> None:
    calls = [of for of in ast.walk(ast.parse(CALLS.read_text(encoding="utf-8"))) if isinstance(of, ast.stmt)]
    public = {of.lineno for of in calls if re.search(r"\w\.\w+\(", ast.unparse(of))}
    assert 20 <= len(wrong_lines()) <= len(public) - 20


@pytest.mark.needs
def test_mypy_finds_each_wrong_call_and_blames_no_other() -> None:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(CALLS)]  # strict, as all
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr == ""
    faults = [line.split(":", 3) for line in done.stdout.splitlines()]
    found = {int(number) for path, number, kind, _ in faults if kind == " error" and (ROOT / path) == CALLS}
    assert found == wrong_lines(), done.stdout


@pytest.mark.needs
def test_pyright_finds_each_wrong_call_and_blames_no_other(tmp_path: Path) -> None:
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps({"include": [str(CALLS)], "extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}))
    command = [sys.executable, "-m", "basedpyright", "--project", project, "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, check=False)
    faults = json.loads(done.stdout)["generalDiagnostics"]
    found = {of["range"]["start"]["line"] + 1 for of in faults if of["severity"] == "error"}
    assert found == wrong_lines(), done.stdout
