"""Worker processes die with their client, so that none of their tasks writes beside those of the run that continues.

A worker notices by itself that its client is gone, but not before its task has ended, and distributed's only after some
seconds. On Linux the system can be asked to kill it at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with(client: int) -> None:
    """Have this process killed when its parent, the client of that process ID, dies.

    A terminal interrupts all processes at once; here the client alone decides what becomes of its workers.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != client:  # it died before we asked
        os.kill(os.getpid(), signal.SIGKILL)


def dask_setup(_: Any) -> None:
    """Do so in a worker of distributed, which calls this because the module is preloaded; it has no task yet."""
    die_with(os.getppid())
