"""Run one job on one output directory: lock it, start or resume, clean up.

A running job keeps a lock in the output directory, and a workspace with its journal. After a failure that may pass
(disk full, a lost worker, a kill), both stay and the same command resumes. After a mistake in input or options, both
go, because the corrected job is another. The journal goes last: until then the job can resume.
"""

from __future__ import annotations

import logging
import shutil
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.engine.journal import JOURNAL_NAME, RESTART_HINT, Journal, boot_id, read_header
from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileError, OutputLockedError, ResumeError
from daskgraphpart.jobs.fingerprint import check_unchanged, warn_of_changes
from daskgraphpart.jobs.job_inputs import first_input
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import make_directory, shown_name, workspace_store
from daskgraphpart.storage.lock import LOCK_NAME, Lock
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.jobs.job_options import JobOptions
    from daskgraphpart.storage.output_lock import OutputLock
    from daskgraphpart.storage.store import WorkspaceStore


logger = logging.getLogger(__name__)

CONTINUE_HINT = "run the same command again to continue, or add --restart to start over"


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """The directory a job writes to."""

    path: Path
    workspace: str | None
    """Where the workspace is made; None: in the directory."""
    claim: Callable[[bool], None]
    """Make it ready for a new job, or raise; the argument says whether what is there is from an unfinished one."""
    discard: Callable[[], None]
    """Delete what an unfinished job has written."""
    name: str = "output directory"
    claimed: OutputLock | None = None
    """The output itself, if it is in a store, as this run holds it."""


@contextmanager
def open_job(
    output: OutputDirectory, scan: Scan, fingerprint: dict[str, Any], options: JobOptions
) -> Iterator[tuple[Workspace, Runner]]:
    """Lock the output directory, and start a job or resume the unfinished one.

    Raises `OutputLockedError` if another run is writing there, and `ResumeError` if the unfinished job cannot resume,
    or was started with other input or options.
    """
    make_directory(output.path)
    lock = workspace_store(output.path).lock(output.path)
    store = workspace_store(output.path)  # which knows by now that it is locked
    try:
        work, journal = _begin_or_continue(output, lock, fingerprint, options)
    except BaseException:
        lock.release(keep_notes=lock.notes.workspace is not None)
        raise
    try:
        if output.claimed is not None:
            output.claimed.commit()  # by now the journal knows this run
        plan, usable = _shares(options.resources, journal.header["plan"])
        with environment_faults(), open_runner(usable, options.progress, journal, plan, store) as runner:
            directories = [(output.name, output.path, LOCK_NAME), ("workspace", Path(work.root), JOURNAL_NAME)]
            shared = directories if store.is_on_disk else []
            runner.check_shared([*shared, *input_directory(scan)])
            check_leftovers(store, journal, runner)
            yield work, runner
        warn_of_changes(fingerprint)
        work.remove_torn_files(output.path)  # of workers that were lost
        _end(work, journal, lock)
    except BaseException as fault:
        try:
            lock.check()
            if isinstance(fault, OutputLockedError):
                raise fault
        except OutputLockedError as lost:  # what is there is another run's
            lock.release(keep_notes=True)
            raise lost from (None if lost is fault else fault)
        except EnvironmentFaultError:
            pass  # the store cannot be reached
        journal.close()
        _leave(output, work, journal, lock, fault, options.can_continue)
        _refuse_damaged(journal, fault)
        raise


def input_directory(scan: Scan) -> list[tuple[str, Path, str]]:
    """Describe the directory of a graph's files, if it has any, for `check_shared`."""
    source = first_input(scan)
    if not isinstance(source, Path):
        return []
    directory = source if source.is_dir() else source.parent
    return [("input directory", directory.absolute(), "")]


