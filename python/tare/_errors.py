"""What is raised: the errors of the library, with the messages of the program."""
from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """Anything that the library refuses; the text is what the program `tare` says."""


class ModelError(Error, ValueError):
    """The model breaks a rule of its own format."""


class UnsupportedError(Error, NotImplementedError):
    """A legal model, or a use of the library, that is not implemented."""


class ConfigError(Error, ValueError):
    """An argument, a key of the configuration or its value."""


class DataError(Error, ValueError):
    """A sample: wrong name, shape or type, NaN, or none at all."""


class FileError(Error, OSError):
    """A file that cannot be opened, read or written."""


class InternalError(Error, RuntimeError):
    """A bug in Tare; please report it."""


class OutOfMemoryError(Error, MemoryError):
    """More memory is needed than this process may have."""


class TareWarning(UserWarning):
    """Something about samples or options that may be a mistake."""


CANCELLED = 8
CALLBACK = 9
BY_CODE: Dict[int, Type[Error]] = {1: ModelError, 2: UnsupportedError, 3: ConfigError, 4: DataError, 5: FileError,
                                   6: InternalError, 7: OutOfMemoryError}
