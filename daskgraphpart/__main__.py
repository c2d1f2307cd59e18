"""``python -m daskgraphpart`` and the command `daskgraphpart`: prepare the process, then import the command line."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

_INTERRUPTED, _ENVIRONMENT = 130, 3


def main() -> None:
    """Run the command line; faults before its import are one line, too."""
    _open_standard_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: _stop("interrupted", _INTERRUPTED))
    try:
        os.getcwd()
    except FileNotFoundError:
        _stop("the working directory is gone; change to another", _ENVIRONMENT)

    from daskgraphpart.cli.main import main as run

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _open_standard_streams() -> None:
    """Open the null device for closed standard streams, so that no output file gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number


def _stop(text: str, exit_code: int) -> NoReturn:
    """Exit before anything has begun."""
    os.write(2, f"error: {text}\n".encode())
    os._exit(exit_code)


if __name__ == "__main__":
    main()