def _begin_or_continue(
    output: OutputDirectory, lock: Lock, fingerprint: dict[str, Any], options: JobOptions
) -> tuple[Workspace, Journal]:
    wanted = Workspace.of(output.path, output.workspace, options.resources.keep_workspace)
    there = _find_workspace(output.path, lock, Path(wanted.root))
    claimed = output.claimed
    claim = "" if claimed is None else claimed.run
    journal, is_unfinished = _find_journal(there, options.restart, claimed)
    if journal is not None:
        try:
            if claimed is not None and not _is_of_run(journal, claimed):
                raise ResumeError(
                    "another run has written to the output since this one stopped",
                    file=claimed.directory,
                    hint="choose another output directory, or add --restart and --overwrite to replace what it wrote",
                )
            check_unchanged(journal.header["fingerprint"], fingerprint, shown_name(there))
            _check_plan(journal, there, Path(wanted.root), options.resources)
        except BaseException as fault:
            journal.close()
            _refuse_damaged(journal, fault)
            raise
        wanted.remove_torn_files(output.path)
        lock.commit()
        logger.info("resuming the unfinished run: %s done", format_number(journal.num_finished, "task"))
        journal.begin_run(claim)
        return wanted, journal
    output.claim(is_unfinished or (claimed is None and lock.notes.workspace is not None))
    shutil.rmtree(there, ignore_errors=True)
    work = Workspace.create(output.path, output.workspace, options.resources.keep_workspace)
    resources = options.resources
    plan = {"memory": resources.memory, "workers": resources.workers, "staging": resources.staging}
    directory = str(output.path.resolve())
    lock.commit()
    header = {"fingerprint": fingerprint, "plan": plan, "output": directory, "workspace": work.root}
    journal = Journal.create(work.root, header, claim)
    lock.write(workspace=work.root, output=directory)
    return work, journal


def _is_of_run(journal: Journal, claimed: OutputLock | None) -> bool:
    """Whether no other run has taken the output since the journal's latest."""
    return claimed is None or journal.machine.get("claim") in claimed.previous


def _refuse_damaged(journal: Journal, fault: BaseException) -> None:
    """Refuse to resume from a journal with unreadable values: its checksums agree, so another version wrote them."""
    wrong_values = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
    if journal.is_of_earlier_run and isinstance(fault, wrong_values) and not isinstance(fault, GraphPartError):
        logger.debug("while an unfinished run was continued", exc_info=fault)
        raise ResumeError(
            "cannot resume: the journal may be damaged",
            file=shown_name(journal.path),
            found=f"{type(fault).__name__}: {fault}",
            hint=RESTART_HINT,
        ) from fault


def _find_workspace(out: Path, lock: Lock, default: Path) -> Path:
    """Return the workspace named in the lock, if its journal names this output."""
    noted, output = lock.notes.workspace, str(out.resolve())
    if noted is None or Path(noted) == default or lock.notes.output != output:
        return default
    header = read_header(noted)
    return Path(noted) if header is not None and header.get("output") == output else default


def _find_journal(workspace: Path, restart: bool, claimed: OutputLock | None) -> tuple[Journal | None, bool]:
    """Open the journal of a job that can resume, and say whether one is unfinished, and what is there its output."""
    try:
        journal = Journal.open(workspace)
    except ResumeError:
        if restart:
            return None, claimed is None
        raise
    if journal is None:
        return None, False
    if journal.is_done or restart:
        journal.close()
        return None, not journal.is_done and _is_of_run(journal, claimed)
    machine = journal.machine
    is_local = workspace_store(workspace).is_on_disk
    if is_local and machine.get("host") == socket.gethostname() and machine.get("boot") != boot_id():
        logger.warning(
            "starting over: this machine has restarted since the unfinished run, whose files may be incomplete"
        )
        journal.close()
        return None, _is_of_run(journal, claimed)
    return journal, True


