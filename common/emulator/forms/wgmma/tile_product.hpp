// D = A * B + C of matrices in the registers of a warp, which mma.sync and wmma.mma share.
//
// Sums of floating-point products follow the model of wgmma (tensor/numerics_hardware.hpp); whether K = 16 is one sum of 16-bit
// products is question U34. Those of f64 are chains of fused multiply-adds along k.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/tensor/descriptors.hpp"
#include "common/emulator/tensor/element_types.hpp"
#include "common/emulator/wgmma/fragments.hpp"

namespace shiftconv::emulator::wgmma {

struct TileShape {
  uint32_t rows = 0, columns = 0, depth = 0;
};
/// Of "m16n8k32".
TileShape parseTileShape(std::string_view text);

/// The elements of A or B as they stand in registers.
struct FragmentType {
  std::string_view name;
  uint32_t bits;
  tensor::ElementType element;  ///< Count: not one of the tensor core's multiplications (f64, b1)
};
const FragmentType& fragmentType(std::string_view name);

/// The fragments of one product. Bits (b1) count in words of 32 along k.
struct TileFragments {
  TileFragments() = default;
  TileFragments(const TileShape& shape, uint32_t bitsA, uint32_t bitsB)
      : a(operandLayout(shape.rows, shape.depth, bitsA, true)),
        b(operandLayout(shape.columns, shape.depth, bitsB, false)),
        c(accumulatorLayout(shape.rows, shape.columns)) {}
  FragmentLayout a, b, c;
};

/// `registers` as a vector or, when it is one, by itself.
std::vector<program::Slot> fragmentRegisters(isa::DecodeContext& context, const ptx::Operand& operand, uint32_t registers,
                                             const char* name, ptx::ScalarType type, bool writes);

/// What an instruction says of its product. Types are those of the operands' elements.
struct TileWords {
  const char* instruction;  ///< "mma.sync"
  std::string_view shape, d, a, b, c;
  bool saturate = false;
  std::string_view rounding{};  ///< f64: "rn", "rz", "rm", "rp" or empty
  std::string_view logic{};     ///< b1: "xor" or "and"
  enum class Sparse : uint8_t { No, Yes, Ordered } sparse = Sparse::No;
  uint32_t halfRegisters = 0;  ///< of A and of B in f16, when there are more than elements to fill them: these repeat
};
/// Decodes an instruction with operands D, A, B and C.
void decodeTileProduct(isa::DecodeContext& context, const TileWords& words);
/// mma.sync.m8n8k4 of f16, whose fragments are of another kind.
void decodeQuadPairProduct(isa::DecodeContext& context, const isa::FormMatch& match);

}  // namespace shiftconv::emulator::wgmma
