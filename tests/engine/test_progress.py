"""What the words for progress stand for, in Python; and what each display writes."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import call
from inside import PROGRESS_KINDS, Resources, open_progress
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart.engine.displays import JsonProgress, LogProgress
from daskgraphpart.errors import OptionError

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
RESOURCES = Resources(1 << 28, "sync")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("progress") / "graph"
    assert call("generate", directory, "--nodes", "500", "--edges", "2e3", "--features", "2", "--quiet") == 0
    return directory


def run(listener: Any, stages: int = 2) -> None:
    for stage in range(stages):
        listener.begin(f"stage-{stage}", 2, 2000, 20)
        for _ in range(2):
            listener.advance(1000, 10)
        listener.end()
    listener.note("a <note> [bold]")


@pytest.mark.parametrize("kind", ["log", "bar"])
def test_without_a_terminal_progress_is_plain_lines(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with open_progress(kind) as listener:
            run(listener)
    finally:
        root.handlers = handlers
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["stage-0", "stage-1", "a <note> [bold]"]
    assert "2.0 kB in" in lines[0] and "B/s" in lines[0] and "rows/s" in lines[0]
    assert all(line.isprintable() and "?" not in line for line in lines)


def test_auto_has_no_lines_of_passes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="daskgraphpart"), open_progress("auto") as listener:
        run(listener)
    assert caplog.messages == ["a <note> [bold]"]


def test_lines_go_to_the_log_where_there_is_one(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="daskgraphpart"), open_progress("log") as listener:
        run(listener, 1)
    assert [record.message.split(":")[0] for record in caplog.records] == ["stage-0", "a <note> [bold]"]
    assert capsys.readouterr().err == ""


def test_json_lines_tell_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress("json") as listener:
        run(listener)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["begin", "end", "begin", "end", "note"]
    assert {event["version"] for event in events} == {1}
    assert events[0] | {"seconds": 0} == {
        "version": 1, "event": "begin", "stage": "stage-0", "units_done": 0, "units": 2, "bytes_done": 0, "bytes": 2000,
        "rows_done": 0, "rows": 20, "seconds": 0, "units_per_second": 0.0, "bytes_per_second": 0.0,
        "rows_per_second": 0.0, "seconds_left": None,
    }  # fmt: skip
    assert events[1]["units_done"] == 2 and events[1]["bytes_done"] == 2000 and events[1]["seconds_left"] == 0
    assert events[4]["text"] == "a <note> [bold]"
    documented = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert {key for event in events for key in event} | {event["event"] for event in events} <= documented


def test_long_stages_tell_how_far_they_are(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    run(JsonProgress(seconds_between_lines=0), 1)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["begin", "advance", "advance", "end", "note"]
    assert events[1]["units_done"] == 1
    with caplog.at_level("INFO", logger="daskgraphpart"):
        run(LogProgress(seconds_between_lines=0), 1)
    assert caplog.messages[0].startswith("stage-0: 1.0 kB of 2.0 kB, ")
    assert caplog.messages[0].endswith(" left")


def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setitem(os.environ, "TERM", "xterm-256color")
    monkeypatch.setitem(os.environ, "COLUMNS", "100")
    with open_progress("bar") as listener:
        run(listener)
        listener.begin("unfinished", 2, 2000, 0)
        listener.advance(1000, 0)
        listener.bars.refresh()
    shown = screen.getvalue()
    assert "\x1b[" in shown
    assert "stage-1: 2.0 kB in" in shown
    assert "a <note> [bold]" in shown
    assert "unfinished" in shown and "1.0 kB of 2.0 kB" in shown
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    plain = Terminal()
    monkeypatch.setattr(sys, "stderr", plain)
    with open_progress("bar") as listener:
        run(listener)
    assert "\x1b" not in plain.getvalue()


CELL = """
from daskgraphpart.engine.progress import open_progress
with open_progress(None) as listener:
    listener.begin("one", 2, 2000, 0)
    listener.note("a <note> [bold]")
    listener.pause = 0.0
    listener.advance(1000, 0)
    listener.advance(1000, 0)
    listener.end()
"""


@pytest.mark.filterwarnings("ignore")  # of the notebook client's own event loop
def test_a_kernel_shows_progress_as_text_that_goes_at_the_end() -> None:
    from nbclient import NotebookClient
    from nbformat import v4

    shown: list[str] = []

    class Client(NotebookClient):
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            if msg["msg_type"] in ("display_data", "update_display_data"):
                shown.append(msg["content"]["data"]["text/plain"])
            return super().process_message(msg, cell, cell_index)

    notebook = v4.new_notebook(cells=[v4.new_code_cell(CELL)])
    Client(notebook, kernel_name="python3", timeout=60).execute()
    assert shown[0] == "one: 2.0 kB"
    assert shown[2].startswith("a <note> [bold]\none: 1.0 kB of 2.0 kB")
    (output,) = notebook.cells[0].outputs
    assert output.data == {"text/plain": "a <note> [bold]"}


def test_functions_take_words_and_objects(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Mine:
        def __init__(self) -> None:
            self.stages: list[str] = []

        def begin(self, name: str, num_units: int, nbytes: int, num_rows: int) -> None:
            self.stages.append(name)

        def advance(self, nbytes: int, num_rows: int) -> None: ...

        def end(self) -> None: ...

        def note(self, text: str) -> None: ...

    mine = Mine()
    how = {"method": "random", **spelled(RESOURCES)}
    dgp.partition(graph, tmp_path / "a", 2, progress=mine, **how)
    assert {"assign-random", "bucket-edges", "build-graph"} <= set(mine.stages)
    assert capsys.readouterr().err == ""
    dgp.partition(graph, tmp_path / "b", 2, progress="json", **how)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["stage"] for event in events if event["event"] == "begin"] == mine.stages
    bucketed = next(event for event in events if event.get("stage") == "bucket-edges" and event["event"] == "end")
    assert bucketed["rows"] == bucketed["rows_done"] == 2000
    dgp.partition(graph, tmp_path / "c", 2, **how)
    assert capsys.readouterr() == ("", "")


def test_an_unknown_word_is_one_error(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"progress: unknown display 'loud'\. Choose from auto, bar, ") as caught:
        dgp.partition(graph, tmp_path / "out", 2, progress="loud", **spelled(RESOURCES))
    assert all(kind in str(caught.value) for kind in PROGRESS_KINDS)
