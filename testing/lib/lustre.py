"""A command that sees Lustre where there is none: the kernel asks this process what `statfs` and `getxattr` answer.

Calls of the command, of its threads and of its children are answered (`SECCOMP_RET_USER_NOTIF`), so that all of Hyperslab runs as it would, also in
Java. Only what the file system says of itself is made up; bytes are where they are."""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import subprocess
import threading
from typing import Any

#: Numbers of system calls: those that examine a file system, by path and by descriptor, and `seccomp` itself.
_STATFS, _FSTATFS, _GETXATTR, _FGETXATTR, _SECCOMP = {"x86_64": (137, 138, 191, 193, 317), "aarch64": (43, 44, 8, 10, 277)}[platform.machine()]
_SET_MODE_FILTER, _NEW_LISTENER, _PR_SET_NO_NEW_PRIVS = 1, 8, 38
_LOAD, _JUMP_IF_EQUAL, _RETURN, _ALLOW, _NOTIFY = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
LUSTRE = 0x0BD00BD0
_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def layout(stripe_bytes: int, targets: list[int]) -> bytes:
    """The attribute `lustre.lov` of a file with these stripes (version 1, as in `lustre_user.h`)."""
    head = struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 7, 0, stripe_bytes, len(targets), 0)
    return head + b"".join(struct.pack("<QQII", 100 + target, 0, 0, target) for target in targets)


def run(command: list[str], attribute: bytes, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to which all files are on Lustre, with this attribute."""
    ours, theirs = socket.socketpair()

    def listen() -> None:
        """In the child, before the command: the filter, whose descriptor is sent to the parent."""
        calls = (_STATFS, _FSTATFS, _GETXATTR, _FGETXATTR)
        program = struct.pack("HBBI", _LOAD, 0, 0, 0)
        for index, number in enumerate(calls):
            program += struct.pack("HBBI", _JUMP_IF_EQUAL, len(calls) - index, 0, number)
        program += struct.pack("HBBI", _RETURN, 0, 0, _ALLOW) + struct.pack("HBBI", _RETURN, 0, 0, _NOTIFY)
        code = ctypes.create_string_buffer(program, len(program))
        given = _Program(len(program) // 8, ctypes.addressof(code))
        listener = -1
        if not _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            listener = _libc.syscall(_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(given))
        if listener < 0:
            raise OSError(ctypes.get_errno(), "no system calls can be answered here")
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)

    def answer() -> None:
        _, ancillary, *_ = ours.recvmsg(1, socket.CMSG_SPACE(4))
        if not ancillary:
            return
        listener = array.array("i", ancillary[0][2])[0]
        waiting = select.poll()
        waiting.register(listener, select.POLLIN)
        # Without a process that could ask, the descriptor hangs up.
        while all(event & select.POLLIN for _, event in waiting.poll()):
            question = bytearray(80)
            try:
                fcntl.ioctl(listener, _RECEIVE, question)
                fcntl.ioctl(listener, _SEND, _answer(bytes(question), attribute))
            except FileNotFoundError:
                continue  # the process has ended meanwhile
        os.close(listener)

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        return subprocess.run(command, capture_output=True, text=True, preexec_fn=listen, **options)
    finally:
        theirs.close()
        answering.join()
        ours.close()


def _answer(question: bytes, attribute: bytes) -> bytes:
    """The answer to a call; the kernel answers what is not about Lustre."""
    identity, pid, _, number, _, _, *arguments = struct.unpack("QIIiIQ6Q", question)
    goes_on = struct.pack("QqiI", identity, 0, 0, _CONTINUE)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:

        def text(address: int) -> bytes:
            memory.seek(address)
            content = b""
            while b"\0" not in content:
                # Not beyond the page: the next one need not be there.
                content += memory.read(4096 - (address + len(content)) % 4096)
            return content.partition(b"\0")[0]

        place = text(arguments[0]) if number in (_STATFS, _GETXATTR) else b"/proc/%d/fd/%d" % (pid, arguments[0])
        if not place.startswith(b"/"):
            place = b"/proc/%d/cwd/%s" % (pid, place)
        if number in (_STATFS, _FSTATFS):
            about = ctypes.create_string_buffer(120)
            if _libc.statfs(place, about):
                return goes_on
            memory.seek(arguments[1])
            memory.write(struct.pack("Q", LUSTRE) + about.raw[8:])
            return struct.pack("QqiI", identity, 0, 0, 0)
        if text(arguments[1]) != b"lustre.lov":
            return goes_on
        if arguments[3]:
            memory.seek(arguments[2])
            memory.write(attribute)
        return struct.pack("QqiI", identity, len(attribute), 0, 0)
