#include "common/emulator/forms/bulk/bulk_operands.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::tma {

SharedPlace sharedPlace(const machine::Execution& execution, const LaneAddress& address, unsigned lane, bool clusterWide,
                        const char* role) {
  const uint64_t value = machine::windowAddress(execution.warp, lane, address.at(execution, lane));
  if (value > 0xffffffffu)
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("{} {:#x} is not a shared-memory address (lane {}): those are below 2^32", role, value, lane));
  machine::Cta& self = execution.warp.cta;
  const auto window = static_cast<uint32_t>(value);
  machine::Cta& cta = self.cluster.ctaOfShared(window);
  if (!clusterWide && &cta != &self)
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("{} {:#x} belongs to cluster CTA {}, but .shared::cta means the executing CTA, {} (lane {})",
                                    role, window, cta.rank, self.rank, lane));
  return {&cta, machine::Cluster::sharedOffset(window)};
}

void signalTransactions(machine::Cta& cta, uint32_t mbarrierOffset, uint32_t bytes) {
  cta.mbarriers.completeTransactions(mbarrierOffset, bytes);
  ++cta.cluster.wakeups;
}

const ptx::Operand& OperandCursor::next(const char* what) {
  const auto& operands = context_.instruction().operands;
  if (index_ >= operands.size()) context_.illegal(fmt::format("operand {}, the {}, is missing", index_ + 1, what));
  return operands[index_++];
}

void OperandCursor::finish() {
  const size_t count = context_.instruction().operands.size();
  if (index_ != count)
    context_.illegal(fmt::format("{} operands given, but with these qualifiers the instruction takes {}", count, index_));
}

}  // namespace shiftconv::emulator::tma
