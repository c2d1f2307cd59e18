"""CPU time of s3fs and obstore for what a workspace in a store asks for, against moto on this machine.

    python -m pip install obstore && python benchmarks/store_libraries.py

The server is slow and in another process, so the time of the client's processor counts, not that on the clock.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import fsspec
from harness import keep_lines, show
from obstore.store import S3Store

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from remote_stores import KEYS, serve_s3  # noqa: E402


class Library(Protocol):
    """What both libraries are asked for."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in parts if it is large."""
        ...

    def put_all(self, contents: dict[str, bytes]) -> None:
        """Write small objects."""
        ...

    def ranges(self, name: str, starts: list[int], stops: list[int]) -> list[bytes]:
        """Read ranges of an object, at the same time."""
        ...

    def list(self, directory: str) -> int:
        """Count the objects of a directory."""
        ...


class S3fs:
    """As the package calls it."""

    def __init__(self, address: str) -> None:
        self.files = fsspec.filesystem("s3", endpoint_url=address, use_listings_cache=False, **KEYS)

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in parts if it is large."""
        if len(content) <= 8 << 20:
            self.files.pipe_file(f"bucket/{name}", content)
            return
        with self.files.open(f"bucket/{name}", "wb", block_size=8 << 20) as file:
            for first in range(0, len(content), 8 << 20):
                file.write(content[first : first + (8 << 20)])

    def put_all(self, contents: dict[str, bytes]) -> None:
        """Write small objects."""
        self.files.pipe({f"bucket/{name}": content for name, content in contents.items()})

    def ranges(self, name: str, starts: list[int], stops: list[int]) -> list[bytes]:
        """Read ranges of an object, at the same time."""
        found: list[bytes] = self.files.cat_ranges([f"bucket/{name}"] * len(starts), starts, stops)
        return found

    def list(self, directory: str) -> int:
        """Count the objects of a directory."""
        return len(self.files.find(f"bucket/{directory}", detail=True))


class Obstore:
    """The same calls; small objects one by one, as it has no call for many."""

    def __init__(self, address: str) -> None:
        self.store = S3Store(
            "bucket", endpoint=address, region="us-east-1", access_key_id=KEYS["key"], secret_access_key=KEYS["secret"],
            client_options={"allow_http": True},
        )  # fmt: skip

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in parts if it is large."""
        self.store.put(name, content, use_multipart=len(content) > 8 << 20, chunk_size=8 << 20)

    def put_all(self, contents: dict[str, bytes]) -> None:
        """Write small objects."""
        for name, content in contents.items():
            self.store.put(name, content)

    def ranges(self, name: str, starts: list[int], stops: list[int]) -> list[bytes]:
        """Read ranges of an object, at the same time."""
        return [bytes(content) for content in self.store.get_ranges(name, starts=starts, ends=stops, coalesce=0)]

    def list(self, directory: str) -> int:
        """Count the objects of a directory."""
        return sum(len(batch) for batch in self.store.list(directory))


def accesses(library: Library, prefix: str) -> dict[str, Callable[[], Any]]:
    """Name what to measure."""
    large = bytes(64 << 20)
    small = {f"{prefix}/small/{number}": bytes(2_000) for number in range(200)}
    near = [number * 500_000 for number in range(128)]
    return {
        "put 64 MiB in parts": lambda: library.put(f"{prefix}/large", large),
        "put 200 objects of 2 kB": lambda: library.put_all(small),
        "list 200 objects": lambda: library.list(f"{prefix}/small"),
        "get 128 ranges of 250 kB": lambda: library.ranges(f"{prefix}/large", near, [n + 250_000 for n in near]),
        "get 8 ranges of 8 MiB": lambda: library.ranges(
            f"{prefix}/large", [n << 23 for n in range(8)], [(n + 1) << 23 for n in range(8)]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    with serve_s3() as server:
        server.files.call_s3("create_bucket", Bucket="bucket")
        libraries: dict[str, Library] = {"s3fs": S3fs(server.address), "obstore": Obstore(server.address)}
        calls = {name: accesses(library, name) for name, library in libraries.items()}
        for what in calls["s3fs"]:
            results[what] = {}
            for name, of_library in calls.items():
                found = []
                for _ in range(options.runs):
                    cpu, clock = time.process_time(), time.perf_counter()
                    of_library[what]()
                    found.append((time.process_time() - cpu, time.perf_counter() - clock))
                results[what][name] = [round(min(times), 3) for times in zip(*found, strict=True)]
    heads = ["access", *(f"{name}, {kind} s" for name in libraries for kind in ("CPU", "wall"))]
    show(heads, [[what, *(number for times in of.values() for number in times)] for what, of in results.items()])
    keep_lines("store_libraries", {"runs": options.runs}, results)


if __name__ == "__main__":
    main()
