"""A worker of a `distributed.LocalCluster` that is forked, instead of a nanny: started, replaced if killed, ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import time
from typing import TYPE_CHECKING, Any

import dask
from distributed import Status
from distributed.core import rpc
from distributed.deploy.spec import ProcessInterface

from daskgraphpart.engine.executors.forked_process import Closed, Started, Wanted, read_message, write_message

if TYPE_CHECKING:
    from daskgraphpart.engine.executors.fork_server import ForkServer

logger = logging.getLogger(__name__)

SECONDS_TO_CLOSE = 5.0
CONFIG_OF_CLIENTS = ("scheduler", "shuffle")
"""What an active client sets in dask's configuration; workers have none."""

_open: set[ForkedWorker] = set()
"""Those that have a process: asyncio itself has only weak references to a stream and to tasks that wait for it."""


class ForkedWorker(ProcessInterface):  # type: ignore[misc]
    """A process that is replaced when it dies, until it is closed.

    Parameters
    ----------
    scheduler : str
        Address.
    fork_server : ForkServer
        What forks.
    name : object
        Name of the worker, the same for those that replace it.
    **options : object
        As `distributed.Worker` takes them.
    """

    def __init__(self, scheduler: str, fork_server: ForkServer, name: Any = None, **options: Any) -> None:
        super().__init__(scheduler=scheduler, name=name)
        config = {key: value for key, value in dask.config.config.items() if key not in CONFIG_OF_CLIENTS}
        self.name = name
        self._server = fork_server
        self._wanted = Wanted(scheduler, {**options, "name": name}, config)
        self._started: Started | None = None
        self._channel: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def worker_address(self) -> str | None:
        """Where it listens."""
        return self._started.address if self._started else None

    async def start(self) -> None:
        """Start a process, and wait until the scheduler has accepted it.

        Raises
        ------
        Exception
            What the worker raised instead.
        """
        try:
            await self._begin()
        except BaseException:
            self.status = Status.failed
            raise
        self._watch = asyncio.create_task(self._replace())
        await super().start()

    async def close(self) -> None:
        """End the process; tasks that are running are not waited for."""
        if self.status in (Status.closing, Status.closed):
            return
        self.status = Status.closing
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        if self._channel is not None:
            reader, writer = self._channel
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await write_message(writer, Closed())
                await asyncio.wait_for(reader.read(), SECONDS_TO_CLOSE)
            self._clean()
        await super().close()

    async def _begin(self) -> None:
        _open.add(self)
        try:
            reader, writer = self._channel = await asyncio.open_unix_connection(sock=self._server.fork())
            with contextlib.suppress(ConnectionError):  # as a channel that ends before the answer
                await write_message(writer, self._wanted)
            answer = await read_message(reader)
            if not isinstance(answer, Started):
                raise (answer.fault if answer else None) or RuntimeError("a worker died when it started")
            self._started = answer
        except BaseException:
            self._clean()
            raise

    async def _replace(self) -> None:
        """Wait for the end of the process; start another if nobody has told it to end."""
        while self._channel is not None:
            ended = await read_message(self._channel[0])
            self._clean()
            if ended is not None:
                self.status = Status.closed
                return
            logger.warning("worker %s of the local cluster is gone; another is started", self.name)
            try:
                await self._unregister()
                await self._begin()
            except Exception:
                logger.exception("worker %s of the local cluster cannot be started again", self.name)
                self.status = Status.failed

    async def _unregister(self) -> None:
        """Tell the scheduler that the worker has gone, which it may not have noticed: the name has to be free."""
        arguments = self._wanted.options["security"].get_connection_args("worker")
        with contextlib.suppress(OSError):
            async with rpc(self._wanted.scheduler, connection_args=arguments) as scheduler:
                await scheduler.unregister(address=self.worker_address, stimulus_id=f"worker-is-gone-{time.time()}")

    def _clean(self) -> None:
        """Close the channel of a process that has ended, and remove its temporary files, which it may have left."""
        _open.discard(self)
        if self._channel is not None:
            self._channel[1].close()
            self._channel = None
        if self._started is not None:
            shutil.rmtree(self._started.directory, ignore_errors=True)
