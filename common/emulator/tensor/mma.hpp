// One tcgen05.mma: what it is, whether it is legal, and what it does when it completes.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/emulator/counters.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/tensor/accumulator_layout.hpp"
#include "common/emulator/tensor/column_mask.hpp"
#include "common/emulator/tensor/data_movement.hpp"
#include "common/emulator/tensor/descriptors.hpp"
#include "common/emulator/tensor/operand_tile.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"

namespace shiftconv::emulator::tensor {

/// .collector::a of tcgen05.mma, .collector::b0 to b3 of tcgen05.mma.ws
enum class Collector : uint8_t { Discard, Fill, Use, LastUse };

struct MmaOperation {
  MmaKind kind = MmaKind::F16;
  uint32_t ctaGroup = 1;
  InstructionDescriptor descriptor;
  uint32_t d = 0;  ///< Tensor Memory address word of the accumulator
  bool aInTensorMemory = false;
  uint32_t aAddress = 0;  ///< when in Tensor Memory
  MatrixDescriptor a;     ///< when in shared memory
  MatrixDescriptor b;
  bool enableInputD = true;
  uint32_t scaleD = 0;              ///< the old accumulator is multiplied by 2^-scaleD
  bool shiftA = false;              ///< .ashift
  bool weightStationary = false;    ///< .ws: the collector keeps operand B
  bool sparse = false;              ///< .sp: A keeps half of its elements
  uint32_t metadata = 0;            ///< .sp: Tensor Memory address word of where they stand
  ColumnMaskDescriptor columnMask;  ///< .ws
  Collector collector = Collector::Discard;
  uint32_t collectorBuffer = 0;        ///< .ws: 0 to 3
  uint64_t fill = 0;                   ///< number of the `fill` that it is, or whose operand it may use; enterCollector()
  bool masked = false;                 ///< has a disable-output-lane operand
  std::array<uint32_t, 8> disabled{};  ///< words 4..7 only for cta_group::2
  uint32_t issuerParity = 0;           ///< %cluster_ctarank & 1 of the issuing CTA
  // Block-scaled kinds.
  uint32_t scaleA = 0, scaleB = 0;  ///< Tensor Memory address words of the scale factors
  uint32_t scaleVector = 0;         ///< scale factors per row and instruction: 1, 2 or 4

  AccumulatorLayout layout() const { return {descriptor.m, descriptor.n, ctaGroup, weightStationary}; }
  /// K: of sparse A twice the elements that it keeps.
  uint32_t depth() const { return kindTraits(kind).depth * (sparse ? 2 : 1); }
  bool usesCollector() const { return collector == Collector::Use || collector == Collector::LastUse; }
  /// "kind::f16 m128n64k16 a:tmem ashift"
  std::string shapeName() const;
};

/// The memories of one CTA that takes part.
struct CtaMemories {
  TensorMemory& tensor;
  const machine::SharedMemory& shared;
};

/// Operands as collector fills left them (question U20).
struct CollectorBuffers {
  struct Rows {
    uint64_t fill = 0;
    OperandTile a;
    LaneBits lanes{};  ///< whose rows it holds
  };
  struct Columns {
    uint64_t fill = 0;
    OperandTile b;
    uint32_t shift = 0;                 ///< b[k][n] is element (k, n + shift) of B
    std::bitset<kMaximumColumns> zero;  ///< columns that were not read
  };
  std::array<std::optional<Rows>, 2> a;     ///< by CTA of the group
  std::array<std::optional<Columns>, 4> b;  ///< b0 to b3
};

/// Everything an MMA works with besides its operands.
struct MmaContext {
  std::span<const CtaMemories> ctas;  ///< one, or the even and the odd CTA of a pair
  const Options& options;
  Counters& counters;
  CollectorBuffers& collectors;
};

/// Legality that is known at issue. Throws EmulatorError; counts the open questions that the operation touches.
void checkMma(const MmaOperation& operation, const MmaContext& context);
/// Reads the operands, accumulates, and shifts A. What is made of undefined operands is undefined.
void performMma(const MmaOperation& operation, const MmaContext& context);

/// Lanes of `cta` (0 or 1 in the group) whose accumulators the mask protects.
LaneBits disabledLanes(const MmaOperation& operation, uint32_t cta, const Semantics& semantics);

}  // namespace shiftconv::emulator::tensor
