"""Devices: NVIDIA GPUs, and emulated ones, which execute the PTX of the same kernels on the host."""

from __future__ import annotations

import ctypes
import enum
import os
from typing import Any, Optional

from ._library import check, library, text_of
from ._structures import DevicePropertiesC


class DeviceKind(enum.IntEnum):
    """What a device is. AUTO is never the kind of one."""

    AUTO = 0
    CUDA = 1
    EMULATED = 2


class DeviceProperties:
    """What a plan needs to know of a device."""

    def __init__(self, c: Optional[DevicePropertiesC] = None) -> None:
        self._c = c if c is not None else DevicePropertiesC()

    @classmethod
    def preset(cls, name: str) -> "DeviceProperties":
        """Properties of a device that need not be here: "B200", "B300", "Thor", "H200", "emulated", "emulated_sm_90a".

        Raises:
            NotFound: lists the names.
        """
        properties = cls()
        check(library().shiftconv_device_preset(name.encode(), ctypes.byref(properties._c)))
        return properties

    @property
    def kind(self) -> DeviceKind:
        return DeviceKind(self._c.kind)

    @property
    def compute_capability(self) -> tuple[int, int]:
        return self._c.compute_major, self._c.compute_minor

    @property
    def multiprocessors(self) -> int:
        return int(self._c.multiprocessors)

    @multiprocessors.setter
    def multiprocessors(self, count: int) -> None:
        self._c.multiprocessors = count

    @property
    def shared_bytes_per_block(self) -> int:
        """The most shared memory that a kernel may opt in to."""
        return int(self._c.shared_bytes_per_block)

    @property
    def l2_bytes(self) -> int:
        return int(self._c.l2_bytes)

    @property
    def global_bytes(self) -> int:
        return int(self._c.global_bytes)

    @property
    def name(self) -> str:
        return bytes(self._c.name).decode()

    def __repr__(self) -> str:
        major, minor = self.compute_capability
        return f"<{self.name}, compute capability {major}.{minor}, {self.multiprocessors} multiprocessors>"


def preset(name: str) -> DeviceProperties:
    """``DeviceProperties.preset``."""
    return DeviceProperties.preset(name)


def devices() -> list[DeviceProperties]:
    """The GPUs that the CUDA driver shows, in its order, followed by the emulated devices. None of them is opened."""
    count = ctypes.c_int()
    check(library().shiftconv_device_count(ctypes.byref(count)))
    found = []
    for index in range(count.value):
        properties = DeviceProperties()
        check(library().shiftconv_device_enumerate(index, ctypes.byref(properties._c)))
        found.append(properties)
    return found


def emulate(architecture: str = "sm_100a") -> None:
    """Makes the emulated device what CPU tensors of frameworks, and devices that are opened without a name, run on. Sets
    SHIFTCONV_DEVICE in the environment of this process, so child processes follow.

    An emulated convolution executes the same kernels instruction by instruction, and takes thousands of times as long as on a GPU.

    Raises:
        ValueError: the architecture is neither "sm_100a" nor "sm_90a".
    """
    if architecture not in ("sm_100a", "sm_90a"):
        raise ValueError(f'architecture must be "sm_100a" or "sm_90a", but is {architecture!r}')
    os.environ["SHIFTCONV_DEVICE"] = f"emulated:{architecture}"


class Device:
    """An open device. Close it, or use it in a ``with`` statement; memory and streams of it must be gone by then.

    Args:
        name: "cuda", "cuda:1", "emulated", "emulated:sm_90a", or "auto": what SHIFTCONV_DEVICE names, else the first supported
            GPU.

    Raises:
        NotFound: there is no such device; the sentence says what there is.
    """

    def __init__(self, name: str = "auto") -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        handle = ctypes.c_void_p()
        check(library().shiftconv_device_open_named(name.encode(), ctypes.byref(handle)))
        self._handle = handle

    @property
    def handle(self) -> Optional[ctypes.c_void_p]:
        """The shiftconv_device_t; None once closed."""
        return self._handle

    @property
    def properties(self) -> DeviceProperties:
        properties = DeviceProperties()
        check(library().shiftconv_device_get_properties(self._handle, ctypes.byref(properties._c)))
        return properties

    def set_option(self, name: str, value: str) -> None:
        """Sets an option of an emulated device, such as "hazards"; shiftconv_device_set_option lists them."""
        check(library().shiftconv_device_set_option(self._handle, name.encode(), value.encode()))

    def counters(self, as_json: bool = False) -> str:
        """What the launches on an emulated device did since it was opened, or since ``reset_counters``."""
        return text_of(lambda *text: library().shiftconv_device_counters(self._handle, int(as_json), *text))

    def reset_counters(self) -> None:
        check(library().shiftconv_device_reset_counters(self._handle))

    def upload(self, data: Any, stream: Optional[int] = None) -> "Memory":
        """New device memory with the bytes of an object that has a contiguous buffer, such as bytes or a NumPy array. Returns when
        the copy is complete."""
        source = memoryview(data).cast("B")
        memory = Memory(self, len(source))
        content = bytes(source)
        check(library().shiftconv_copy_to_device(self._handle, memory.address, content, len(content), stream))
        self.synchronize(stream)
        return memory

    def synchronize(self, stream: Optional[int] = None) -> None:
        """Waits for all work in a stream (None: the default stream), and raises what that work reports."""
        check(library().shiftconv_stream_synchronize(self._handle, stream))

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            check(library().shiftconv_device_close(handle))

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter ends, or the library is gone
            pass


class Memory:
    """Device memory, aligned to 256 bytes, with undefined contents. It keeps its device's Python object alive; work that uses it must
    have completed when it goes."""

    def __init__(self, device: Device, size: int) -> None:
        address = ctypes.c_void_p()
        self._device, self._address = device, None
        check(library().shiftconv_device_allocate(device.handle, size, ctypes.byref(address)))
        self._address, self.size = address.value, size

    @property
    def address(self) -> Optional[int]:
        return self._address

    def fill(self, value: int, stream: Optional[int] = None) -> None:
        """Sets every byte, in the order of the stream."""
        check(library().shiftconv_device_fill(self._device.handle, self._address, value, self.size, stream))

    def download(self, stream: Optional[int] = None) -> bytes:
        """Waits for the stream, and returns the contents."""
        buffer = ctypes.create_string_buffer(self.size)
        check(library().shiftconv_copy_to_host(self._device.handle, buffer, self._address, self.size, stream))
        self._device.synchronize(stream)
        return buffer.raw

    def __del__(self) -> None:
        try:
            if self._address is not None and self._device.handle is not None:
                library().shiftconv_device_free(self._device.handle, self._address)
        except Exception:  # the interpreter ends, or the library is gone
            pass
