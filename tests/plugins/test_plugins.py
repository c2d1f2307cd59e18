"""Plug-ins are found by entry points, and the rest works without each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from installed_copy import PLUGINS, PROJECT, InstalledCopy
from remote_stores import make_graph

if TYPE_CHECKING:
    from pathlib import Path

REGISTERED = {
    plugin: {
        group.removeprefix("daskgraphpart."): [
            name for name, home in names.items() if f".plugins.{plugin}" in home.replace(":", ".")
        ]
        for group, names in PROJECT["entry-points"].items()
    }
    for plugin in PLUGINS
}
ANSWERS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
import daskgraphpart as dgp
from daskgraphpart.cli.main import main
from daskgraphpart.dispatching.dispatch_options import LAYOUTS

def call(arguments):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            main(arguments)
        except SystemExit as ended:
            return ended.code or 0, out.getvalue(), err.getvalue()

print(json.dumps([[call(arguments) for arguments in json.loads(sys.argv[1])], dir(dgp), LAYOUTS]))
"""
"""Exit codes, outputs and errors of commands, called in one process, which imports once; and the public names."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plugins") / "graph"
    make_graph().write(directory, edge_format="csv", data_format="numpy")
    return directory


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_rest_works_without_a_plugin_and_its_words_are_gone(plugin: str, graph: Path, tmp_path: Path) -> None:
    copy, gone = InstalledCopy(tmp_path, without=plugin), REGISTERED[plugin]
    assert any(gone.values())
    options = ["--num-parts", "2", "--method", "random", "--workers", "2", "--cluster", "threads", "--quiet"]
    calls = [["--help"], ["partition", str(graph), "out", *options], ["verify", str(graph), "out", "--quiet"]]
    calls += [[name, "--help"] for name in gone["commands"]]
    done = copy.run("-c", ANSWERS, json.dumps(calls))
    assert done.stderr == ""
    (shown, made, verified, *missing), public, layouts = json.loads(done.stdout)
    assert "\n  partition " in shown[1]
    assert [name for name in gone["commands"] if f"\n  {name} " in shown[1]] == []
    assert "partition" in public
    assert set(gone["functions"]) & set(public) == set()
    assert set(gone["layouts"]) & set(layouts) == set()
    assert made[0] == 0 and made[2] == ""
    assert verified[0] == (2 if "verify" in gone["commands"] else 0)
    for name, (code, _, error) in zip(gone["commands"], missing, strict=True):
        assert code == 2
        assert f"No such command '{name}'" in error


def test_a_missing_plugin_is_one_sentence(tmp_path: Path) -> None:
    plugin, function = next((name, f) for name, gone in REGISTERED.items() for f in gone["functions"] if "." not in f)
    copy = InstalledCopy(tmp_path, without=plugin)
    done = copy.run("-c", f"import daskgraphpart as dgp; dgp.{function}")
    expected = (
        f"AttributeError: module 'daskgraphpart' has no attribute {function!r}; if a plug-in has it, install the "
        "package of the plug-in; all of ours come with daskgraphpart"
    )
    assert done.stderr.splitlines()[-1] == expected
    done = copy.call("no-such-command")
    assert len(done.stderr.splitlines()) == 1
    assert "If a plug-in has it, install the package of the plug-in" in done.stderr


OURS, ANOTHER = sorted(PROJECT["entry-points"]["daskgraphpart.commands"])[:2]
BROKEN = {
    "fails to import": (
        {"broken": "broken_plugin:missing"},
        "cannot import the command 'broken' of broken-plugin 1.2",
        "update or uninstall broken-plugin",
    ),
    "registers another's name": (
        {OURS: "broken_plugin:COMMAND"},
        f"broken-plugin 1.2 and daskgraphpart 0.2.0 both register the command {OURS!r}",
        "uninstall one of them",
    ),
    "breaks the contract": (
        {"odd": "json:dumps"},
        "the command 'odd' of broken-plugin 1.2 does not keep its contract",
        "expected a Command",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_one_sentence_with_its_package_and_the_rest_works(fault: str, tmp_path: Path) -> None:
    commands, what, hint = BROKEN[fault]
    copy = InstalledCopy(tmp_path)
    copy.register("broken-plugin", "1.2", {"daskgraphpart.commands": commands})
    (name,) = commands
    done = copy.call(name)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert what.lower() in line.lower()
    assert hint.lower() in line.lower()
    shown = copy.call("--help")
    assert shown.returncode == 0
    assert f"\n  {name} " in shown.stdout
    assert "not available" in " ".join(shown.stdout.lower().split())
    assert f"\n  {ANOTHER} " in shown.stdout


def test_no_plugin_is_imported_for_help_or_the_names_of_functions() -> None:
    program = (
        "import sys, daskgraphpart as dgp; dir(dgp); from daskgraphpart.cli.main import _summaries; _summaries();"
        "print([name for name in sys.modules if name.startswith('daskgraphpart.plugins.') and name.count('.') > 2])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
