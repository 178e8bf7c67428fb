// tcgen05.cp and tcgen05.shift as movements of bytes (PTX ISA 9.7.16.9). What they do at completion, without ordering.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/emulator/counters.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/tensor/descriptors.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"

namespace shiftconv::emulator::tensor {

enum class CopyShape : uint8_t { S128x256b, S128x128b, S64x128bWarpx2_02_13, S64x128bWarpx2_01_23, S32x128bWarpx4, S4x256b, Count };
enum class SourceFormat : uint8_t { Same, B6x16P32, B4x16P64 };

struct CopyTraits {
  std::string_view name;  ///< "64x128b.warpx2::02_13"
  uint32_t rows;
  uint32_t bytesPerRow;
  uint32_t copies;  ///< lanes written for one source row
};
const CopyTraits& copyTraits(CopyShape shape);
/// Lane offset from the address operand of copy `copy` of source row `row`.
uint32_t copyLane(CopyShape shape, uint32_t row, uint32_t copy);

struct CopyOperation {
  CopyShape shape = CopyShape::S128x256b;
  SourceFormat format = SourceFormat::Same;
  uint32_t destination = 0;  ///< Tensor Memory address word
  MatrixDescriptor source;
};

/// Legality that does not depend on when the copy runs: alignment and range of the destination. Throws EmulatorError and
/// counts the open questions.
void checkCopy(const CopyOperation& operation, const TensorMemory& memory, const Semantics& semantics, Counters& counters);
/// Performs the copy of one CTA. Throws EmulatorError for source bytes outside shared memory; what is made of
/// undefined ones is undefined.
void performCopy(const CopyOperation& operation, TensorMemory& memory, const machine::SharedMemory& shared,
                 const Semantics& semantics, Counters& counters);

/// Expands a 16-byte chunk of packed 4- or 6-bit elements to one element per byte (PTX ISA 9.7.16.9.1).
void decompress(SourceFormat format, uint8_t sixBitShift, const std::byte* source, std::byte* destination);

/// Columns that one shift moves (32 bytes).
inline constexpr uint32_t kShiftColumns = 8;
inline constexpr uint32_t kAllWindows = 0xf;
/// One bit per lane.
using LaneBits = std::array<uint32_t, kTmemLanes / 32>;

/// Moves the rows of lanes [firstLane, firstLane + lanes) down by one: new[r] = old[r + 1]; the last row stays. Lanes in
/// `heldBack` keep their row. (`.ashift` as a vendor example observed it on B200; `tcgen05.shift` as read back on B200.)
void shiftLanes(TensorMemory& memory, uint32_t firstColumn, uint32_t columns, uint32_t firstLane, uint32_t lanes,
                const LaneBits& heldBack = {});
/// The same for every 32-lane window in `windows` (bit per window).
void shiftWindows(TensorMemory& memory, uint32_t firstColumn, uint32_t columns, uint32_t windows, const LaneBits& heldBack = {});

/// Checks the address operand of tcgen05.shift and returns the windows it moves.
uint32_t checkShift(uint32_t address, const TensorMemory& memory, const Semantics& semantics, Counters& counters);

}  // namespace shiftconv::emulator::tensor
