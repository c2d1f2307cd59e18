"""What type checkers see is what is there: public names, and each wrong call of a file."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

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


def test_checkers_know_every_public_name_from_where_it_is() -> None:
    body = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
    ours = {name: f"daskgraphpart.{module}.{name}" for name, module in daskgraphpart._HOMES.items()}
    ours |= {name: f"daskgraphpart.{module}" for name, module in daskgraphpart._MODULES.items()}
    assert imported(body) == ours


def wrong_lines() -> set[int]:
    """Lines of the file of calls that a comment calls wrong."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "  # wrong: " in line}


def test_about_half_of_the_calls_are_wrong() -> None:
    calls = [of for of in ast.walk(ast.parse(CALLS.read_text(encoding="utf-8"))) if isinstance(of, ast.stmt)]
    public = {of.lineno for of in calls if re.search(r"\w\.\w+\(", ast.unparse(of))}
    assert 20 <= len(wrong_lines()) <= len(public) - 20


def test_mypy_finds_each_wrong_call_and_blames_no_other() -> None:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(CALLS)]  # strict, as all
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr == ""
    faults = [line.split(":", 3) for line in done.stdout.splitlines()]
    found = {int(number) for path, number, kind, _ in faults if kind == " error" and (ROOT / path) == CALLS}
    assert found == wrong_lines(), done.stdout


def test_pyright_finds_each_wrong_call_and_blames_no_other(tmp_path: Path) -> None:
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps({"include": [str(CALLS)], "extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}))
    command = [sys.executable, "-m", "basedpyright", "--project", project, "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, check=False)
    faults = json.loads(done.stdout)["generalDiagnostics"]
    found = {of["range"]["start"]["line"] + 1 for of in faults if of["severity"] == "error"}
    assert found == wrong_lines(), done.stdout
