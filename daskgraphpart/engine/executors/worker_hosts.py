"""Workers by machine: which machines of a cluster have one, and what the scheduler calls these machines."""

from __future__ import annotations

import logging
import socket
import time
from typing import TYPE_CHECKING

from distributed.comm import CommClosedError, get_address_host

from daskgraphpart.engine.cluster_config import seconds_setting
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from distributed import Client

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0


class WorkerHosts:
    """Machines that run workers, for tasks that only a worker of a certain machine may run.

    Parameters
    ----------
    client : Client
        Of the cluster.

    Notes
    -----
    A machine may have a name and several addresses. Two of them are the same machine if they resolve to a common
    address, here where the client runs.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._addresses: dict[str, frozenset[str]] = {}
        self._missing_since: dict[str, float] = {}
        self._next_look = 0.0

    def wait(self, hosts: Collection[str], file: str, seconds: float) -> None:
        """Wait until each machine has a worker.

        Parameters
        ----------
        hosts : collection of str
            Names or addresses.
        file : str
            Where they are listed, for the message.
        seconds : float
            How long to wait at most.

        Raises
        ------
        EnvironmentFaultError
            If machines have none by then; names all of them.
        """
        deadline, is_told = time.monotonic() + seconds, False
        while missing := self.without_worker(hosts):
            if time.monotonic() >= deadline:
                there = sorted(set(self._hosts_of_workers()))
                raise EnvironmentFaultError(
                    f"the cluster has no worker on {_listed(missing)}",
                    file=file,
                    expected="a worker on the machine of every line",
                    found=f"workers on {_listed(there)}" if there else "no workers",
                    hint="start dask worker there, with --host and the address in the file",
                )
            if not is_told:
                logger.info("waiting for a worker on %s, %.0f s at most", _listed(missing), seconds)
                is_told = True
            time.sleep(0.1)

    def without_worker(self, hosts: Iterable[str]) -> list[str]:
        """Machines that have no worker now, in the order given."""
        there = [self._resolved(host) for host in self._hosts_of_workers()]
        return [host for host in hosts if not any(self._resolved(host) & addresses for addresses in there)]

    def spellings(self, host: str) -> list[str]:
        """Return all that the scheduler may call a machine, for tasks that are to run there."""
        same = {other for other in self._hosts_of_workers() if self._resolved(other) & self._resolved(host)}
        return sorted({host, *self._resolved(host), *same})

    def check_still_there(self, hosts: Collection[str]) -> None:
        """Look now and then whether machines with tasks to do have a worker; one may come back.

        Raises
        ------
        EnvironmentFaultError
            If one had none for as long as `daskgraphpart.worker-timeout`.
        """
        now = time.monotonic()
        if now < self._next_look or not hosts:
            return
        self._next_look = now + SECONDS_BETWEEN_LOOKS
        try:
            missing = self.without_worker(hosts)
        except CommClosedError:  # a scheduler that is gone is noticed elsewhere
            return
        for host in missing:
            if host not in self._missing_since:
                logger.warning("the last worker on %s is gone; waiting for another", host)
        self._missing_since = {host: self._missing_since.get(host, now) for host in missing}
        patience = seconds_setting("worker-timeout")
        lost = [host for host, since in self._missing_since.items() if now - since >= patience]
        if lost:
            raise EnvironmentFaultError(
                f"the last worker on {_listed(lost)} is gone",
                place="--cluster",
                found=f"no other after {patience:.0f} s",
                hint="start dask worker there again",
            )

    def _hosts_of_workers(self) -> list[str]:
        try:
            return [get_address_host(address) for address in self._client.nthreads()]
        except CommClosedError:
            raise
        except OSError as fault:
            raise CommClosedError(str(fault)) from fault

    def _resolved(self, host: str) -> frozenset[str]:
        """All addresses of a machine; its name alone if nobody knows them."""
        if host not in self._addresses:
            try:
                found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except OSError:
                return frozenset([host])  # asked again: it may be known when the worker is there
            self._addresses[host] = frozenset(str(address[0]) for *_, address in found)
        return self._addresses[host]


def _listed(hosts: Sequence[str]) -> str:
    most = 10
    return ", ".join(hosts[:most]) + (f" and {len(hosts) - most} more" if len(hosts) > most else "")
