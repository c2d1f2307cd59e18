"""A proxy before a store server that fails as networks and busy stores do."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
CONFLICT = b"<Error><Code>ConditionalRequestConflict</Code><Message>Retry the upload.</Message></Error>"
FAULTS = ("busy", "conflict", "reset", "lost", "half", "slow")
"""503; 409; the connection breaks before the request is read, after it was obeyed, amid the answer; late."""
SLOW_SECONDS = 0.5


class FaultyStore:
    """What stands between; `choose` is told method and path of each request, and says what happens to it."""

    def __init__(self, address: str, choose: Callable[[str, str], str | None]) -> None:
        self._behind, self._choose = address, choose
        self.made: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body, fault = await request.read(), self._choose(request.method, request.path_qs)
        if fault:
            self.made.append(fault)
        if fault == "busy":
            return web.Response(status=503, body=BUSY, content_type="application/xml")
        if fault == "conflict":
            return web.Response(status=409, body=CONFLICT, content_type="application/xml")
        if fault == "reset":
            return self._broken(request)
        if fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        headers = _without(request.headers, "transfer-encoding", "expect")
        url = f"{self._behind}{request.raw_path}"
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(request.method, URL(url, encoded=True), data=BytesIO(body), headers=headers) as found,
        ):
            content = await found.read()
            told = _without(found.headers, "transfer-encoding")
            status = found.status
        if fault == "lost":
            return self._broken(request)
        response = web.StreamResponse(status=status, headers=told)
        await response.prepare(request)
        if fault == "half" and content:
            await response.write(content[: len(content) // 2])
            return self._broken(request)
        if request.method != "HEAD":
            await response.write(content)
        await response.write_eof()
        return response

    def _broken(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def _without(headers: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in names}


@contextmanager
def faulty_store(address: str, choose: Callable[[str, str], str | None]) -> Iterator[tuple[str, FaultyStore]]:
    """Run a proxy in a thread; yield its address."""
    loop, store, started = asyncio.new_event_loop(), FaultyStore(address, choose), threading.Event()
    ports: list[int] = []

    async def serve() -> web.AppRunner:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", store.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ports.append(runner.addresses[0][1])
        started.set()
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield f"http://127.0.0.1:{ports[0]}", store
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
