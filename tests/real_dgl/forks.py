"""Runs in an environment with real DGL, whose import takes seconds: imports it once, and forks for each script.

A line of stdin is a task: a script, its arguments, environment, directory, and the files of its stdout and stderr. A
line of stdout is its exit code.
"""

import json
import os
import runpy
import sys
from contextlib import suppress

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what DGL says when it is imported

import dgl.distributed  # noqa: E402

with suppress(ImportError):
    import dgl.graphbolt  # noqa: F401  # since DGL 2.1

for line in sys.stdin:
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
        continue
    task = json.loads(line)
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in enumerate(task["streams"], 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = task["words"]
    runpy.run_path(sys.argv[0], run_name="__main__")
    break
