// The collector buffers of the tensor core: what they hold, and which `use` may follow (PTX ISA 9.7.16.10.9.1 and .3,
// .collector_usage). Buffer a keeps operand A of tcgen05.mma, b0 to b3 keep operand B of tcgen05.mma.ws. Whether the one
// instruction disturbs the buffers of the other the ISA does not say; here it does not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/emulator/tensor/mma.hpp"

namespace shiftconv::emulator::tensor {

/// What the buffers hold as instructions are issued: MMAs with different accumulators may complete in any order, but each `use`
/// belongs to the `fill` that was issued last.
struct CollectorState {
  uint64_t fills = 0;                                  ///< so far
  std::array<std::optional<MmaOperation>, 5> holding;  ///< a, b0, ... b3: the fill whose operand is valid
};

/// In the order of issue. `use` and `lastuse` require that the buffer holds this operand: throws EmulatorError where no fill of
/// it is valid any longer. Counts question U36.
void enterCollector(MmaOperation& operation, CollectorState& state, const MmaContext& context);

/// Question U20: with alternative 1, `use` multiplies what the last `fill` read. `lanes`: whose rows `a` holds.
void passRowsThroughCollector(const MmaOperation& operation, const MmaContext& context, uint32_t cta, const LaneBits& lanes,
                              OperandTile& a);
/// The same for operand B of tcgen05.mma.ws. `zero`: columns of `b` that were not read.
void passColumnsThroughCollector(const MmaOperation& operation, const MmaContext& context, const std::bitset<kMaximumColumns>& zero,
                                 OperandTile& b);

}  // namespace shiftconv::emulator::tensor
