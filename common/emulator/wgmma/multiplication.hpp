// One wgmma.mma_async: what it is, and what it does when it completes (PTX ISA 9.0, 9.7.15).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/emulator/program/instruction.hpp"
#include "common/emulator/tensor/descriptors.hpp"

namespace shiftconv::emulator::machine {
class Cta;
}

namespace shiftconv::emulator::wgmma {

inline constexpr uint32_t kRows = 64;  ///< M of every shape
inline constexpr uint32_t kWarps = 4;  ///< of a warpgroup
inline constexpr uint32_t kRowsOfWarp = kRows / kWarps;
inline constexpr uint32_t kRegistersOfA = 4;

/// What an instruction's text says.
struct Shape {
  tensor::ElementType a = tensor::ElementType::Count, b = tensor::ElementType::Count;
  tensor::AccumulatorType d = tensor::AccumulatorType::F32;
  bool bits = false;  ///< b1 operands: and, then popc
  uint32_t columns = 0, depth = 0;
  bool saturate = false;

  uint32_t elementBits() const { return bits ? 1 : tensor::elementFormat(a).containerBits; }
  /// 32-bit registers of D in each thread.
  uint32_t registers() const { return columns / (d == tensor::AccumulatorType::F16 ? 4 : 2); }
  /// "wgmma m64n128k16 f32.f16.f16"
  std::string name() const;
};

struct Operands {
  bool aInRegisters = false;
  tensor::MatrixDescriptor a, b;  ///< in the shared memory of the executing CTA
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false;  ///< MN-major
  bool accumulate = true;                       ///< scale-d
};

/// The registers of one warp, in a frame: 32 lanes of 32 bits behind each slot.
struct WarpRegisters {
  std::byte* frame = nullptr;
  std::span<const program::Slot> d;
  std::array<program::Slot, kRegistersOfA> a{};
};

/// The matrix descriptor of wgmma (9.7.15.5.1.2.2). `who` names the operand in messages. Throws EmulatorError Descriptor.
tensor::MatrixDescriptor decodeDescriptor(uint64_t word, std::string_view who);

/// Adds the product of both operands, in shared memory of `cta` or in registers, to D of all four warps. What is made of undefined
/// data is undefined. Throws EmulatorError for operands outside of shared memory.
void multiply(const Shape& shape, const Operands& operands, std::span<const WarpRegisters, kWarps> warps, machine::Cta& cta);

}  // namespace shiftconv::emulator::wgmma