def _check_plan(journal: Journal, there: Path, wanted: Path, resources: Resources) -> None:
    """Refuse another workspace, one that has moved, or less memory than the work was cut for."""
    if there.resolve() != wanted.resolve():
        raise ResumeError(
            "the unfinished run has another workspace",
            option="workspace",
            expected=there.parent,
            found=wanted.parent,
            hint=f"give the same --workspace, or {RESTART_HINT}",
        )
    begun = Path(journal.header["workspace"])
    if workspace_store(there).is_on_disk and not (begun.exists() and begun.samefile(there)):
        raise ResumeError(
            "the workspace of the unfinished run was moved or copied",  # results in its journal name files by path
            file=there,
            expected=begun,
            hint=f"move it back, or {RESTART_HINT}",
        )
    memory = journal.header["plan"]["memory"]
    if resources.memory < memory:
        raise ResumeError(
            "the unfinished run started with more memory",
            file=shown_name(there),
            option="memory",
            expected=f"at least {format_size(memory)} ({memory} bytes)",
            found=f"{format_size(resources.memory)} ({resources.memory} bytes)",
            hint=f"give --memory {-(-memory // 1_000_000)}MB, or {RESTART_HINT}",
        )


def _shares(resources: Resources, begun_with: dict[str, Any]) -> tuple[Resources, Resources]:
    """Keep the task size of the first run, with as many workers as fit now."""
    plan = replace(resources, **begun_with)
    if plan == resources:
        return plan, plan
    what = "tasks keep their size: memory %s, workers %d, staging %s"
    logger.info(what, format_size(plan.memory), plan.workers, plan.staging)
    return plan, replace(resources, workers=max(1, min(resources.workers, resources.memory // plan.task_memory)))


def _end(work: Workspace, journal: Journal, lock: Lock) -> None:
    """Clean up; the order leaves no doubt whether the job is done."""
    if work.is_kept:
        journal.finish()
    journal.close()
    if not work.is_kept:
        work.remove(JOURNAL_NAME)
    with suppress(OSError):  # a disk that fills up now does no harm
        lock.write(workspace=None)
    if not work.is_kept:
        work.remove()
    lock.release()


def _leave(
    output: OutputDirectory,
    work: Workspace,
    journal: Journal,
    lock: Lock,
    fault: BaseException,
    can_continue: bool,
) -> None:
    """Keep everything if a run can resume; else remove it."""
    told = _explain(fault, Path(work.root), output.path)
    is_mistake = isinstance(told, GraphPartError) and told.exit_code == 2 and not isinstance(told, ResumeError)
    if is_mistake or not can_continue or not journal.num_finished:
        output.discard()
        work.remove()
        lock.release()
    else:
        lock.release(keep_notes=True)
        if output.claimed is not None:
            output.claimed.is_kept = True
        if isinstance(told, KeyboardInterrupt):
            told.add_note(f"Finished work is kept in {shown_name(work.root)}; run the same command again to continue.")
        elif not isinstance(told, GraphPartError):
            logger.warning("finished work is kept in %s; run it again to continue", shown_name(work.root))
        elif not isinstance(told, ResumeError):
            told.add_hint(CONTINUE_HINT)
    if told is not fault:
        raise told from fault


def _explain(fault: BaseException, workspace: Path, out: Path) -> BaseException:
    """Return an error that names the damaged or missing file, or else the fault itself."""
    file = getattr(fault, "file", None) or getattr(fault, "filename", None)
    within = Path(str(file or "")).parents
    if workspace in within and (isinstance(fault, FileNotFoundError) or isinstance(fault.__cause__, FileNotFoundError)):
        return ResumeError("a file of the unfinished run is gone", file=file, hint=RESTART_HINT)
    if isinstance(fault, InputFileError) and (workspace in within or out in within):
        what = f"a file of the unfinished run is damaged: {fault.what}"
        return fault.restated(EnvironmentFaultError, what=what, hint=None)
    return fault


def check_leftovers(store: WorkspaceStore, journal: Journal, runner: Runner) -> None:
    """Raise `ResumeError` if anything is not as the journal has it."""
    units = [Unit(suspect, nbytes) for nbytes, suspect in store.suspects(journal.writes)]
    outside = Runner(runner.resources, runner.scheduler, runner.progress, store=store)
    outside.run(Pass("check-leftovers", check_leftover, units, store))


def check_leftover(suspect: Any, store: WorkspaceStore) -> None:
    """Read it, and compare."""
    store.check(suspect)
