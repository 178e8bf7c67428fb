#include "common/emulator/tensor/column_mask.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

ColumnMaskDescriptor decodeColumnMask(uint64_t word, uint32_t m) {
  const auto field = [&](unsigned high, unsigned low) {
    return static_cast<uint32_t>(word >> low & ((uint64_t{1} << (high - low + 1)) - 1));
  };
  const auto reject = [&](const std::string& why) {
    throw EmulatorError(ErrorKind::Descriptor, fmt::format("Zero-column mask descriptor {:#018x}: {}.", word, why));
  };
  for (const auto& [high, low] : {std::pair(38u, 36u), std::pair(63u, 62u)})
    if (field(high, low) != 0) reject(fmt::format("bits {}:{} are {:#x} but must be 0", high, low, field(high, low)));
  ColumnMaskDescriptor result;
  for (uint32_t part = 0; part < result.startCount.size(); ++part) {
    result.startCount[part] = static_cast<uint8_t>(field(8 * part + 7, 8 * part));
    result.startsSkipping[part] = field(32 + part, 32 + part) != 0;
  }
  result.masks = field(39, 39) != 0;
  result.skipSpan = field(47, 40) + 1;
  result.useSpan = field(55, 48) + 1;
  result.shift = field(61, 56);
  const uint32_t most = m == 32 ? 16 : 32;
  if (result.shift > most)
    reject(fmt::format("column shift {} (bits 61:56) is more than the {} that M = {} allows (PTX ISA 9.7.16.4.3)", result.shift,
                       most, m));
  return result;
}

std::bitset<256> zeroColumns(const ColumnMaskDescriptor& descriptor, uint32_t m, uint32_t n) {
  std::bitset<256> zero;
  if (!descriptor.masks) return zero;
  const uint32_t parts = 128 / m, width = n / parts, period = descriptor.skipSpan + descriptor.useSpan;
  for (uint32_t column = 0; column < n; ++column) {
    const uint32_t part = column / width;
    const uint32_t position = (descriptor.startCount[part] + column % width) % period;
    zero[column] = descriptor.startsSkipping[part] ? position < descriptor.skipSpan : position >= descriptor.useSpan;
  }
  return zero;
}

}  // namespace shiftconv::emulator::tensor
