"""What a forked process does: it is a worker of distributed, until it is told to end."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from dask.multiprocessing import default_initializer
from distributed import Worker
from distributed.protocol import pickle

from daskgraphpart.kernels.owner_sort import count_owners

if TYPE_CHECKING:
    import socket

SIZE_NBYTES = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a worker is to be.

    Parameters
    ----------
    scheduler : str
        Address.
    options : dict
        Keyword arguments of `distributed.Worker`.
    config : dict
        Dask's configuration.
    """

    scheduler: str
    options: dict[str, Any]
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A worker that has been accepted by the scheduler.

    Parameters
    ----------
    address : str
        Where it listens.
    directory : str
        Its temporary files.
    """

    address: str
    directory: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A worker that has ended because it was told to, by whomever; or that the scheduler did not accept.

    Parameters
    ----------
    fault : Exception or None
        Why it could not start.
    """

    fault: Exception | None = None


async def write_message(writer: asyncio.StreamWriter, message: object) -> None:
    """Write an object to a channel."""
    content = pickle.dumps(message)
    writer.write(len(content).to_bytes(SIZE_NBYTES, "little") + content)
    await writer.drain()


async def read_message(reader: asyncio.StreamReader) -> Any:
    """Read an object from a channel; None when the other side is gone."""
    try:
        size = int.from_bytes(await reader.readexactly(SIZE_NBYTES), "little")
        return pickle.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def load_numba() -> None:
    """Have numba set itself up, which the first call of a process waits for: a third of a second."""
    count_owners(np.zeros(1, np.uint8), 1, np.zeros(1, np.int64))


def run(channel: socket.socket) -> None:
    """Be a worker.

    Parameters
    ----------
    channel : socket
        Our end of the channel.
    """
    logging.getLogger("distributed.worker").addFilter(_is_news)
    default_initializer()  # random numbers of its own, as in any worker of dask
    asyncio.run(_live(channel))


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record says what nobody knows: if the scheduler, in our client, does not answer, the cluster ends."""
    return "with scheduler during heartbeat" not in str(record.msg)


async def _live(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=channel)
    wanted = await read_message(reader)
    if wanted is None:
        return
    dask.config.set(wanted.config)
    try:
        worker = await Worker(wanted.scheduler, **wanted.options)
    except Exception as fault:
        await write_message(writer, Closed(fault))
        return
    await write_message(writer, Started(worker.address, worker.local_directory))
    told = asyncio.create_task(_close_when_told(reader, worker))
    await worker.finished()
    await write_message(writer, Closed())
    told.cancel()


async def _close_when_told(reader: asyncio.StreamReader, worker: Worker) -> None:
    if await read_message(reader) is None:  # the client is gone, and nobody may go on writing
        os._exit(1)
    await worker.close(executor_wait=False, reason="the cluster closes")
