#include "common/emulator/machine/lane_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using LaneAddresses = std::array<uint64_t, kWarpLanes>;

void evaluate(const Execution& execution, LaneMask lanes, const LaneAddress& operand, LaneAddresses& addresses) {
  if (operand.base == kNoSlot) {
    addresses.fill(static_cast<uint64_t>(operand.offset));
  } else if (operand.base32) {
    const auto* base = execution.lanes<uint32_t>(operand.base);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      addresses[lane] = static_cast<uint32_t>(base[lane] + static_cast<uint32_t>(operand.offset));
  } else {
    const auto* base = execution.lanes<uint64_t>(operand.base);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) addresses[lane] = base[lane] + static_cast<uint64_t>(operand.offset);
  }
  if (lanes == kAllLanes) return;
  // Lanes that do not take part must not disturb tests over all lanes.
  const uint64_t some = addresses[static_cast<unsigned>(std::countr_zero(lanes))];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    if ((lanes >> lane & 1) == 0) addresses[lane] = some;
}

struct Request {
  const Execution& execution;
  LaneMask lanes;
  uint32_t bytes;
  uint32_t alignment;
  AccessKind kind;
  const StoredValues* values;

  /// Tells the observer, which may ask what is stored.
  template <class Tell>
  void tell(const LaneAddresses& addresses, Tell&& tell) const {
    Observer* const observer = cluster().observer.get();
    if (observer == nullptr) return;
    if (values == nullptr) return tell(*observer);
    StoredValues stored = *values;
    stored.lanes = lanes;
    stored.addresses = &addresses;
    observer->storing = &stored;
    tell(*observer);
    observer->storing = nullptr;
  }
  Cluster& cluster() const { return execution.warp.cta.cluster; }
  bool reads() const { return kind != AccessKind::Write; }
  bool writes() const { return kind != AccessKind::Read; }
  void count(Traffic read, Traffic write, LaneMask who) const {
    const uint64_t total = uint64_t{bytes} * static_cast<uint64_t>(who == kAllLanes ? 32 : std::popcount(who));
    Counters& counters = cluster().counters;
    if (reads()) counters.addBytes(Engine::Threads, read, total);
    if (!writes()) return;
    counters.addBytes(Engine::Threads, write, total);
    ++cluster().changes;
  }
};

/// Runs action(lane) for the lanes; an error gets the lane in front.
template <class Action>
void withLaneNamed(LaneMask lanes, Action&& action) {
  unsigned current = 0;
  try {
    forEachLane(lanes, [&](unsigned lane) {
      current = lane;
      action(lane);
    });
  } catch (const EmulatorError& error) {
    throw EmulatorError(error.kind(), fmt::format("lane {}: {}", current, error.what()));
  }
}

void global(const Request& request, const LaneAddresses& addresses, LanePointers& pointers) {
  request.count(Traffic::GlobalRead, Traffic::GlobalWrite, request.lanes);
  const GlobalPort& memory = request.cluster().global;
  uint64_t lowest = addresses[0], highest = addresses[0], bits = 0;
  for (uint64_t address : addresses) {
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
    bits |= address;
  }
  if ((bits & (request.alignment - 1)) == 0 && memory.reaches(lowest, highest - lowest + request.bytes, request.writes())) {
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) pointers[lane] = reinterpret_cast<std::byte*>(addresses[lane]);
  } else {
    withLaneNamed(request.lanes, [&](unsigned lane) {
      pointers[lane] = memory.access(addresses[lane], request.bytes, request.alignment, request.writes());
    });
  }
  request.tell(addresses, [&](Observer& observer) {
    observer.globalAccess(request.execution.warp, request.lanes, addresses, request.bytes, request.reads(), request.writes());
  });
}

std::byte* sharedPointer(SharedMemory& memory, uint32_t offset, const Request& request) {
  if (request.kind == AccessKind::Write) return memory.write(offset, request.bytes, request.alignment);
  const std::byte* pointer = memory.read(offset, request.bytes, request.alignment);
  return const_cast<std::byte*>(pointer);
}

