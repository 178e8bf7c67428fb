"""Exceptions. Each carries the library's sentence, which names the argument or field and the limit."""

from __future__ import annotations


class Error(Exception):
    """A call of the library that failed. ``status`` is the shiftconv_status_t."""

    def __init__(self, message: str, status: int = 6) -> None:
        super().__init__(message)
        self.status = status


class InvalidArgument(Error, ValueError):
    """A value is wrong in itself: out of range, misaligned, contradictory."""


class Unsupported(Error, NotImplementedError):
    """Legal, but this algorithm or device cannot do it."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory."""


class DeviceError(Error, RuntimeError):
    """The CUDA driver or the emulator refused or stopped something; its text is quoted."""


class NotFound(Error, LookupError):
    """There is no such device, algorithm, option or preset."""


class InternalError(Error, RuntimeError):
    """A defect of the library."""


_by_status = {1: InvalidArgument, 2: Unsupported, 3: OutOfMemory, 4: DeviceError, 5: NotFound, 6: InternalError}


def error_of(status: int, message: str) -> Error:
    """The exception for a status that is not success."""
    return _by_status.get(status, InternalError)(message, status)
