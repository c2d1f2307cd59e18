"""What holds for every command, now and later: help, usage errors, logs, progress, completion, Ctrl-C, exit codes."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from commands import call, every_command
from inside import COMMANDS, group

import daskgraphpart as dgp
from daskgraphpart import __version__
from daskgraphpart.errors import EnvironmentFaultError, OptionError

EVERY = every_command()
LEAVES = {path: command for path, command in EVERY.items() if not isinstance(command, click.Group)}
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from daskgraphpart.cli.main import main; main()"
)
RANDOM = ("--num-parts", "2", "--method", "random")


def named(path: tuple[str, ...]) -> str:
    return "-".join(path)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of every test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("manners") / "graph"
    assert call("generate", directory, "--nodes", "2000", "--edges", "1e4", "--features", "2", "--quiet") == 0
    return directory


def run(*arguments: Any, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daskgraphpart", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


# help


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_every_help_has_an_example_that_parses(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*path, "--help") == 0
    Path("ips.txt").touch()  # an example names it
    shown = capsys.readouterr().out.replace("\\\n", "")
    begin = f"daskgraphpart {' '.join(path)} "
    examples = [line.strip() for line in shown.splitlines() if f"{line.strip()} ".startswith(begin)]
    assert examples
    for example in examples:
        words = example.partition(" > ")[0].replace("'", "").split()[1 + len(path) :]
        if path in LEAVES:
            EVERY[path].make_context(named(path), words, parent=click.Context(group, **group.context_settings))


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_every_option_has_help_and_every_command_logs(path: tuple[str, ...]) -> None:
    missing = [param.name for param in LEAVES[path].params if isinstance(param, click.Option) and not param.help]
    assert missing == []
    assert {"log_level", "log_file"} <= {param.name for param in LEAVES[path].params}


def test_commands_and_exit_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {text}" in shown for name, (_, text) in COMMANDS.items())
    for code in ("0 done", "1 verify", "2 wrong input", "3 the machine", "70 a bug", "130 interrupted"):
        assert code in shown


def headings(shown: str) -> list[str]:
    """Headings of options in a help."""
    return [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_help_fits_a_terminal(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert call(*path, "--help") == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 60
    assert max(map(len, shown)) <= 80


def test_help_is_as_wide_as_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert call("partition", "--help") == 0
    assert 80 < max(map(len, capsys.readouterr().out.splitlines())) <= 110


def test_all_options_are_a_help_away(capsys: pytest.CaptureFixture[str]) -> None:
    for path, command in LEAVES.items():
        assert call(*path, "--help") == 0
        brief = capsys.readouterr().out
        assert "--help-all" in {name for param in command.params for name in param.opts} or "--help-all" not in brief
        full = brief
        if "--help-all" in brief:
            assert call(*path, "--help-all") == 0
            full = capsys.readouterr().out
        names = {param.opts[0] for param in command.params if isinstance(param, click.Option)}
        assert all(name in full for name in names)
        assert len(brief) <= len(full)
    assert call("partition", "--help") == 0
    assert headings(capsys.readouterr().out) == ["Options:", "Method:", "Tables:", "Output:", "Resources:", "Progress:"]


def test_resources_are_described_once(capsys: pytest.CaptureFixture[str]) -> None:
    for path in LEAVES:
        assert call(*path, "--help") == 0
        assert ("Resources:" in headings(capsys.readouterr().out)) == (path == ("partition",))


def test_the_number_of_parts_is_the_only_choice_one_has_to_make() -> None:
    required = {
        (*path, param.name)
        for path, command in LEAVES.items()
        for param in command.params
        if isinstance(param, click.Option) and param.required
    }
    assert all(name == "num_parts" for *_, name in required)
    assert {("assign", "num_parts"), ("partition", "num_parts")} <= required


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("disp", ["dispatch"]),
        ("partition g p --method m", ["metis", "multilevel"]),
        ("dispatch g p --graph-formats coo,cs", ["coo,csr", "coo,csc"]),
    ],
)
def test_commands_and_choices_are_completed(words: str, completed: list[str]) -> None:
    asked = {"COMP_WORDS": f"daskgraphpart {words}", "COMP_CWORD": str(len(words.split()))}
    done = run(env={**os.environ, **asked, "_DASKGRAPHPART_COMPLETE": "bash_complete"})
    assert done.stdout.split() == [f"plain,{word}" for word in completed]


# mistakes


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_a_mistake_of_usage_is_one_line(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*path, "--no-such-option") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: No such option")
    assert shown.err.endswith(f"See daskgraphpart {' '.join(path)} --help.\n")
    assert len(shown.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shuffle",), "No such command 'shuffle'."),
        (("partitoin", "a", "b"), "No such command 'partitoin'. Did you mean partition?"),
        (("parmetis", "run"), "No such command 'run'."),
        (("partition", "a", "b"), "Missing option '--num-parts'."),
        (("partition", "a", "--num-parts", "3"), "Missing OUT."),
        (("partition", "a", "b", "--num-parts", "many"), "'many' is not a valid integer."),
        (("partition", "a", "b", "--num-parts", "2", "--progress", "loud"), "'loud' is not one of 'auto', 'bar',"),
        (
            ("partition", "a", "b", "--num-parts", "2", "--seed", "-1"),
            "--seed -1 is too small. Use 0 or more.",
        ),
        (
            ("partition", "gone", "b", "--num-parts", "2", "--memory", "lots"),
            "--memory 'lots' is not a size. Use a number with a unit",
        ),
        (("assign", "--num-parts", "2"), "Missing GRAPH."),
        (
            ("build", "out", "--edges", "e.csv", "--edge-features", "--map-ids"),
            "--edge-features needs a value, but --map-ids is an option. If you mean it: --edge-features=--map-ids. See",
        ),
        (
            ("build", "out", "--edges", "e.csv", "--name", "--map_ids"),
            "--name needs a value, but --map_ids is an option.",
        ),
        (("partition", "out", "--from", "ogb", "--quiet"), "--from needs a value, but --quiet is an option."),
        (("verify",), "Missing OUT."),
        (("verify", "out"), "Missing GRAPH. Without it, give --checksums."),
        (("--log-level", "loud", "info", "x"), "'loud' is not one of"),
        (("--log-file", "none/job.log", "info", "x"), "--log-file"),
    ],
)
def test_mistakes_say_what_is_wrong(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == (3 if "--log-file" in arguments else 2)
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1


def test_an_option_behind_a_bare_one_and_a_value_that_is_meant_are_taken(directory: Path) -> None:
    (directory / "e.csv").write_text("0,1\n1,1\n")
    bare = ("--remove-self-loops", "--map-ids")
    assert call("build", directory / "out", "--edges", directory / "e.csv", *bare, "--name=--quiet") == 0
    assert json.loads((directory / "out" / "metadata.json").read_text())["graph_name"] == "--quiet"
    assert (directory / "out" / "id_map").is_dir()


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() in (0, 2)  # depends on the version of click
    shown = capsys.readouterr()
    assert "Usage: daskgraphpart [OPTIONS] COMMAND" in shown.out + shown.err


@pytest.mark.parametrize(
    ("fault", "code", "shown"),
    [
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (MemoryError(), 3, "error: Out of memory. Give a smaller --memory or fewer --workers.\n"),
        (OptionError("no", hint="try"), 2, "error: No. Try. [OptionError]\n"),
        (EnvironmentFaultError("disk full"), 3, "error: Disk full [EnvironmentFaultError]\n"),
        (RuntimeError("odd"), 70, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exit_codes_say_whose_fault_it_was(
    fault: BaseException,
    code: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr("daskgraphpart.cli.graph_commands.read_chunked", fail)
    assert call("info", "graph") == code
    assert capsys.readouterr() == ("", shown)
    assert ("This is a bug in daskgraphpart" in caplog.text) == (code == 70)


# logs and progress


def test_json_progress_is_json_lines_only_errors_included(
    graph: Path, directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = ("partition", graph, "out", *RANDOM, "--progress", "json")
    done = run(*line, "--log-level", "debug", "--log-file", "job.log")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {event["event"] for event in events} - {"advance"} == {"begin", "end", "log", "note"}
    assert {event["version"] for event in events} == {1}
    assert "replication factor" in done.stdout
    logged = (directory / "job.log").read_text().splitlines()
    assert any(" DEBUG " in line for line in logged)
    assert all(line[:2] == "20" for line in logged)
    assert call(*line) == 2
    error = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert error["event"] == "error" and error["exit_code"] == 2 and "not empty" in error["text"]
    assert call("partition", "gone", "out", *RANDOM) == 2
    assert capfd.readouterr().err.startswith("error: "), "the progress of one call does not change the next"


def test_without_a_terminal_there_are_no_control_characters(
    graph: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert call("partition", graph, "out", *RANDOM, "--progress", "log") == 0
    assert "bucket-edges: " in caplog.text
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err + caplog.text


def test_in_a_terminal_there_are_bars(graph: Path) -> None:
    import pty

    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "daskgraphpart", "partition", str(graph), "out", *RANDOM, "-v"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=env)
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    assert process.stdout is not None
    assert b"replication factor" in process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0
    assert b"\x1b[" in shown
    assert b"bucket-edges" in shown


def test_paths_are_shown_as_they_were_typed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("edges.csv").write_text("src,dst\na,b\nb,c\n")
    how = ("--edges", "edges*.csv", "--map-ids", *RANDOM)
    for typed in ("out", f"{directory}/absolute"):
        assert call("partition", typed, *how) == 0
        shown = {row[:12].strip(): row[12:] for row in capsys.readouterr().out.replace("\\\n", "").splitlines()}
        assert shown["config"] == f"{typed}/graph.json"
        assert shown["in PyG"] == f"daskgraphpart.open_partitions('{typed}').part(0).to_pyg()"
        assert call(*shlex.split(shown["to verify"])[1:]) == 0
        assert call("partition", typed, *how) == 2
        assert f"error: {typed}: the output directory is not empty" in capsys.readouterr().err


def test_commands_that_are_shown_work_for_names_that_begin_with_a_dash(directory: Path, capsys: Any) -> None:
    dgp.from_edges(([0, 1, 2], [1, 2, 0])).write_chunked("-graph")
    for typed in ("-out", "./-dotted", f"{directory}/-absolute"):
        assert call("partition", *RANDOM, "--", "-graph", typed) == 0
        shown = {row[:12].strip(): row[12:] for row in capsys.readouterr().out.splitlines()}
        for command in ("to verify", "to report"):
            assert call(*shlex.split(shown[command])[1:]) == 0, shown[command]
        capsys.readouterr()


def test_a_run_tells_what_matters_once(graph: Path, directory: Path, capsys: Any, caplog: Any) -> None:
    np.save("w.npy", np.arange(2000))
    line = ("partition", graph, "out", "--num-parts", "2", "--balance", "nodes,edges,file:w.npy")
    assert call(*line) == 0
    plan, *first_run = caplog.messages
    assert plan.startswith("plan: 2 parts; auto picked METIS and KaMinPar combined; ")
    assert [message[:10] for message in first_run] in ([], ["first run:"])  # where no kernel is compiled yet
    shown = {row[:12].strip(): row[12:] for row in capsys.readouterr().out.splitlines()}
    facts = ["method", "parts", "edge cut", "halo nodes", "balance", "time", "config"]
    assert list(shown) == [*facts, "to verify", "to report", "in DGL", "in PyG"]
    assert shown["method"].startswith("auto picked METIS and KaMinPar combined; kept ")
    assert all(f"{name} 1." in shown["balance"] for name in ("nodes", "edges", "w"))
    for balance in ("types:_N/train_maskk", "file:nope.npy"):
        assert call("partition", graph, "refused", "--num-parts", "2", "--balance", balance) == 2
        assert not Path("refused").exists()


# the process


def test_the_module_runs_as_the_command_does() -> None:
    assert run("--version").stdout.strip() == f"daskgraphpart {__version__}"


def test_versions_and_the_machine_for_a_bug_report(capsys: Any) -> None:
    for words in (("--version", "--verbose"), ("--verbose", "-V")):
        assert call(*words) == 0
        told = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
        assert told["daskgraphpart"].strip() == __version__
        assert told["duckdb"].strip() == metadata.version("duckdb")
        assert {"python", "system", "machine", "dask", "s3fs", "torch", "dgl", "plug-ins"} <= set(told)
        assert not {"pytest", "mkdocs-material"} & set(told)
    assert call("--verbose", "info", "nothing") == 2
    assert "daskgraphpart --version --verbose" in capsys.readouterr().err


@pytest.mark.parametrize("cluster", ["threads", pytest.param("processes", marks=pytest.mark.long)])
def test_an_interruption_is_answered_and_the_same_command_continues(cluster: str, directory: Path) -> None:
    assert call("generate", "large", "--nodes", "2e4", "--edges", "2e6", "--features", "8", "--quiet") == 0
    arguments = ["partition", "large", "out", "--num-parts", "4", "--method", "random", "--cluster", cluster]
    arguments += ["--workers", "1"]
    command = [sys.executable, "-c", PROGRAM, *arguments, "--progress", "json"]
    # a terminal sends the signal to all processes of the job
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["event"] == "end":
            break
    os.killpg(process.pid, signal.SIGINT)
    rest = [json.loads(line) for line in process.stderr.read().splitlines()]
    process.stderr.close()
    assert process.wait() == 130
    shown = [event for event in rest if event["event"] not in ("begin", "advance", "end")]
    assert [event["event"] for event in shown] == ["log", "error"]
    assert shown[0]["text"].startswith("stopping")
    assert shown[1]["exit_code"] == 130
    assert shown[1]["text"].startswith("interrupted. Finished work is kept in ")
    assert shown[1]["text"].endswith("run the same command again to continue.")
    assert call(*arguments, "--quiet") == 0
    assert call("verify", "large", "out", "--quiet") == 0


@pytest.mark.parametrize("is_behind", [False, True])
def test_the_end_of_a_queues_patience_is_told_and_the_same_command_continues(is_behind: bool, directory: Path) -> None:
    """Shells let jobs behind ``&`` ignore SIGINT."""
    assert call("generate", "large", "--nodes", "2e4", "--edges", "2e6", "--features", "8", "--quiet") == 0
    arguments = ["partition", "large", "out", "--num-parts", "4", "--method", "random", "--workers", "1"]
    program = PROGRAM.replace("signal.default_int_handler", "signal.SIG_IGN") if is_behind else PROGRAM
    command = [sys.executable, "-c", program, *arguments, "--progress", "json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["event"] == "end":
            break
    process.terminate()
    rest = [json.loads(line) for line in process.stderr.read().splitlines()]
    process.stderr.close()
    assert process.wait() == -signal.SIGTERM
    assert "terminated; run the same command again to continue" in [event.get("text") for event in rest]
    assert call(*arguments, "--quiet") == 0
    assert call("verify", "large", "out", "--quiet") == 0


def test_an_interruption_while_python_imports_is_one_line(graph: Path) -> None:
    program = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.argv[1:] = ['info', 'x']; "
        "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda self, name, *_: "
        "os.kill(os.getpid(), signal.SIGINT) if name == 'click' else None})()); "
        "from daskgraphpart.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_closed_streams_and_a_directory_that_is_gone_give_no_traceback(graph: Path, directory: Path) -> None:
    command = f"{sys.executable} -m daskgraphpart info"
    script = f"""
        {command} {graph} >&- && {command} {graph} 2>&- >shown && {command} gone 2>&- >&-
        [ $? = 2 ] && mkdir gone && cd gone && rmdir ../gone && {command} {graph}
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert "Graph 'graph'" in (directory / "shown").read_text()
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1:]) == (
        3,
        "",
        ["error: the working directory is gone; change to another"],
    )


