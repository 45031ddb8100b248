"""The command `hyperslab`, with Ctrl-C and a lack of memory handled before anything else is imported.

A package of its own: importing a module of `hyperslab` imports all of `hyperslab` first, which takes a moment."""

import os
import signal
from types import FrameType
from typing import NoReturn

#: What Python, the loader of libraries and Arrow say when the operating system gives no memory.
_NO_MEMORY = (
    "can't start new thread",
    "Resource temporarily unavailable",
    "annot allocate memory",
    "failed to map segment",
    "error return without exception set",  # importing a module, in CPython
    "without setting an exception",
)


def main() -> None:
    """Entry point of the command."""
    # A shell that starts a command in the background lets it ignore SIGINT.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    # Created in advance: without memory, neither a message can be created nor Python's exit awaited.
    message = f"hyperslab: not enough memory{_limit()}\n".encode()
    try:
        from hyperslab.cli import main as run

        run()
    except MemoryError:
        _end_without_memory(message)
    except (RuntimeError, ImportError, SystemError) as error:
        if any(words in str(error) for words in _NO_MEMORY):
            _end_without_memory(message)
        raise


def _end_without_memory(message: bytes) -> NoReturn:
    os.write(2, message)
    os._exit(1)


def _limit() -> str:
    """What this process may have, if it is limited."""
    try:
        import resource
    except ImportError:
        return ""
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space == resource.RLIM_INFINITY:
        return ""
    return f": this process may have {address_space >> 20:,} MiB of addresses (ulimit -v), of which some are reserved and never used; allow more"


def _end(number: int, _: FrameType | None) -> None:
    """There is nothing to clean up yet; `hyperslab.cli.stopping` takes over when there is."""
    os._exit(128 + number)