template <uint32_t N>
void sharedFixed(SharedMemory& memory, const Request& request, const LaneAddresses& addresses, LanePointers& pointers) {
  withLaneNamed(request.lanes, [&](unsigned lane) {
    const uint32_t offset = Cluster::sharedOffset(static_cast<uint32_t>(addresses[lane]));
    pointers[lane] =
        request.kind == AccessKind::Write ? memory.writeFixed<N>(offset) : const_cast<std::byte*>(memory.readFixed<N>(offset));
  });
}

[[noreturn]] void refuseForeign(uint64_t address, const Cta& cta) {
  throw EmulatorError(
      ErrorKind::OutOfBounds,
      fmt::format("address 0x{:x} is not in the shared::cta window of CTA rank {} (0x{:x} to 0x{:x})", address, cta.rank,
                  uint64_t{cta.rank} << kSharedRankShift, (uint64_t{cta.rank} << kSharedRankShift) + cta.shared.size()));
}

void sharedPointers(const Request& request, const LaneAddresses& addresses, bool clusterWide, LanePointers& pointers) {
  Cta& own = request.execution.warp.cta;
  const bool local =
      std::all_of(addresses.begin(), addresses.end(), [&](uint64_t address) { return address >> kSharedRankShift == own.rank; });
  if (local && request.alignment == request.bytes) {
    switch (request.bytes) {
      case 1:
        return sharedFixed<1>(own.shared, request, addresses, pointers);
      case 2:
        return sharedFixed<2>(own.shared, request, addresses, pointers);
      case 4:
        return sharedFixed<4>(own.shared, request, addresses, pointers);
      case 8:
        return sharedFixed<8>(own.shared, request, addresses, pointers);
      case 16:
        return sharedFixed<16>(own.shared, request, addresses, pointers);
      default:
        break;
    }
  }
  withLaneNamed(request.lanes, [&](unsigned lane) {
    const uint64_t address = addresses[lane];
    if (address >= kWindowSpan || (!clusterWide && address >> kSharedRankShift != own.rank)) refuseForeign(address, own);
    const auto window = static_cast<uint32_t>(address);
    Cta& cta = window >> kSharedRankShift == own.rank ? own : request.cluster().ctaOfShared(window);
    pointers[lane] = sharedPointer(cta.shared, Cluster::sharedOffset(window), request);
  });
}

void shared(const Request& request, const LaneAddresses& addresses, bool clusterWide, LanePointers& pointers) {
  request.count(Traffic::SharedRead, Traffic::SharedWrite, request.lanes);
  sharedPointers(request, addresses, clusterWide, pointers);
  if (auto* observer = request.cluster().observer.get(); observer != nullptr && observer->following && request.writes()) {
    const LaneMask undefined = observer->storesUndefined(request.execution.warp, request.lanes, addresses, request.bytes);
    forEachLane(undefined, [&](unsigned lane) {
      const auto window = static_cast<uint32_t>(addresses[lane]);
      request.cluster().ctaOfShared(window).shared.undefine(Cluster::sharedOffset(window), request.bytes);
    });
  }
  request.tell(addresses, [&](Observer& observer) {
    observer.sharedAccess(request.execution.warp, request.lanes, addresses, request.bytes, request.reads(), request.writes());
  });
}

void local(const Request& request, const LaneAddresses& addresses, LanePointers& pointers) {
  LocalStack& stack = request.execution.warp.state->locals;
  withLaneNamed(request.lanes,
                [&](unsigned lane) { pointers[lane] = stack.access(lane, addresses[lane], request.bytes, request.alignment); });
  if (request.writes()) ++request.cluster().changes;
}

/// Operands of .shared that hold generic addresses become window addresses.
void toWindow(const Request& request, LaneAddresses& addresses) {
  if (std::all_of(addresses.begin(), addresses.end(), [](uint64_t address) { return address < kWindowSpan; })) return;
  const auto first = static_cast<unsigned>(std::countr_zero(request.lanes));
  const uint64_t some = windowAddress(request.execution.warp, first, addresses[first]);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    addresses[lane] = (request.lanes >> lane & 1) != 0 ? windowAddress(request.execution.warp, lane, addresses[lane]) : some;
}

