"""Faults for tests: system calls that are refused, and other users. They hold in a child process, which ends with them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pickle
import platform
import signal
import struct
import traceback
from collections.abc import Callable
from typing import Any

#: Numbers of system calls.
_NUMBERS = {
    "x86_64": {"flock": 73, "fsync": 74, "fdatasync": 75, "rename": 82, "fstatfs": 138, "linkat": 265, "renameat2": 316},
    "aarch64": {"flock": 32, "linkat": 37, "rename": 38, "fstatfs": 44, "fsync": 82, "fdatasync": 83, "renameat2": 276},
}[platform.machine()]
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

#: What file systems answer that have no locks, or no hard links and no renaming without replacing.
NO_LOCKS = {"flock": errno.ENOSYS}
NO_LINKS = {"linkat": errno.EPERM}
NO_RENAME_NEW = {"renameat2": errno.EINVAL}
#: Locks of this process alone, as those of another machine are for a file system that keeps them to itself; and that this
#: is a file system of one machine is not told.
LOCAL_LOCKS = {"flock": 0, "fstatfs": errno.ENOSYS}
#: In the place of an error: the process is killed.
KILL = -1


def refuse(calls: dict[str, int]) -> None:
    """From now on these system calls fail with these errors, in this thread and those that it starts; the error 0 is a call
    that does nothing. A seccomp filter: it needs no rights and no tools, and cannot be taken back."""
    program = struct.pack("HBBI", _LOAD, 0, 0, 0)
    for name, error in calls.items():
        program += struct.pack("HBBI", _JUMP_IF_EQUAL, 0, 1, _NUMBERS[name]) + struct.pack("HBBI", _RETURN, 0, 0, _KILL if error == KILL else _ERRNO | error)
    program += struct.pack("HBBI", _RETURN, 0, 0, _ALLOW)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    given = Program(len(program) // 8, ctypes.addressof(code))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(given), 0, 0):
        raise OSError(ctypes.get_errno(), "cannot refuse system calls")


def become(user: int, group: int | None = None, groups: tuple[int, ...] = ()) -> None:
    """This process goes on as another user; only root can."""
    os.setgroups(groups)
    os.setgid(user if group is None else group)
    os.setuid(user)


def in_child(work: Callable[[], Any]) -> Any:
    """Runs `work` in a forked process and gives what it returns; an error there fails here, with its trace."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = (True, work())
        except BaseException:
            outcome = (False, traceback.format_exc())
        with os.fdopen(writer, "wb") as out:
            pickle.dump(outcome, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read()
    assert os.waitpid(child, 0)[1] == 0, "the child was killed"
    is_good, value = pickle.loads(said)
    assert is_good, value
    return value


def killed(work: Callable[[], Any]) -> None:
    """Runs `work` in a forked process, which a refused system call must kill."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSYS
