#include "common/emulator/machine/builtin_functions.hpp"

#include <fmt/format.h>
#include <fmt/printf.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/device_heap.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// Host pointer to readable memory behind a generic address of one lane.
const std::byte* readable(Warp& warp, unsigned lane, uint64_t address, uint32_t bytes) {
  Cluster& cluster = warp.cta.cluster;
  const ResolvedAddress place = resolveGeneric(cluster, address);
  switch (place.space) {
    case ResolvedAddress::Space::Shared:
      return place.cta->shared.read(static_cast<uint32_t>(place.offset), bytes, 1);
    case ResolvedAddress::Space::Local:
      return warp.state->locals.access(lane, place.offset, bytes, 1);
    case ResolvedAddress::Space::Global:
      return cluster.global.access(place.offset, bytes, 1, false);
  }
  return nullptr;
}

std::string readString(Warp& warp, unsigned lane, uint64_t address) {
  constexpr size_t kLongest = 4096;
  std::string text;
  while (text.size() < kLongest) {
    const char next = static_cast<char>(*readable(warp, lane, address + text.size(), 1));
    if (next == '\0') break;
    text += next;
  }
  return text;
}

/// Takes the packed arguments of vprintf one after the other: each is aligned to its size (4 or 8 bytes).
class ArgumentReader {
 public:
  ArgumentReader(Warp& warp, unsigned lane, uint64_t address) : warp_(warp), lane_(lane), next_(address) {}
  template <class T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, readable(warp_, lane_, next_, sizeof(T)), sizeof(T));
    next_ += sizeof(T);
    return value;
  }

 private:
  Warp& warp_;
  const unsigned lane_;
  uint64_t next_;
};

uint64_t vprintf(Warp& warp, unsigned lane, std::span<const uint64_t> arguments) {
  const std::string format = readString(warp, lane, arguments[0]);
  ArgumentReader values(warp, lane, arguments[1]);
  std::string text;
  for (size_t i = 0; i < format.size();) {
    const size_t percent = format.find('%', i);
    text += format.substr(i, percent - i);
    if (percent == std::string::npos) break;
    if (percent + 1 < format.size() && format[percent + 1] == '%') {
      text += '%';
      i = percent + 2;
      continue;
    }
    const size_t end = format.find_first_of("diouxXcsfFeEgGaAp", percent + 1);
    if (end == std::string::npos) break;
    std::string directive;
    bool isLong = false;
    for (size_t k = percent; k <= end; ++k) {
      const char c = format[k];
      if (c == '*')
        directive += std::to_string(values.take<int32_t>());
      else if (c == 'l' || c == 'z' || c == 'j' || c == 't')
        isLong = true;
      else if (c != 'h')
        directive += c;
    }
    switch (format[end]) {
      case 's':
        text += fmt::sprintf(directive, readString(warp, lane, values.take<uint64_t>()));
        break;
      case 'c':
        text += static_cast<char>(values.take<int32_t>());
        break;
      case 'p':
        text += fmt::format("0x{:x}", values.take<uint64_t>());
        break;
      case 'd':
      case 'i':
        text += isLong ? fmt::sprintf(directive, values.take<int64_t>()) : fmt::sprintf(directive, values.take<int32_t>());
        break;
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        text += isLong ? fmt::sprintf(directive, values.take<uint64_t>()) : fmt::sprintf(directive, values.take<uint32_t>());
        break;
      default:
        text += fmt::sprintf(directive, values.take<double>());
        break;
    }
    i = end + 1;
  }
  if (const auto& print = warp.cta.cluster.options.print)
    print(text);
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
  return text.size();
}

uint64_t assertFail(Warp& warp, unsigned lane, std::span<const uint64_t> arguments) {
  throw EmulatorError(ErrorKind::Trap, fmt::format("lane {}: assertion '{}' failed at {}:{} in {}", lane,
                                                   readString(warp, lane, arguments[0]), readString(warp, lane, arguments[1]),
                                                   static_cast<uint32_t>(arguments[2]), readString(warp, lane, arguments[3])));
}

uint64_t heapAllocate(Warp& warp, unsigned, std::span<const uint64_t> arguments) {
  return warp.cta.cluster.global.memory().heap().allocate(arguments[0]);
}

uint64_t heapRelease(Warp& warp, unsigned lane, std::span<const uint64_t> arguments) {
  if (!warp.cta.cluster.global.memory().heap().release(arguments[0]))
    throw EmulatorError(
        ErrorKind::OutOfBounds,
        fmt::format("lane {}: free of {:#x}, which is no block of the device's heap, or no more", lane, arguments[0]));
  return 0;
}

/// A condition of a graph is 32 bits of global memory, and its handle their address.
uint64_t setCondition(Warp& warp, unsigned, std::span<const uint64_t> arguments) {
  const auto value = static_cast<uint32_t>(arguments[1]);
  std::memcpy(warp.cta.cluster.global.access(arguments[0], sizeof value, sizeof value, true), &value, sizeof value);
  return 0;
}

}  // namespace

BuiltinFunction findBuiltin(std::string_view name) {
  if (name == "vprintf") return vprintf;
  if (name == "__assertfail") return assertFail;
  if (name == "malloc") return heapAllocate;
  if (name == "free") return heapRelease;
  if (name == "cudaGraphSetConditional") return setCondition;
  return nullptr;
}

}  // namespace shiftconv::emulator::machine
