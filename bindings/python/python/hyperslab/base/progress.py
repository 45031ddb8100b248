"""Progress of long calls: a bar in notebooks, a line on terminals, nothing in files and pipes."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from .blocks import size, text

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

#: Nothing is shown before this time, and not more often than this.
PATIENCE_SECONDS, INTERVAL_SECONDS = 1.0, 0.2


class Progress:
    """Shows how far a call is: pass it as the `progress` of `hs.fuse`, `Advice.apply`, `hs.tune` and others. Without one, what takes
    more than two seconds shows how much it has read.

    Attributes:
        automatic: Whether progress appears by itself: `hs.Progress.automatic = False` or the variable `HYPERSLAB_PROGRESS=0` turn it off.

    Example:
        >>> with hs.Progress("fuse") as progress:
        ...     hs.fuse("run.h5", "single.h5", progress=progress)
    """

    automatic: ClassVar[bool] = True
    #: How many of them a block is in.
    shown: ClassVar[int] = 0

    def __init__(self, what: str = "", unit: str = "bytes", *, seconds: float = 0.0) -> None:
        """Shows nothing yet.

        Args:
            what: What is done.
            unit: What is counted: `bytes`, `rows` …
            seconds: For how long it has been done.
        """
        self._what, self._unit, self._begin, self._shown_at = what, unit, time.monotonic() - seconds, 0.0
        #: How much is done.
        self.done = 0
        self._handle: DisplayHandle | None = None
        self._is_line = False
        self._notebook = _notebook()

    def __enter__(self) -> Progress:
        Progress.shown += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        Progress.shown -= 1
        self.close()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Shows that `done` of `total` are done. With one argument it is the number done since the last call, as `IndexPlan.run`
        reports it."""
        self.done = done if total is not None else self.done + done
        is_known = bool(total)
        count = size(self.done) if self._unit == "bytes" else f"{self.done:,} {self._unit}"
        of = "" if not is_known or total is None else f" of {size(total) if self._unit == 'bytes' else format(total, ',')}"
        self.say(f"{count}{of}", self.done / total if is_known and total else None)

    def say(self, note: str, share: float | None = None) -> None:
        """Shows a note, and a bar if the share that is done is known.

        Args:
            note: A short text.
            share: The part that is done, 0 to 1.

        Example:
            >>> progress.say("12 MB read")
        """
        now = time.monotonic()
        if now - self._begin < PATIENCE_SECONDS or now - self._shown_at < INTERVAL_SECONDS:
            return
        self._shown_at = now
        seconds = f"{now - self._begin:.0f} s"
        if self._notebook is not None:
            value = "" if share is None else f" value='{min(max(share, 0.0), 1.0):.3f}'"
            self._publish(f"<div><progress{value} style='width:12em;vertical-align:middle'></progress> {text(self._what)} {text(note)}, {seconds}</div>")
        elif sys.stderr.isatty():
            self._is_line = True
            print(f"\r\x1b[K{self._what} {'' if share is None else f'{share:.0%}, '}{note}, {seconds}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Removes what is shown.

        Example:
            >>> progress.close()
        """
        if self._handle is not None:
            self._publish("")
        if self._is_line:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_line = False

    def _publish(self, shown: str) -> None:
        content = self._notebook.HTML(shown)
        if self._handle is None:
            self._handle = self._notebook.display(content, display_id=True)
        else:
            self._handle.update(content)


def is_shown() -> bool:
    """Whether somebody sees progress: in a notebook, or on a terminal."""
    return _notebook() is not None or sys.stderr.isatty()


def _notebook() -> Any:
    """IPython's display, in a notebook; `None` elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return sys.modules["IPython.display"]
