"""Calls of the library: errors become exceptions, Ctrl-C ends the work, progress is shown.

The library runs in a thread of its own while the calling one waits, since only a waiting main thread sees Ctrl-C. ctypes
gives the interpreter lock back for as long as a call lasts."""
from __future__ import annotations

import ctypes
import importlib
import signal
import sys
import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Union

from . import _errors, _library
from ._library import library

#: `progress`: True shows a bar, False nothing, None a bar where somebody looks; or a function of the activity, the samples
#: done and those in all.
Progress = Union[None, bool, Callable[[str, int, int], Any]]


def check(error: Optional[_library.Error]) -> None:
    """Raises the exception of what a function returned, if that is an error."""
    if not error:
        return
    code = library.tare_error_code(error)
    text = library.tare_error_message(error).decode("utf-8", "replace")
    if code == _errors.CANCELLED:
        raise KeyboardInterrupt
    raise _errors.BY_CODE.get(code, _errors.InternalError)(text)


class Handle:
    """Something of the library's, freed when nobody has it any more. What it needs lives as long.

    It is there before what it holds, since Ctrl-C may come as soon as the library has made that."""

    def __init__(self, free: Callable[[ctypes.c_void_p], None], *needs: object):
        self._free = free
        self._address = ctypes.c_void_p()
        self._needs = needs

    def __del__(self) -> None:
        if getattr(self, "_address", None):
            self._free(self._address)

    @property
    def out(self) -> Any:
        """Where the library puts what it makes."""
        return ctypes.byref(self._address)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:  # ctypes asks for it
        return self._address


class Text(Handle):
    """A text that the library makes."""

    def __init__(self) -> None:
        super().__init__(library.tare_free)

    def __str__(self) -> str:
        return ctypes.string_at(self._address.value or 0).decode("utf-8", "replace")


class Failures:
    """Exceptions of callbacks, the first of which is raised when the call is over."""

    def __init__(self) -> None:
        self.first: Optional[BaseException] = None

    def guard(self, function: Callable[..., int], failed: int) -> Callable[..., int]:
        """The function for C: `failed` where it raises."""

        def guarded(*arguments: Any) -> int:
            try:
                return function(*arguments)
            except BaseException as error:  # pylint: disable=broad-except  # of any kind, as C has none
                self.first = self.first or error
                return failed

        return guarded


class _Interrupt:
    """Ctrl-C and other signals while the library works: what their handlers raise is kept until the work is over, wherever
    in Python the main thread was. Python ends threads that run on behind it, in the middle of the library's code."""

    def __init__(self, cancel: Callable[[], None]):
        self.raised: Optional[BaseException] = None
        self._cancel = cancel
        self._handlers: Dict[int, Any] = {}

    def __enter__(self) -> "_Interrupt":
        if threading.current_thread() is threading.main_thread():  # which handlers run in
            try:
                for number in signal.valid_signals():
                    handler = signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        signal.signal(number, self._handle)
            except BaseException:
                self._give_back()
                raise
        return self

    def __exit__(self, *_: Any) -> None:
        self._give_back()

    def _give_back(self) -> None:
        for number, handler in self._handlers.items():
            try:
                if signal.getsignal(number) == self._handle:  # else one of them put another in its place
                    signal.signal(number, handler)
            except BaseException as error:  # pylint: disable=broad-except  # of a handler that was given back
                self.raised = self.raised or error

    def _handle(self, number: int, frame: Any) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:  # pylint: disable=broad-except  # of any kind, as handlers are the user's
            self.raised = self.raised or error
            self._cancel()


class _Bar:
    """Shows progress: by tqdm where it is installed, else as a line on the terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._activity = ""
        self._shown = -1

    def show(self, activity: str, done: int, total: int) -> None:
        tqdm = self._tqdm()
        if tqdm is not None:
            if activity != self._activity or done < self._bar.n or self._bar.total != total:
                self.close()
                self._bar = tqdm(total=total, desc=activity, unit="sample", leave=False)
                self._activity = activity
            self._bar.update(done - self._bar.n)
            return
        percent = 100 * done // max(total, 1)
        if (activity, percent) != (self._activity, self._shown):
            self._activity, self._shown = activity, percent
            sys.stderr.write(f"\r{activity} {percent:3d} %\x1b[K")
            sys.stderr.flush()

    def _tqdm(self) -> Any:
        try:
            return importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            return None

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self._shown >= 0:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _shows(progress: Progress) -> bool:
    return bool(progress) if progress is not None else "ipykernel" in sys.modules or sys.stderr.isatty()


class Work:
    """One call that may take long."""

    def __init__(self, threads: int = 0, samples: int = 0, progress: Progress = None,
                 failures: Optional[Failures] = None):
        self.failures = failures or Failures()  # of callbacks that were made before
        self._cancelled = threading.Event()
        self._bar = _Bar()
        self._told = progress if callable(progress) else self._bar.show if _shows(progress) else None
        self._warnings: List[str] = []
        self.job = _library.Job(size=ctypes.sizeof(_library.Job), samples=samples, threads=threads, context=None,
                                progress=_library.PROGRESS(self.failures.guard(self._progress, 1)),
                                warning=_library.WARNING(self._warning))

    def _progress(self, _context: Any, activity: bytes, done: int, total: int) -> int:
        if self._cancelled.is_set() or self.failures.first is not None:
            return 1
        if self._told is not None:
            self._told(activity.decode(), done, total)
        return 0

    def _warning(self, _context: Any, kind: bytes, where: bytes, what: bytes) -> None:
        place = where.decode("utf-8", "replace")
        self._warnings.append(f"{kind.decode()}: {place}: {what.decode('utf-8', 'replace')}")

    def run(self, name: str, *arguments: Any) -> None:
        """Calls that function of the library, with `self.job` among the arguments if it takes one."""
        function = getattr(library, name)
        returned: List[_library.Error] = []
        over = threading.Event()

        def call() -> None:
            try:
                returned.append(function(*arguments))
            except BaseException as error:  # pylint: disable=broad-except  # such as ctypes.ArgumentError
                self.failures.first = self.failures.first or error
            finally:
                over.set()

        thread = threading.Thread(target=call, name=name, daemon=True)
        with _Interrupt(self._cancelled.set) as interrupt:
            thread.start()
            over.wait()
            thread.join()
        self._bar.close()
        self._end(returned[0] if returned else None, interrupt.raised)

    def _end(self, error: Optional[_library.Error], interrupt: Optional[BaseException]) -> None:
        first, self.failures.first = self.failures.first, None
        if interrupt is not None or first is not None:
            raise (interrupt or first)  # type: ignore[misc]
        for text in self._warnings:
            warnings.warn(text, _errors.TareWarning, stacklevel=4)
        self._warnings = []
        check(error)
