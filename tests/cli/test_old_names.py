"""Names of an earlier version do the same as the new ones, and say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import call, every_command
from inside import NEW_NAMES

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path


def test_old_names_do_the_same_and_name_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("b,a,w\n0,1,5\n1,2,6\n")
    old = ("--edges", "e.csv", "--columns=a,b", "--edge_columns", "w", "--add-reverse", "dgl", "--copy-edata")
    new = ("--edges", "e.csv", "--endpoints=a,b", "--edge-features", "w", "--add-reverse", "dgl", "--copy-edge-data")
    assert call("chunk", "old", *old, "--name", "g", "--quiet") == 0
    said = caplog.text
    assert call("build", "new", *new, "--name", "g", "--quiet") == 0
    assert caplog.text == said
    assert [(of.relative_to("new"), of.read_bytes()) for of in sorted((tmp_path / "new").rglob("*.csv"))] == [
        (of.relative_to("old"), of.read_bytes()) for of in sorted((tmp_path / "old").rglob("*.csv"))
    ]
    for before in ("chunk", "--columns", "--edge-columns", "--copy-edata"):
        assert f"{before} is now {NEW_NAMES[before]}; the next version" in said
    (tmp_path / "n.csv").write_text("id,x,y\n0,1,\n1,2,3\n2,4,5\n")
    old = ("--edges", "a:r:a=e.csv:a,b", "--edge-data=a:r:a=e.csv:*", "--node-data", "a:y=n.csv:y", "--fill", "a:y=7")
    assert call("build", "again", *old, "--node-data", "a/x=n.csv:x", "--quiet") == 0
    said = caplog.text
    assert "--node-data a:y is now a/y" in said and "--fill a:y is now a/y" in said
    assert [*dgp.read_chunked("again").node_data["a"]] == ["y", "x"]
    for form in (("--effort", "fast"), ("--effort=fast",)):
        assert call("assign", "new", "owners", "--num-parts", "2", *form, "--overwrite", "--quiet") == 0
        assert "--effort fast is now --effort low" in caplog.text
        caplog.clear()


@pytest.mark.parametrize(("option", "hint"), [("--imbalance", "--balance nodes=0.03"), ("--reverse", "from-original")])
def test_an_option_that_is_gone_says_what_to_type(option: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("partition", "graph", "parts", "--num-parts", "2", option, "1") == 2
    assert hint in capsys.readouterr().err


def test_new_names_are_those_of_commands_and_options() -> None:
    known = {" ".join(words) for words in every_command()}
    options = {name for command in every_command().values() for param in command.params for name in param.opts}
    for before, now in NEW_NAMES.items():
        assert now in known or now.split()[0] in options, now
        assert before not in known | options