def test_a_process_that_used_a_database_ends_in_silence(directory: Path) -> None:
    (directory / "edges.csv").write_text("src,dst\na,b\n")
    done = run("build", "graph", "--edges", "edges.csv:header", "--map-ids", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_locale_without_unicode_is_one_error(graph: Path, directory: Path) -> None:
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (directory / "größe").symlink_to(graph)
    expected = "error: A file name cannot be written in the locale's encoding ascii. Set PYTHONUTF8=1."
    for arguments in (("info", "größe"), ("partition", graph, "süß", "--num-parts", 2)):
        done = run(*arguments, env=plain)
        assert (done.returncode, done.stderr) == (3, f"{expected} [EnvironmentFaultError]\n")
    assert run("info", graph, env=plain).returncode == 0


def test_a_limit_of_file_size_is_one_error_and_no_output(graph: Path, directory: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = run("partition", graph, directory / "out", *RANDOM, "--quiet", preexec_fn=limit)
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (3, 1, False), done.stderr
    assert not [*(directory / "out").glob("*.json")]


def test_a_summary_that_cannot_be_written_says_that_the_output_is_complete(
    graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert call("partition", graph, "out", *RANDOM) == 3
    expected = "standard output: the summary cannot be written: No space left on device. The output itself is complete"
    assert expected in capsys.readouterr().err
    assert call("verify", graph, "out", "--quiet") == 0


def partition_config(graph: Path, out: Path) -> Path:
    """Partition a graph; the config of its partitions."""
    assert call("partition", graph, out, *RANDOM, "--quiet") == 0
    (config,) = (path for path in out.glob("*.json") if '"part-0"' in path.read_text())
    return config


@pytest.mark.parametrize("name", ["\x1b[31m<script>", "\ud800"])
def test_escape_sequences_in_a_name_reach_neither_page_nor_terminal(
    name: str, graph: Path, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = partition_config(graph, directory / "out")
    content = json.loads(config.read_text())
    config.write_text(json.dumps({**content, "graph_name": name}))
    for file in ("page.html", "page.txt"):
        exit_code = call("report", directory / "out", "--output", directory / file)
        shown = capsys.readouterr()
        assert exit_code in (0, 2)
        assert "\x1b" not in shown.out + shown.err
        page = (directory / file).read_text() if exit_code == 0 else ""
        assert "\x1b" not in page
        assert "<script>" not in page or file == "page.txt"


def test_a_config_that_is_no_json_is_one_error(
    graph: Path, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = partition_config(graph, directory / "out")
    config.write_text("no JSON")
    assert call("report", config) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