void generic(const Request& request, LaneAddresses& addresses, LanePointers& pointers) {
  const auto within = [&](uint64_t window) {
    return std::all_of(addresses.begin(), addresses.end(), [=](uint64_t address) { return address - window < kWindowSpan; });
  };
  const auto rebase = [&](uint64_t window) {
    for (uint64_t& address : addresses) address -= window;
  };
  if (within(kSharedWindow)) {
    rebase(kSharedWindow);
    return shared(request, addresses, true, pointers);
  }
  if (within(kLocalWindow)) {
    rebase(kLocalWindow);
    return local(request, addresses, pointers);
  }
  const bool mixed = std::any_of(addresses.begin(), addresses.end(), [](uint64_t address) {
    return address - kSharedWindow < kWindowSpan || address - kLocalWindow < kWindowSpan;
  });
  if (!mixed) return global(request, addresses, pointers);
  forEachLane(request.lanes, [&](unsigned lane) {
    LaneAddresses alone;
    alone.fill(addresses[lane]);
    LanePointers pointer;
    generic({request.execution, LaneMask{1} << lane, request.bytes, request.alignment, request.kind, request.values}, alone,
            pointer);
    pointers[lane] = pointer[lane];
  });
}

}  // namespace

void resolve(const Execution& execution, LaneMask lanes, const MemoryOperand& operand, uint32_t bytes, AccessKind kind,
             LanePointers& pointers, const StoredValues* values) {
  const Request request{execution, lanes, bytes, std::bit_ceil(bytes), kind, values};
  LaneAddresses addresses;
  evaluate(execution, lanes, operand.address, addresses);
  switch (operand.space) {
    case AccessSpace::Generic:
      return generic(request, addresses, pointers);
    case AccessSpace::Global:
      return global(request, addresses, pointers);
    case AccessSpace::SharedCta:
    case AccessSpace::SharedCluster:
      toWindow(request, addresses);
      return shared(request, addresses, operand.space == AccessSpace::SharedCluster, pointers);
    case AccessSpace::Local:
      return local(request, addresses, pointers);
    case AccessSpace::KernelParameter: {
      // Parameters are constant-bank reads on the hardware and not counted as traffic.
      const Cluster& cluster = request.cluster();
      withLaneNamed(lanes, [&](unsigned lane) {
        if (addresses[lane] + bytes > cluster.kernel.parameterBytes || addresses[lane] + bytes < bytes)
          throw EmulatorError(ErrorKind::OutOfBounds,
                              fmt::format("parameter access of {} bytes at offset {} is outside the {} bytes of the "
                                          "kernel's parameters",
                                          bytes, addresses[lane], cluster.kernel.parameterBytes));
        pointers[lane] =
            cluster.global.access(cluster.parameterAddress + addresses[lane], bytes, request.alignment, request.writes());
      });
      return;
    }
  }
}

void noteValuesRead(const Execution& execution) {
  if (Observer* observer = execution.warp.cta.cluster.observer.get()) observer->globalValuesRead();
}

uint64_t windowAddress(const Warp& warp, unsigned lane, uint64_t address) {
  if (address - kSharedWindow >= kWindowSpan) return address;
  if (Observer* observer = warp.cta.cluster.observer.get()) observer->genericOperand(warp, lane, address);
  return address - kSharedWindow;
}

SharedObject sharedObject(const Execution& execution, const MemoryOperand& operand, unsigned lane) {
  Cta& own = execution.warp.cta;
  uint64_t address = operand.address.at(execution, lane);
  if (operand.space == AccessSpace::Generic) {
    if (address - kSharedWindow >= kWindowSpan)
      throw EmulatorError(ErrorKind::OutOfBounds,
                          fmt::format("lane {}: generic address 0x{:x} is not in shared memory", lane, address));
    address -= kSharedWindow;
  } else {
    address = windowAddress(execution.warp, lane, address);
  }
  if (address >= kWindowSpan || (operand.space == AccessSpace::SharedCta && address >> kSharedRankShift != own.rank))
    refuseForeign(address, own);
  const auto window = static_cast<uint32_t>(address);
  return {window >> kSharedRankShift == own.rank ? &own : &own.cluster.ctaOfShared(window), Cluster::sharedOffset(window)};
}

}  // namespace shiftconv::emulator::machine
