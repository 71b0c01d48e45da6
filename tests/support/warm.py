"""A Python that is warm: what a run imports is there before it starts.

A run of the pipeline is a hundred short processes, and most of their time goes into imports. Here a server
imports the libraries, of the project nothing, and forks for every command. The file that `serving` gives, in
a folder whose name must be quoted, is called as Python is, with ``-m module``, ``-c text`` or a script, and
has the arguments, the environment, the directory and the terminal of its caller; but not its process id and
limits, and all have one seed of hashes. Of the modules that a plan hashes, the text of each is made once
(`remember_texts`).
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import json
import os
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

LIBRARIES = (
    "docutils.core",
    "dpath",
    "fastjsonschema",
    "highspy",
    "jinja2",
    "jsonschema",
    "latex2mathml.converter",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "matplotlib.style",
    "nbformat",
    "numba",
    "numpy",
    "pandas",
    "pandas.core.reshape.reshape",
    "pandas.io.formats.csvs",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "requests",
    "scipy.optimize",
    "scipy.special",
    "smart_open",
    "snakemake.benchmark",
    "snakemake.cli",
    "snakemake.profiles",
    "snakemake.report.html_reporter",
    "snakemake.script",
    "snakemake.storage",
    "ucimlrepo.fetch",
    "yte",
)

CLIENT = """import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [b"%08d" % len(asked)], [0, 1, 2])
    server.sendall(asked)
    code = server.recv(1)
sys.exit(code[0] if code else 1)
"""


@contextmanager
def serving() -> Iterator[str]:
    """Start a server, and give the path of what is called in place of Python."""
    directory = Path(tempfile.mkdtemp(prefix="""it's "$1" """))
    command = [sys.executable, __file__, str(directory)]
    # What one process has compiled the next one need not.
    compiling = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    server = subprocess.Popen(command, env=compiling, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        shutil.rmtree(directory)


def serve(directory: Path) -> int:
    """Fork for every command; the processes that run one return, with its status."""
    for name in LIBRARIES:
        importlib.import_module(name)
    remember_texts(directory)
    # Snakemake reads configuration with the loader that is written in Python, which takes ten times as long.
    yaml.FullLoader = getattr(yaml, "CFullLoader", yaml.FullLoader)
    gc.freeze()
    python, address = directory / "python", str(directory / "socket")
    client = directory / "client.py"
    client.write_text(CLIENT.format(address=address))
    # No path with spaces can stand in the first line of a script.
    python.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", str(client)])} "$@"\n')
    python.chmod(0o755)
    sys.executable = str(python)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print(python, flush=True)
        signal.signal(signal.SIGCHLD, reap)
        while True:
            caller, _ = listening.accept()
            if not os.fork():
                break
            caller.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return answer(caller)


def remember_texts(directory: Path) -> None:
    """Let `ast.unparse` read from a file what it has made of the same bytes in another process.

    In between the project changes the tree, and it changes equal sources in the same way.
    """
    parse, unparse = ast.parse, ast.unparse

    def parse_and_note(source: Any, *arguments: Any, **options: Any) -> Any:
        tree = parse(source, *arguments, **options)
        if isinstance(source, bytes) and not (arguments or options):
            tree.made_of = hashlib.sha256(source).hexdigest()
        return tree

    def unparse_once(tree: Any) -> str:
        if not hasattr(tree, "made_of"):
            return unparse(tree)
        file = directory / tree.made_of
        if not file.is_file():
            partial = directory / f"{tree.made_of}.{os.getpid()}"
            partial.write_text(unparse(tree), encoding="utf-8")
            partial.replace(file)
        return file.read_text(encoding="utf-8")

    ast.parse, ast.unparse = parse_and_note, unparse_once


def reap(*_: object) -> None:
    """Wait for what has ended, so that the time it took counts as that of the tests."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def answer(caller: socket.socket) -> int:
    """Run what is asked for in a process that ends as any other does; the one that waits for it says how."""
    size, descriptors, _, _ = socket.recv_fds(caller, 8, 3)
    asked = b""
    while len(asked) < int(size):
        asked += caller.recv(int(size) - len(asked))
    if pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        caller.sendall(bytes([status if status >= 0 else 128 - status]))
        os._exit(0)
    caller.close()
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    sys.argv, folder, environment = json.loads(asked)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            sys.path[0] = folder
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        elif sys.argv[0] == "-c":
            sys.path[0] = folder
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            sys.path[0] = str(Path(sys.argv[0]).parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1])))
