"""A process of one thread that has imported what tasks need, and forks the workers of a local cluster.

An interpreter that imports numba, pyarrow and distributed takes more than a second, and each worker would; a fork of
one that has takes milliseconds, and shares its memory. Fork is safe only where there is one thread, so the client,
which has several, cannot do it itself. The server is begun before the client imports distributed: both import at once.

What goes over sockets is little. To the server, one byte with one end of a new socket pair for each worker, its
channel; what the worker is to be it reads from there. The kernel closes the sockets of a process that is killed, so
whoever sees the end of a channel knows. The server ends when the client does, and its workers are killed with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from daskgraphpart.engine.executors.orphans import die_with

if TYPE_CHECKING:
    from collections.abc import Sequence

FORKED = "daskgraphpart.engine.executors.forked_process"
ALWAYS_IMPORTED = (FORKED, "daskgraphpart.engine.executors.cluster", "pyarrow.parquet", "distributed.http.worker")
SECONDS_BETWEEN_LOOKS = 1.0

ONE_THREAD = {
    # as distributed sets them for its workers
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Arrow's allocator has a thread that gives memory back in the background
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Variables that keep libraries from starting threads as soon as they are imported; those of the user come first."""

_begun: list[ForkServer] = []


def begin(modules: Sequence[str] = ()) -> None:
    """Begin a server for the next local cluster of this process, unless there is one, or fork is not safe here.

    Parameters
    ----------
    modules : sequence of str
        What it imports beside what this process has of our package.
    """
    if not _begun and sys.platform == "linux":
        ours = [name for name in sys.modules if name.startswith("daskgraphpart.") and "__main__" not in name]
        _begun.append(ForkServer([*modules, *ours]))


def begun() -> ForkServer | None:
    """Return the server that was begun, which belongs to the caller from now on."""
    return _begun.pop() if _begun else None


class ForkServer:
    """A server, starting or started; one that was killed is replaced when it is needed again.

    Parameters
    ----------
    modules : sequence of str
        What it imports; what cannot be is left to whoever needs it.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = [*ALWAYS_IMPORTED, *modules]
        self._is_closed = False
        self._start()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603
                _call_in_python("serve", theirs.fileno(), os.getpid(), self._modules),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**ONE_THREAD, **os.environ},
                process_group=0,  # a terminal interrupts all of a group; the client decides
            )

    def fork(self) -> socket.socket:
        """Ask for a worker; return our end of its channel, which ends if there will be none."""
        ours, theirs = socket.socketpair()
        with theirs:
            if self._is_closed:
                return ours
            try:
                socket.send_fds(self._control, [b"w"], [theirs.fileno()])
            except OSError:  # the system has killed it, for want of memory perhaps
                self._end()
                self._start()
                socket.send_fds(self._control, [b"w"], [theirs.fileno()])
        return ours

    def close(self) -> None:
        """End the server, and with it all workers that are left."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


def serve(control: int, client: int, modules: Sequence[str]) -> NoReturn:
    """Be the server, until the client is gone or says that it needs no more workers.

    Parameters
    ----------
    control : int
        File descriptor of the socket to the client.
    client : int
        Its process.
    modules : sequence of str
        What is imported at first.
    """
    gc.disable()  # a fifth of the time of these imports would be collections that find nothing
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    importlib.import_module(FORKED).load_numba()
    gc.freeze()  # what a collection does not touch stays shared
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks the server how workers ended
    requests, server, spawned = socket.socket(fileno=control), os.getpid(), []
    while os.getppid() == client:
        if not select.select([requests], [], [], SECONDS_BETWEEN_LOOKS)[0]:
            continue
        message, channels, *_ = socket.recv_fds(requests, 1, 1)
        if not message:
            break
        if len(os.listdir("/proc/self/task")) > 1:
            # the user's environment lets libraries have threads, which a fork would lose with their locks held
            command = _call_in_python("be_worker", channels[0], server)
            spawned.append(subprocess.Popen(command, pass_fds=channels))  # noqa: S603
        elif os.fork() == 0:
            requests.close()
            be_worker(channels[0], server)
        os.close(channels[0])
    os._exit(0)  # at once, for workers are killed when it is gone


def be_worker(channel: int, server: int) -> NoReturn:
    """Be a worker, in a process of its own; return from nothing that its parent has begun."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with(server)
        importlib.import_module(FORKED).run(socket.socket(fileno=channel))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def _call_in_python(function: str, *arguments: object) -> list[str]:
    """Command that calls a function of this module in an interpreter that imports what this one would."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import {function}; {function}(*{arguments!r})"
    return [sys.executable, "-c", program]
