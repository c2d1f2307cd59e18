"""Draw the pictures of a run in a terminal and of the report that README's commands make: python docs/pictures/draw.py

The terminal is a real one (a pseudo-terminal). Chromium shows the report, without a window.
"""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
AT_WORK = "partition-graph"  # the pass that the terminal shows
COLUMNS = 96
PROGRAM = (sys.executable, "-m", "daskgraphpart")
WIDTH, HEIGHT = 1200, 1125  # of the report: down to where its tables begin
START = ("generate", "partition", "report")  # of the commands that README starts with
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")


def run_in_terminal(command: list[str]) -> str:
    """What a command writes to a terminal, with all that moves the cursor."""
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
    return written.decode()


def left_on_screen(written: str) -> str:
    """What is left when the bars, which erase the lines of the time before, are gone."""
    lines, row = [""], 0
    for piece in re.split(r"(\n|\r|\x1b\[2K|\x1b\[1A|\x1b\[\?25[hl])", written):
        if piece == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif piece != "\r" and not piece.startswith("\x1b[?"):
            lines[row] += piece
    return "\n".join(lines)


def draw_terminal(command: list[str], written: str, root: str, path: Path) -> None:
    """A command, and what it shows; paths below `root` are shown without it."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_markup(f"[bold green]$[/] daskgraphpart {' '.join(command)}"))
    console.print(Text.from_ansi(left_on_screen(written).replace(f"{root}/", "").strip("\n")))
    picture = console.export_svg(title="daskgraphpart", unique_id=path.stem)
    # no font from elsewhere
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    path.write_text(picture.replace("Fira Code, monospace", "ui-monospace, DejaVu Sans Mono, monospace"))


def draw_page(page: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        options = [
            f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{HEIGHT + 200}",
            f"--screenshot={path}",
            f"file://{page}",
        ]
        subprocess.run([*BROWSER, *QUIET, *options], check=True, capture_output=True)
    with Image.open(path) as picture:
        picture.crop((0, 0, WIDTH, HEIGHT)).convert("P", palette=Image.Palette.ADAPTIVE).save(path, optimize=True)


def readme_commands() -> dict[str, list[str]]:
    """The commands in the first block of README, by their first word."""
    text = (HERE.parent.parent / "README.md").read_text()
    found = re.findall(r"^daskgraphpart (.*)$", text[: text.index("## Why not")], re.MULTILINE)
    return {words[0]: words for words in map(str.split, found)}


def main() -> None:
    commands = readme_commands()
    with tempfile.TemporaryDirectory() as root:
        os.chdir(root)
        for name in START:
            written = run_in_terminal([*PROGRAM, *commands[name]])
            if name == "partition":
                at_work = written.rindex("\r", 0, written.rindex("\r", 0, written.rindex(AT_WORK)))
                draw_terminal(commands[name], written[:at_work], root, HERE / "at-work.svg")
        draw_page(Path("report.html").resolve(), HERE / "report.png")


if __name__ == "__main__":
    main()
