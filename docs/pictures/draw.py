"""Draws the README's pictures of a partition run and of its report: python docs/pictures/draw.py GRAPH

GRAPH is a chunked graph. The terminal is a real one (a pseudo-terminal); the page is shown by Chromium, without a window.
"""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
PARTS = "8"
COLUMNS = 96
PAGE = "1200,1560"
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")


def run_in_terminal(command: list[str]) -> str:
    """What a terminal shows when the command has ended."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "50", "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    written = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        written += piece
    assert process.wait() == 0, written.decode()
    # the bars are drawn again and again, each time after erasing the lines of the time before
    last = re.split(r"\x1b\[2K", written.decode())[-1]
    return re.sub(r"\x1b\[\?25[hl]|\r", "", last)


def draw_terminal(commands: list[list[str]], path: Path) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for command in commands:
        shown = ["daskgraphpart", *(Path(word).name for word in command)]
        console.print(Text.from_markup(f"[bold green]$[/] {' '.join(shown)}"))
        console.print(Text.from_ansi(run_in_terminal([sys.executable, "-m", "daskgraphpart", *command]).strip("\n")))
    picture = console.export_svg(title="daskgraphpart", unique_id="terminal")
    # no font from elsewhere
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    path.write_text(picture.replace("Fira Code, monospace", "ui-monospace, DejaVu Sans Mono, monospace"))


def draw_page(page: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        options = [f"--user-data-dir={profile}", f"--window-size={PAGE}", f"--screenshot={path}", f"file://{page}"]
        subprocess.run([*BROWSER, *QUIET, *options], check=True, capture_output=True)


def main() -> None:
    graph = sys.argv[1]
    with tempfile.TemporaryDirectory() as root:
        parts, page = f"{root}/partitions", f"{root}/report.html"
        draw_terminal([["partition", graph, parts, "--num-parts", PARTS]], HERE / "terminal.svg")
        subprocess.run(
            [sys.executable, "-m", "daskgraphpart", "report", parts, "--output", page, "--quiet"], check=True
        )
        draw_page(Path(page), HERE / "report.png")


if __name__ == "__main__":
    main()
