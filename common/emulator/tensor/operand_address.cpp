#include "common/emulator/tensor/operand_address.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

OperandAddress::OperandAddress(const MatrixDescriptor& descriptor, uint8_t baseOffsetRule, bool swizzled)
    : descriptor_(descriptor), baseOffsetRule_(baseOffsetRule), swizzled_(swizzled) {
  switch (descriptor.swizzle) {
    case Swizzle::None:
      break;
    case Swizzle::Bytes32:
      pitch_ = 32, phaseMask_ = 1;
      break;
    case Swizzle::Bytes64:
      pitch_ = 64, phaseMask_ = 3;
      break;
    case Swizzle::Bytes128:
      pitch_ = 128, phaseMask_ = 7;
      break;
    case Swizzle::Bytes128Atom32:
      pitch_ = 128, phaseMask_ = 3, unitShift_ = 5;
      break;
  }
}

uint32_t OperandAddress::permute(uint32_t address) const {
  if (!swizzled_) return address;
  uint32_t phase = address >> 7;
  // Question U11: how the base offset enters (0: subtracted, 1: added, 2: ignored).
  if (baseOffsetRule_ == 0) phase -= descriptor_.baseOffset;
  if (baseOffsetRule_ == 1) phase += descriptor_.baseOffset;
  return address ^ (phase & phaseMask_) << unitShift_;
}

uint32_t OperandAddress::kMajor(uint32_t row, uint32_t chunk) const {
  const uint32_t chunkStep = descriptor_.swizzle == Swizzle::None ? descriptor_.leadingOffset : 16;
  return permute(descriptor_.start + row % 8 * pitch_ + row / 8 * descriptor_.strideOffset + chunk * chunkStep);
}

uint32_t OperandAddress::mnMajor(uint32_t chunk, uint32_t k) const {
  const MatrixDescriptor& d = descriptor_;
  // Without swizzle the two offsets swap roles: the stride goes along MN, the leading offset along K.
  if (d.swizzle == Swizzle::None) return d.start + chunk * d.strideOffset + k % 8 * 16 + k / 8 * d.leadingOffset;
  const uint32_t chunksPerAtom = pitch_ / 16;
  const uint32_t depth = d.swizzle == Swizzle::Bytes128Atom32 ? 4 : 8;
  return permute(d.start + chunk % chunksPerAtom * 16 + chunk / chunksPerAtom * d.leadingOffset + k % depth * pitch_ +
                 k / depth * d.strideOffset);
}

void checkOperandDescriptor(const MatrixDescriptor& descriptor, ElementType type, bool transposed, std::string_view who,
                            const Semantics& semantics, Counters& counters) {
  const bool atom32 = descriptor.swizzle == Swizzle::Bytes128Atom32;
  const bool tf32 = type == ElementType::TF32;
  const auto reject = [&](std::string_view rule) {
    throw EmulatorError(ErrorKind::Descriptor,
                        fmt::format("Descriptor of {}: {} with {} {} elements; {}.", who, toString(descriptor.swizzle),
                                    transposed ? "MN-major" : "K-major", elementFormat(type).name, rule));
  };
  if (atom32 && !transposed) reject("32-byte atoms exist only for MN-major tf32 operands");
  if (atom32 && !tf32) reject("32-byte atoms are for tf32");
  if (transposed && tf32 && !atom32) reject("MN-major tf32 operands must use the 128-byte swizzle with 32-byte atoms");

  if (descriptor.baseOffset != 0 && descriptor.swizzle != Swizzle::None) counters.use(Unproven::U11);
  if (descriptor.swizzle == Swizzle::None && !transposed) {
    counters.use(Unproven::U18);
    if (semantics[Unproven::U18] == 1) reject("refused: alternative 1 of question U18 says that this layout does not work");
  }
}

}  // namespace shiftconv::emulator::tensor
