"""Command server: the command `hyperslab`, and Python code, for tests that call them many times.

Starting Python and importing Hyperslab takes most of the time of a short command. Here one process has imported all, and forks a child
for each call, which runs the command's own entry point with the caller's arguments, folder, environment and descriptors. The programs
`hyperslab` and `python` (with `-c`) in `folder` hand their call over and end with the child's status.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

#: Imports nothing but `socket`, without site-packages.
CALLER = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode() + b"\\n"], [0, 1, 2])
    status = server.recv(1)
sys.exit(status[0] if status else "the command server has ended")
"""


class CommandServer:
    """Serves from a folder until it is closed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        address = str(folder / "socket")
        for name in ("hyperslab", "python"):
            caller = folder / name
            caller.write_text(CALLER.format(python=sys.executable, address=address))
            caller.chmod(0o755)
        environment = {**os.environ, "MPLBACKEND": "Agg"}
        self._process = subprocess.Popen([sys.executable, __file__, address], env=environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def serve(address: str) -> None:
    """Answers calls one after the other; commands run side by side."""
    # With this name, importing Hyperslab does not look for a profile, which each command may have another one of.
    sys.argv = ["hyperslab"]
    # What commands import when they run. None of it starts threads or reads the environment of a command.
    import duckdb  # noqa: F401
    import hyperslab_command
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
    import xarray  # noqa: F401
    from hyperslab.cli.commands import application

    application()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            caller, _ = listening.accept()
            with caller:
                if os.fork() == 0:
                    listening.close()
                    os._exit(answer(caller, hyperslab_command.main))


def answer(caller: socket.socket, main: Callable[[], None]) -> int:
    """Runs one command in a child, and tells the caller how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, descriptors, _, _ = socket.recv_fds(caller, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += caller.recv(1 << 16)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        caller.sendall(bytes([128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)]))
        return 0
    caller.close()
    words, folder, environment = json.loads(text)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    try:
        if pathlib.Path(words[0]).name == "python":
            assert words[1] == "-c"
            sys.argv = words[1:2] + words[3:]
            exec(compile(words[2], "<string>", "exec"), {"__name__": "__main__"})
        else:
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
