// Fetching the operands of an MMA from shared memory or Tensor Memory into dense tiles of element bits.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "common/emulator/tensor/mma.hpp"

namespace shiftconv::emulator::tensor {

/// Operand A of one CTA into rows of `tile.raw`. In Tensor Memory a row is indexed by its lane relative to the base lane, in
/// shared memory by its M index in the CTA. Only rows in `rows` (128 flags, same index) are fetched;
/// `states` tells of these whether they are defined.
void fetchA(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta,
            std::span<const bool, kTmemLanes> rows, OperandTile& tile, std::span<Definedness, kTmemLanes> states);

/// All N columns of operand B, from the one of .ws's column shift on: with cta_group::2 each CTA contributes half of them from its
/// own shared memory. Columns in `zero` are not read. Returns the undefined columns, as flags; nothing when all are defined.
std::vector<bool> fetchB(const MmaOperation& operation, const MmaContext& context, const std::bitset<kMaximumColumns>& zero,
                         OperandTile& tile);

}  // namespace shiftconv::emulator::tensor
