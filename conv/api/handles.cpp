#include "conv/api/handles.hpp"

#include <fmt/format.h>

#include <array>

#include "conv/api/boundary.hpp"

namespace shiftconv::api {
namespace {

constexpr std::array<const char*, 4> kKindNames{nullptr, "device", "plan", "binding"};
constexpr unsigned kKindBits = 2, kMarkBits = 12;
// Handles read 0x5c1............: a pattern that neither small numbers nor addresses of user space have.
constexpr uintptr_t kMark = 0x5c1;
constexpr unsigned kSerialBits = 64 - kKindBits - kMarkBits;
static_assert(sizeof(uintptr_t) == 8, "handles are 64-bit numbers");

std::atomic<uintptr_t> nextSerial = 1;

/// A table that outlives everything, so that handles may be closed while the process ends.
template <class Table>
Table& immortal() {
  static Table& table = *new Table;
  return table;
}

}  // namespace

uintptr_t detail::newHandle(HandleKind kind) {
  return kMark << (kSerialBits + kKindBits) | nextSerial++ << kKindBits | static_cast<uintptr_t>(kind);
}

Status detail::notALiveHandle(uintptr_t handle, HandleKind kind, const char* argument) {
  if (handle == 0) return {StatusCode::InvalidArgument, fmt::format("{} must not be NULL", argument)};
  const char* wanted = kKindNames[static_cast<size_t>(kind)];
  const uintptr_t serial = handle >> kKindBits & ((uintptr_t{1} << kSerialBits) - 1);
  const char* found = kKindNames[handle & ((1u << kKindBits) - 1)];
  if (handle >> (kSerialBits + kKindBits) != kMark || !found || serial == 0 || serial >= nextSerial)
    return {StatusCode::InvalidArgument, fmt::format("{} is {:#x}, which is no handle of this library", argument, handle)};
  if ((handle & ((1u << kKindBits) - 1)) != static_cast<uintptr_t>(kind))
    return {StatusCode::InvalidArgument, fmt::format("{} must be a {}, but the handle is that of a {}", argument, wanted, found)};
  return {StatusCode::InvalidArgument, fmt::format("{} is the handle of a {} that was closed before", argument, wanted)};
}

HandleTable<shiftconv_device_t, OpenDevice, HandleKind::Device>& devices() {
  return immortal<HandleTable<shiftconv_device_t, OpenDevice, HandleKind::Device>>();
}
HandleTable<shiftconv_plan_t, OpenPlan, HandleKind::Plan>& plans() {
  return immortal<HandleTable<shiftconv_plan_t, OpenPlan, HandleKind::Plan>>();
}
HandleTable<shiftconv_binding_t, OpenBinding, HandleKind::Binding>& bindings() {
  return immortal<HandleTable<shiftconv_binding_t, OpenBinding, HandleKind::Binding>>();
}

}  // namespace shiftconv::api
