"""What every store does, wherever its files lie: a store's tests are a subclass of one of these suites."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from inside import Region

from daskgraphpart.errors import InputFileError, OutputLockedError, ResumeError
from daskgraphpart.storage import store_lock
from daskgraphpart.storage.files import read_file, store_of, workspace_store
from daskgraphpart.storage.paths import to_key

if TYPE_CHECKING:
    from daskgraphpart.storage.store import WorkspaceStore

ROWS = np.arange(3000, dtype="<i4").reshape(1000, 3)


class StoreSuite(ABC):
    """Reading and deleting; `root` is a fixture, an empty directory."""

    @abstractmethod
    def put(self, path: Any, content: bytes) -> None:
        """Write a file whole."""

    def test_a_file_that_does_not_exist(self, root: Any) -> None:
        store, path = store_of(root), root / "gone"
        assert store.kind(path) is store.signature(path) is None
        for ask in (store.size, store.open):
            with pytest.raises((FileNotFoundError, ResumeError), match="gone"):
                ask(path)
        assert store.list_names(path) == {}
        store.delete_files([path])

    def test_a_file_that_exists(self, root: Any) -> None:
        store, path = store_of(root), root / "a" / "b"
        self.put(path, b"0123456789")
        assert (store.kind(path), store.size(path), read_file(path)) == ("file", 10, b"0123456789")
        assert store.list_names(root / "a") == {"b": 10}
        with store.open(path) as file:
            assert file.seek(-3, 2) == 7 and file.read() == b"789"
            assert file.seek(1) == 1 and file.read(2) == b"12"
        buffer = bytearray(4)
        store.read_into(memoryview(buffer), path, 5)
        assert buffer == b"5678"
        assert str(path) in store.shown_name(path) or "://" in store.shown_name(path)

    def test_a_signature_follows_the_content(self, root: Any) -> None:
        store, path = store_of(root), root / "a"
        self.put(path, b"one")
        before = store.signature(path)
        self.put(path, b"another")
        after = store.signature(path)
        assert before is not None is not after and before != after and (before[0], after[0]) == (3, 7)

    def test_deleted_files_are_gone_and_others_stay(self, root: Any) -> None:
        store, paths = store_of(root), [root / name for name in "abc"]
        for path in paths:
            self.put(path, b"x")
        store.delete_files([*paths[:2], root / "never there"])
        assert [store.kind(path) for path in paths] == [None, None, "file"]

    def test_rows_are_those_of_numpy(self, root: Any) -> None:
        path = root / "rows"
        self.put(path, b"head" + ROWS.tobytes())
        region = Region(to_key(path), 4, ROWS.dtype, ROWS.shape)
        rows = np.array([999, 0, 5, 5, 700])
        assert np.array_equal(region.read(10, 20), ROWS[10:20])
        assert np.array_equal(region.take(rows), ROWS[rows])
        assert np.array_equal(region.memmap(), ROWS)
        with pytest.raises(InputFileError, match="ends too early"):
            Region(region.path, 5, ROWS.dtype, ROWS.shape).read()


class WorkspaceSuite(StoreSuite):
    """Files of a job; `root` is a directory in a workspace that is attached."""

    def put(self, path: Any, content: bytes) -> None:
        """Write a file whole."""
        store = workspace_store(path)
        store.make_directory(path.parent)
        with store.whole_file(path) as temporary:
            Path(temporary).write_bytes(content)

    def task(self, store: WorkspaceStore, name: str, *writes: tuple[Path, int, bytes]) -> Any:
        """Run a task that writes at offsets."""
        with store.gathered_writes(name) as told:
            for path, offset, content in writes:
                store.write(path, offset, memoryview(content))
        return store.settle(told)

    def test_tasks_write_at_offsets_in_any_order_and_twice(self, root: Path) -> None:
        store, path, other = workspace_store(root), root / "many", root / "other"
        store.make_directory(root)
        with store.gathered_writes("create-0") as told:
            store.create(path, 12, ((0, b"he"), (2, b"ad")))
            store.create(other, 0, ())
        store.settle(told)
        store.at_pass(1).attach()
        store = workspace_store(root)
        last = self.task(store, "fill-1/1", (path, 8, b"cd"), (path, 10, b"ef"))
        first = self.task(store, "fill-1/0", (path, 4, b"ab"))
        again = self.task(store, "fill-1/0", (path, 4, b"ab"))
        assert again == first
        for _ in range(2):  # a journal may tell the same writes once more
            store.add_writes(1, [*last, *first])
        store.at_pass(2).attach()
        store = workspace_store(root)
        assert read_file(path) == b"headab\0\0cdef" and read_file(other) == b""
        assert Path(store.local_copy(path)).read_bytes() == b"headab\0\0cdef"
        for _, suspect in store.suspects({1: [*last, *first]}):
            store.check(suspect)

    def test_a_file_whose_writer_fails_does_not_appear(self, root: Path) -> None:
        store = workspace_store(root)
        store.make_directory(root)
        with suppress(ZeroDivisionError), store.whole_file(root / "a") as temporary:
            Path(temporary).write_bytes(b"half")
            raise ZeroDivisionError
        assert store.kind(root / "a") is None and not Path(temporary).exists()

    def test_a_file_is_changed_in_place(self, root: Path) -> None:
        store = workspace_store(root)
        self.put(root / "a", b"0123")
        copy = Path(store.local_copy(root / "a"))
        assert copy.read_bytes() == b"0123"
        with store.changed_file(root / "a") as name, open(name, "r+b") as file:
            file.write(b"ab")
        assert read_file(root / "a") == Path(store.local_copy(root / "a")).read_bytes() == b"ab23"

    def test_a_tree_is_deleted_and_nothing_beside_it(self, root: Path) -> None:
        store, paths = workspace_store(root), [root / name for name in ("tree/a", "tree/b/c", "trees")]
        for path in paths:
            self.put(path, b"x")
        store.delete_tree(root / "tree")
        store.delete_tree(root / "never there")
        assert [store.kind(path) for path in paths] == [None, None, "file"]

    def test_a_directory_of_this_machine(self, root: Path) -> None:
        store = workspace_store(root)
        store.make_directory(root)
        with store.directory_on_disk(root) as directory:
            (directory / "a").write_bytes(b"x")
        assert store.is_on_disk == (root / "a").exists()

    def test_what_is_appended_and_flushed_is_read(self, root: Path) -> None:
        store = workspace_store(root)
        store.renew(str(root), ["owners"])
        assert store.read_log(root / "journal") is None
        log = store.open_log(root / "journal")
        log.append(b"a\n")
        log.flush()
        assert store.read_log(root / "journal") == b"a\n"
        log.append(b"b\n")
        log.close()
        log = store.open_log(root / "journal")
        log.append(b"c\n")
        log.close()
        assert store.read_log(root / "journal") == b"a\nb\nc\n"
        self.put(root / "x", b"x")
        store.remove(str(root), "journal")
        assert store.read_log(root / "journal") == b"a\nb\nc\n"
        store.remove(str(root))
        assert store.read_log(root / "journal") is None and store.kind(root / "x") is None

    def test_a_lock_has_one_holder_and_leaves_notes(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_lock, "SECONDS_BETWEEN_BEATS", 0.05)
        store = workspace_store(root)
        store.make_directory(root)
        lock = store.lock(root)
        lock.write(workspace="somewhere")
        with pytest.raises(OutputLockedError, match=r"another run .* is writing here"):
            store.lock(root)
        lock.check()
        lock.release(keep_notes=True)
        lock = store.lock(root)
        assert lock.notes.workspace == "somewhere"
        lock.commit()
        lock.release()
        lock = store.lock(root)
        assert lock.notes.workspace is None
        lock.release()
