#include "tests/witness/mma_model.hpp"

#include <array>
#include <cstring>

#include "common/emulator/tensor/numerics_hardware.hpp"

namespace shiftconv::witness {
namespace {

namespace tensor = emulator::tensor;

constexpr uint32_t kRows = 64, kColumns = 8, kThreads = 128, kRowBytes = 32;
constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes;

tensor::ElementType elementNamed(const std::string& name) {
  return name == "f16" ? tensor::ElementType::F16 : name == "bf16" ? tensor::ElementType::BF16 : tensor::ElementType::TF32;
}

/// Element (row, k) of a K-major operand without swizzle: core matrices of 8 rows and 16 bytes, the next one of K 128 bytes
/// on, the next eight rows 256 bytes on.
uint32_t elementAt(const std::byte* operand, uint32_t row, uint32_t k, tensor::ElementType type) {
  const uint32_t bytes = type == tensor::ElementType::TF32 ? 4 : 2, place = k * bytes;
  uint32_t bits = 0;
  std::memcpy(&bits, operand + row / 8 * 256 + place / 16 * 128 + row % 8 * 16 + place % 16, bytes);
  return type == tensor::ElementType::TF32 ? bits >> 13 : bits;
}

/// Offset of element (row, column) among the stored registers of one multiplication (PTX ISA 9.0, 9.7.15.5.1).
size_t registerOffset(uint32_t row, uint32_t column, bool half) {
  const uint32_t lane = row % 8 * 4 + column / 2, thread = row / 16 * 32 + lane, element = column % 2 + row / 8 % 2 * 2;
  return half ? thread * 8 + element * 2 : thread * 16 + element * 4;
}

}  // namespace

std::vector<std::byte> multiplyByModel(const Case& made) {
  const MatrixProducts& products = *made.products;
  const tensor::ElementType type = elementNamed(products.element);
  const uint32_t resultBytes = products.halfResult ? 2 : 4;
  const size_t step = size_t{kRows} * kColumns * resultBytes;
  std::vector<std::byte> out(made.buffers[1].bytes.begin(),
                             made.buffers[1].bytes.begin() + static_cast<ptrdiff_t>(step * products.multiplications));
  tensor::AccumulatorInput input;
  input.type = products.halfResult ? tensor::AccumulatorType::F16 : tensor::AccumulatorType::F32;
  for (uint32_t number = 0; number < products.multiplications; ++number) {
    const std::byte* image = made.buffers[0].bytes.data() + size_t{number} * (kBytesOfA + kBytesOfB);
    tensor::OperandTile a, b;
    a.type = b.type = type;
    a.resize(kRows, products.depth);
    b.resize(products.depth, kColumns);
    for (uint32_t k = 0; k < products.depth; ++k) {
      for (uint32_t row = 0; row < kRows; ++row) a.raw[row * a.stride + k] = elementAt(image, row, k, type);
      for (uint32_t column = 0; column < kColumns; ++column)
        b.raw[k * b.stride + column] = elementAt(image + kBytesOfA, column, k, type);
    }
    tensor::decodeForHardware(a, kRows, products.depth, true);
    tensor::decodeForHardware(b, products.depth, kColumns, false);
    for (uint32_t row = 0; row < kRows; ++row) {
      std::array<uint32_t, kColumns> sums{};
      const auto place = [&](uint32_t column) {
        return out.data() + number * step + registerOffset(row, column, products.halfResult);
      };
      for (uint32_t column = 0; column < kColumns; ++column) std::memcpy(&sums[column], place(column), resultBytes);
      const tensor::LaneWork work{.row = row, .firstColumn = 0, .d = sums.data()};
      tensor::accumulateHardware(a, b, kColumns, products.depth, input, {&work, 1});
      for (uint32_t column = 0; column < kColumns; ++column) std::memcpy(place(column), &sums[column], resultBytes);
    }
  }
  return out;
}

}  // namespace shiftconv::witness
