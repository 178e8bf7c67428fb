// Version, log and devices of the C API.
#include <fmt/format.h>
#include <strings.h>

#include <string>
#include <utility>

#include "common/device/registry.hpp"
#include "conv/api/boundary.hpp"
#include "conv/api/convert.hpp"
#include "conv/api/handles.hpp"
#include "conv/api/log.hpp"
#include "conv/problem/quoted.hpp"

using namespace shiftconv;
using namespace shiftconv::api;

namespace {

#define SHIFTCONV_TEXT_OF(x) #x
#define SHIFTCONV_TEXT(x) SHIFTCONV_TEXT_OF(x)
constexpr const char* kVersion =
    SHIFTCONV_TEXT(SHIFTCONV_VERSION_MAJOR) "." SHIFTCONV_TEXT(SHIFTCONV_VERSION_MINOR) "." SHIFTCONV_TEXT(SHIFTCONV_VERSION_PATCH);

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

device::Stream streamOf(shiftconv_stream_t stream) { return reinterpret_cast<device::Stream>(stream); }
device::Address addressOf(const void* memory) { return reinterpret_cast<device::Address>(memory); }

using OpenDevicePointer = std::shared_ptr<OpenDevice>;

Status findDevice(shiftconv_device_t handle, OpenDevicePointer& device) { return devices().find(handle, "device", device); }

Status findEmulated(shiftconv_device_t handle, const char* what, OpenDevicePointer& device) {
  if (Status status = findDevice(handle, device); !status.ok()) return status;
  if (device->emulation()) return {};
  return {StatusCode::Unsupported,
          fmt::format("{} exist only on the emulated device, not on {}", what, device->device().properties().name)};
}

/// Checks of every transfer; pointers may be NULL when nothing is moved.
Status checkTransfer(shiftconv_device_t handle, size_t bytes, const void* first, const char* firstName, const void* second,
                     const char* secondName, OpenDevicePointer& device) {
  if (Status status = findDevice(handle, device); !status.ok() || bytes == 0) return status;
  if (Status status = require(first, firstName); !status.ok()) return status;
  return require(second, secondName);
}

/// What the environment names, else the first GPU that is supported.
Status openAutomatic(std::unique_ptr<device::Device>& opened) {
  device::DeviceName name;
  if (Status status = device::readDeviceVariable(name); !status.ok()) return status;
  return device::openDevice(name, opened);
}

Status open(shiftconv_device_kind_t kind, int index, std::unique_ptr<device::Device>& opened) {
  switch (kind) {
    case SHIFTCONV_DEVICE_CUDA:
      return device::openDevice(device::Kind::Cuda, index, opened);
    case SHIFTCONV_DEVICE_EMULATED:
      return device::openDevice(device::Kind::Emulated, index, opened);
    case SHIFTCONV_DEVICE_AUTO:
      if (index != 0) return invalid(fmt::format("index must be 0 when the kind is AUTO, but is {}", index));
      return openAutomatic(opened);
    case SHIFTCONV_DEVICE_FORCE_INT:
      break;
  }
  return invalid(fmt::format("kind must be AUTO (0), CUDA (1) or EMULATED (2), but is {}", static_cast<int>(kind)));
}

shiftconv_device_t handOut(std::unique_ptr<device::Device> opened) {
  log(SHIFTCONV_LOG_INFO, fmt::format("opened {}", opened->properties().name));
  return devices().add(std::make_shared<OpenDevice>(std::move(opened)));
}

}  // namespace

extern "C" {

int shiftconv_version(void) { return SHIFTCONV_VERSION; }
const char* shiftconv_version_string(void) { return kVersion; }

shiftconv_status_t shiftconv_set_log(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level) {
  return boundary([&]() -> Status {
    if (level < SHIFTCONV_LOG_OFF || level > SHIFTCONV_LOG_DEBUG)
      return invalid(fmt::format("level must be in 0..4, but is {}", static_cast<int>(level)));
    setLog(callback, user, level);
    return {};
  });
}

shiftconv_status_t shiftconv_device_count(int* count) {
  return boundary([&]() -> Status {
    if (Status status = require(count, "count"); !status.ok()) return status;
    *count = static_cast<int>(device::enumerateDevices().size());
    return {};
  });
}

shiftconv_status_t shiftconv_device_enumerate(int index, shiftconv_device_properties_t* properties) {
  return boundary([&]() -> Status {
    const auto devices = device::enumerateDevices();
    if (index < 0 || static_cast<size_t>(index) >= devices.size())
      return {StatusCode::NotFound, fmt::format("there is no device {}; there are {}", index, devices.size())};
    return toC(devices[static_cast<size_t>(index)], properties);
  });
}

shiftconv_status_t shiftconv_device_preset(const char* name, shiftconv_device_properties_t* properties) {
  return boundary([&]() -> Status {
    if (Status status = require(name, "name"); !status.ok()) return status;
    std::string known;
    for (const device::Preset& preset : device::presets()) {
      if (strcasecmp(preset.name, name) == 0) return toC(preset.properties, properties);
      known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
    }
    return {StatusCode::NotFound, fmt::format("there is no device preset {}; known are {}", quoted(name), known)};
  });
}

shiftconv_status_t shiftconv_device_open(shiftconv_device_kind_t kind, int index, shiftconv_device_t* device) {
  return boundary([&]() -> Status {
    if (Status status = require(device, "device"); !status.ok()) return status;
    std::unique_ptr<device::Device> opened;
    if (Status status = open(kind, index, opened); !status.ok()) return status;
    *device = handOut(std::move(opened));
    return {};
  });
}

shiftconv_status_t shiftconv_device_open_named(const char* name, shiftconv_device_t* device) {
  return boundary([&]() -> Status {
    if (Status status = require(name, "name"); !status.ok()) return status;
    if (Status status = require(device, "device"); !status.ok()) return status;
    device::DeviceName parsed;
    if (const Status status = device::parseDeviceName(name, parsed); !status.ok()) return invalid("name " + status.message());
    std::unique_ptr<device::Device> opened;
    const Status status = parsed.kind ? device::openDevice(parsed, opened) : openAutomatic(opened);
    if (!status.ok()) return status;
    *device = handOut(std::move(opened));
    return {};
  });
}

shiftconv_status_t shiftconv_device_close(shiftconv_device_t device) {
  return boundary([&]() -> Status {
    if (!device) return {};
    OpenDevicePointer removed;
    if (Status status = devices().remove(device, "device", removed); !status.ok()) return status;
    removed->close();
    return {};
  });
}

shiftconv_status_t shiftconv_device_get_properties(shiftconv_device_t device, shiftconv_device_properties_t* properties) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    return toC(open->device().properties(), properties);
  });
}

