"""Jobs one after another, and one while another runs: what is there is whole, or is said not to be.

Whatever was run, stopped, changed and overwritten before, partitions are those of the definition, and no job changes
what another has finished unless it was told to overwrite.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from listeners import Listener, Stopped
from oracle import partition_in_memory
from remote_stores import S3, contents_of, local_contents, make_graph, serve_s3

import daskgraphpart as dgp
from daskgraphpart.errors import GraphPartError, LayoutError, OutputExistsError, OutputLockedError, ResumeError

if TYPE_CHECKING:
    from graphs import Graph

Spec = tuple[int, int, str, bool]
SPECS = st.sampled_from([(2, 0, "dgl", False), (3, 1, "dgl,ranks", False), (3, 1, "dgl", True)])
"""Number of parts, seed, layouts, and whether `assign` comes before."""
PASSES = st.sampled_from(("scan-edges", "relabel-nodes", "write-nodes", "build-graph", "place-rows", "hash-files"))
MACHINES = settings().max_examples // 4
HOW: dict[str, Any] = {"memory": "1GB", "cluster": "sync"}


def graph_of(number: int) -> Graph:
    """One of three graphs of one name: the second has other edges, the third other features."""
    graph = make_graph(60, 201 if number == 1 else 200)
    if number == 2:
        graph.node_data["item"]["price"][:] += 1  # type: ignore[index]
    return graph


@cache
def expected(number: int, spec: Spec) -> dict[str, bytes]:
    """Files of a job that nothing disturbs, whose parts are those of the definition."""
    num_parts, seed, layout, _ = spec
    with tempfile.TemporaryDirectory() as root:
        graph, out = graph_of(number), Path(root, "out")
        source = graph.write(Path(root, "in"))
        parts = dgp.partition(source, out, num_parts, method="random", seed=seed, layout=layout, progress=False, **HOW)
        ids = {
            ntype: [parts.part(p).node_rows.originals[ntype].read() for p in range(num_parts)] for ntype in parts.ntypes
        }
        owners = {
            ntype: np.repeat(range(num_parts), [*map(len, of)])[np.argsort(np.concatenate(of))]
            for ntype, of in ids.items()
        }
        for part, held in enumerate(partition_in_memory(graph, owners, num_parts)):
            read = parts.part(part)
            assert read.graph.node_arrays["_ID"].read().tolist() == [*held.inner_nids, *held.halo_nids]
            assert read.graph.edge_arrays["_ID"].read().tolist() == [*held.owned_eids, *held.extra_eids]
            for name, rows in held.node_feats.items():
                ntype, _, feature = name.partition("/")
                np.testing.assert_array_equal(read.node_rows.features[ntype][feature].read(), rows)
        return local_contents(out)


class Jobs(RuleBasedStateMachine):
    """One input, one output, one place for owners; `finished` and `begun` are what a job was asked for, if any."""

    store: S3 | None = None

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.out = "s3://outputs/parts" if self.store else str(self.root / "out")
        self.work: dict[str, Any] = {"workspace": self.root / "work"} if self.store else {}
        self.number = 0
        (self.root / "out").mkdir()
        self.finished: tuple[int, Spec] | None = None
        self.begun: tuple[int, Spec] | None = None
        graph_of(0).write(self.root / "in")
        if self.store:
            self.store.post("reset")
            self.store.files.call_s3("create_bucket", Bucket="outputs")

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @property
    def files(self) -> dict[str, bytes]:
        """All files of the output but those of unfinished work."""
        there = contents_of(self.store.files, "outputs/parts") if self.store else local_contents(Path(self.out))
        of_work = (name for name in there if name.startswith(".daskgraphpart") or name.endswith(".unfinished"))
        return {name: there[name] for name in there.keys() - set(of_work)}

    def run(self, spec: Spec, listener: Listener, **how: Any) -> None:
        """Partition the input."""
        num_parts, seed, layout, is_assigned = spec
        source, owners = self.root / "in", self.root / "owners"
        method: dict[str, Any] = {"method": "random", "seed": seed}
        if is_assigned:
            shutil.rmtree(owners, ignore_errors=True)
            dgp.assign(source, num_parts, out=owners, progress=False, **method, **HOW)
            method = {"method": owners}
        options = {"storage_options": self.store.options} if self.store else {}
        dgp.partition(
            source,
            self.out,
            num_parts,
            layout=layout,
            progress=listener,
            **method,
            **options,
            **self.work,
            **how,
            **HOW,
        )

    @rule(number=st.integers(0, 2))
    def change(self, number: int) -> None:
        """Write another graph in place of the input."""
        shutil.rmtree(self.root / "in")
        graph_of(number).write(self.root / "in")
        self.number = number

    @rule(spec=SPECS, overwrite=st.booleans(), restart=st.booleans(), stop_at=st.none() | PASSES)
    def partition(self, spec: Spec, overwrite: bool, restart: bool, stop_at: str | None) -> None:
        """Begin a job, go on with one, or find out why not."""
        job, before, listener = (self.number, spec), self.files, Listener(stop_at or "")
        try:
            self.run(spec, listener, overwrite=overwrite, restart=restart)
        except OutputExistsError:
            assert self.finished
            assert not overwrite
            assert self.files == before
        except ResumeError:
            assert self.begun
            assert not restart
            assert self.files == before
        except Stopped:
            self.begun = job
            if not self.finished or self.files != before:  # it stopped after it had removed what it is to replace
                self.finished = None
                self.says_that_it_is_not_whole()
        else:
            self.finished, self.begun = job, None
            assert self.files == expected(*job)

    def says_that_it_is_not_whole(self) -> None:
        """Nothing is opened."""
        with pytest.raises(LayoutError):
            dgp.open_partitions(self.out, **({"storage_options": self.store.options} if self.store else {}))

    @precondition(lambda self: not self.finished)
    @rule(spec=SPECS, other=SPECS)
    def partition_beside_another(self, spec: Spec, other: Spec) -> None:
        """A second job finds the output taken while the first one runs."""
        machine = self

        class Second(Listener):
            def begin(self, name: str, *sizes: Any) -> None:
                super().begin(name, *sizes)
                if name == "build-graph":
                    with pytest.raises(GraphPartError) as caught:
                        machine.run(other, Listener(), overwrite=True, restart=True)
                    assert isinstance(caught.value, OutputLockedError), caught.value

        self.run(spec, Second(), overwrite=True, restart=True)
        self.finished, self.begun = (self.number, spec), None
        assert self.files == expected(*self.finished)

    @precondition(lambda self: self.finished and not self.begun)
    @rule()
    def verify(self) -> None:
        """Partitions of the input are right, those of another graph are not."""
        assert self.finished
        options = {"storage_options": self.store.options} if self.store else {}
        report = dgp.verify(self.root / "in", self.out, progress=False, **options, **HOW)
        assert report.ok == (self.finished[0] == self.number), report


def test_any_sequence_on_a_disk() -> None:
    run_state_machine_as_test(Jobs, settings=settings(max_examples=MACHINES, stateful_step_count=10))


@pytest.mark.long
def test_any_sequence_in_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_s3() as server:
        monkeypatch.setattr(Jobs, "store", server)
        run_state_machine_as_test(Jobs, settings=settings(max_examples=MACHINES, stateful_step_count=10))
