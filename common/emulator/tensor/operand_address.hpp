// Where the elements of a matrix operand lie in shared memory (PTX ISA 9.7.16.3, canonical layouts; the swizzles are
// CuTe's Swizzle<B,4,3> and Swizzle<2,5,2> as CUTLASS's make_umma_desc uses them).
#pragma once

#include <cstdint>
#include <string_view>

#include "common/emulator/counters.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/tensor/descriptors.hpp"

namespace shiftconv::emulator::tensor {

/// Addresses are byte offsets in the CTA's shared memory. The XOR of a swizzle takes its bits from the summed byte
/// address, start included: advancing `start` by 32 bytes inside a 128-byte atom is how every public kernel steps
/// through K.
class OperandAddress {
 public:
  /// `swizzled` false leaves the XOR out (one reading of question U29).
  OperandAddress(const MatrixDescriptor& descriptor, uint8_t baseOffsetRule, bool swizzled = true);

  /// K-major: 16-byte chunk `chunk` along K of row `row` (an M or N index).
  uint32_t kMajor(uint32_t row, uint32_t chunk) const;
  /// MN-major: the 16 bytes that hold `chunk`-th group of 16/elementBytes consecutive M or N indices, at K index `k`.
  uint32_t mnMajor(uint32_t chunk, uint32_t k) const;

 private:
  uint32_t permute(uint32_t address) const;
  MatrixDescriptor descriptor_;
  uint8_t baseOffsetRule_;
  bool swizzled_;
  uint32_t pitch_ = 16;     ///< bytes of a row inside an atom
  uint32_t phaseMask_ = 0;  ///< which bits of address >> 7 select the permutation
  uint32_t unitShift_ = 4;  ///< log2 of the bytes that move together
};

/// Checks what depends on both descriptors: which swizzles an MN-major operand may use (PTX ISA 9.7.16.10.1), and
/// counts the open questions that the descriptor touches. Throws EmulatorError Descriptor.
void checkOperandDescriptor(const MatrixDescriptor& descriptor, ElementType type, bool transposed, std::string_view who,
                            const Semantics& semantics, Counters& counters);

}  // namespace shiftconv::emulator::tensor