shiftconv_status_t shiftconv_device_allocate(shiftconv_device_t device, size_t bytes, void** memory) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    if (Status status = require(memory, "memory"); !status.ok()) return status;
    if (bytes == 0) return invalid("bytes must be positive, but is 0");
    device::Address address = 0;
    if (Status status = open->device().allocate(bytes, address); !status.ok()) return status;
    *memory = reinterpret_cast<void*>(address);
    return {};
  });
}

shiftconv_status_t shiftconv_device_free(shiftconv_device_t device, void* memory) {
  return boundary([&]() -> Status {
    if (!memory) return {};
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    return open->device().release(addressOf(memory));
  });
}

shiftconv_status_t shiftconv_copy_to_device(shiftconv_device_t device, void* destination, const void* source, size_t bytes,
                                            shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = checkTransfer(device, bytes, destination, "destination", source, "source", open); !status.ok())
      return status;
    return open->device().copyToDevice(addressOf(destination), source, bytes, streamOf(stream));
  });
}

shiftconv_status_t shiftconv_copy_to_host(shiftconv_device_t device, void* destination, const void* source, size_t bytes,
                                          shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = checkTransfer(device, bytes, destination, "destination", source, "source", open); !status.ok())
      return status;
    return open->device().copyToHost(destination, addressOf(source), bytes, streamOf(stream));
  });
}

shiftconv_status_t shiftconv_device_fill(shiftconv_device_t device, void* memory, uint8_t value, size_t bytes,
                                         shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = checkTransfer(device, bytes, memory, "memory", memory, "memory", open); !status.ok()) return status;
    return open->device().fill(addressOf(memory), value, bytes, streamOf(stream));
  });
}

shiftconv_status_t shiftconv_stream_create(shiftconv_device_t device, shiftconv_stream_t* stream) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    if (Status status = require(stream, "stream"); !status.ok()) return status;
    device::Stream made = 0;
    if (Status status = open->device().createStream(made); !status.ok()) return status;
    *stream = reinterpret_cast<shiftconv_stream_t>(made);
    return {};
  });
}

shiftconv_status_t shiftconv_stream_destroy(shiftconv_device_t device, shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    if (!stream) return {};
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    return open->device().destroyStream(streamOf(stream));
  });
}

shiftconv_status_t shiftconv_stream_synchronize(shiftconv_device_t device, shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findDevice(device, open); !status.ok()) return status;
    return open->device().synchronize(streamOf(stream));
  });
}

shiftconv_status_t shiftconv_device_set_option(shiftconv_device_t device, const char* name, const char* value) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findEmulated(device, "options", open); !status.ok()) return status;
    if (Status status = require(name, "name"); !status.ok()) return status;
    if (Status status = require(value, "value"); !status.ok()) return status;
    return open->emulation()->setOption(name, value);
  });
}

shiftconv_status_t shiftconv_device_counters(shiftconv_device_t device, shiftconv_counters_format_t format, char* buffer,
                                             size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findEmulated(device, "counters", open); !status.ok()) return status;
    switch (format) {
      case SHIFTCONV_COUNTERS_TABLE:
        return writeText(open->emulation()->countersTable(), buffer, size, needed);
      case SHIFTCONV_COUNTERS_JSON:
        return writeText(open->emulation()->countersJson(), buffer, size, needed);
      case SHIFTCONV_COUNTERS_FORCE_INT:
        break;
    }
    return invalid(fmt::format("format must be TABLE (0) or JSON (1), but is {}", static_cast<int>(format)));
  });
}

shiftconv_status_t shiftconv_device_reset_counters(shiftconv_device_t device) {
  return boundary([&]() -> Status {
    OpenDevicePointer open;
    if (Status status = findEmulated(device, "counters", open); !status.ok()) return status;
    open->emulation()->resetCounters();
    return {};
  });
}

}  // extern "C"
