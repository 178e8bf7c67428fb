#include "tests/published_layouts/single_mma.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {

namespace {

constexpr uint32_t kAStart = 0, kBStart = 4096, kScaleAStart = 12288, kScaleBStart = kScaleAStart + 128 * 4 * 4,
                   kImageBytes = kScaleBStart + 128 * kScaleBColumns * 4;
constexpr uint32_t kScaleAColumns = 4;
constexpr uint32_t kOneUe8m0 = 0x7f7f7f7f, kOneUe4m3 = 0x38383838;

void putWord(std::vector<std::byte>& image, uint32_t at, uint32_t word) { std::memcpy(image.data() + at, &word, 4); }

std::vector<std::byte> image(const SingleMma& mma, uint32_t cta) {
  std::vector<std::byte> bytes(kImageBytes, std::byte{0});
  const uint32_t rows = mma.m / mma.ctaGroup, columns = mma.n / mma.ctaGroup;
  for (uint32_t k = 0; k < mma.kind->depth; ++k) {
    for (uint32_t lane = 0; lane < 128; ++lane) {
      const int row = mma.aLane ? mma.aLane(cta, lane) : lane < rows ? static_cast<int>(cta * rows + lane) : -1;
      // Lanes without a row hold something else, not zeros.
      const uint32_t source = row >= 0 ? static_cast<uint32_t>(row) : 1000 + lane;
      putElement(bytes, kAStart, mma.a(), lane, k, element(kMatrixA, source, k));
    }
    for (uint32_t n = 0; n < columns; ++n) putElement(bytes, kBStart, mma.b(), n, k, element(kMatrixB, cta * columns + n, k));
  }
  const uint32_t one = mma.scaleIsUe8m0 ? kOneUe8m0 : kOneUe4m3;
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t c = 0; c < kScaleAColumns; ++c)
      putWord(bytes, kScaleAStart + (lane * kScaleAColumns + c) * 4, mma.scalesA ? mma.scalesA(cta, lane, c) : one);
    for (uint32_t c = 0; c < kScaleBColumns; ++c)
      putWord(bytes, kScaleBStart + (lane * kScaleBColumns + c) * 4, mma.scalesB ? mma.scalesB(cta, lane, c) : one);
  }
  return bytes;
}

}  // namespace

void putInChunk(std::byte* chunk, const ElementType& type, uint32_t position, uint32_t bits) {
  for (uint32_t i = 0; i < type.bits; ++i) {
    const uint32_t bit = position * type.bits + i;
    if (bits >> i & 1) chunk[bit / 8] |= static_cast<std::byte>(1u << bit % 8);
  }
}

void putElement(std::vector<std::byte>& image, uint32_t start, const ElementType& type, uint32_t row, uint32_t k, int value) {
  const uint32_t chunk = start + row % 8 * 16 + row / 8 * 256 + k / type.perChunk() * 128;
  putInChunk(image.data() + chunk, type, k % type.perChunk(), type.encode(value));
}

// PTX ISA 9.0, tables 42 (plain kinds), 43 and 44 (block-scaled kinds).
uint32_t SingleMma::instructionDescriptor() const {
  const uint32_t types = a().code << 7 | b().code << 10 | n / 8 << 17;
  const uint32_t word = kind->blockScaled ? types | scaleIdB << 4 | uint32_t{scaleIsUe8m0} << 23 | m / 128 << 27 | scaleIdA << 29
                                          : types | accumulator << 4 | m / 16 << 24;
  return word ^ flippedBits;
}

std::string SingleMma::name() const {
  return fmt::format("kind::{} {} x {} cta_group::{} M {} N {} D type {} A in {}", kind->name, a().name, b().name, ctaGroup, m, n,
                     accumulator, aLane ? "Tensor Memory" : "shared memory");
}

std::vector<uint32_t> SingleMma::run(emulator::Emulator& machine) const {
  TensorKernel kernel;
  for (uint32_t cta = 0; cta < ctaGroup; ++cta) {
    const std::vector<std::byte> bytes = image(*this, cta);
    kernel.input.insert(kernel.input.end(), bytes.begin(), bytes.end());
  }
  kernel.inputPerCta = true;
  kernel.ctas = kernel.ctaGroup = ctaGroup;
  kernel.outputWords = 128 * kDumpedColumns;

  std::string modifiers = fmt::format("cta_group::{}.kind::{}", ctaGroup, kind->name), scales;
  std::string& body = kernel.body;
  body = fillCells(kDumpedColumns);
  if (kind->blockScaled) {
    modifiers += fmt::format(".block_scale.{}", scaleVector.empty() ? kind->scaleVector : scaleVector);
    scales = fmt::format(" [%tmem+{}], [%tmem+{}],", kScaleAColumn, kScaleBColumn);
    body += loadCells(kScaleAStart, kScaleAColumn, kScaleAColumns) + loadCells(kScaleBStart, kScaleBColumn, kScaleBColumns);
  }
  body += "  tcgen05.wait::st.sync.aligned;\n" + clusterBarrier();
  body += fmt::format(
      "  setp.eq.and.u32 %p1, %rank, 0, %issuer;\n  setp.ne.u32 %p2, 0, 0;\n"
      "  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n  mov.u32 %r1, {:#x};\n"
      "  add.u32 %r2, %tmem, {:#x};\n  add.u32 %r3, %tmem, {:#x};\n",
      descriptorBits(kAStart, 128, 256), descriptorBits(kBStart, 128, 256), instructionDescriptor(), baseLane << 16,
      baseLane << 16 | kAColumn);
  if (aLane) body += fmt::format("  @%p1 tcgen05.cp.cta_group::{}.128x256b [%tmem+{}], %rd1;\n", ctaGroup, kAColumn);
  body += fmt::format("  @%p1 tcgen05.mma.{} [%r2], {}, %rd2, %r1,{} %p2;\n", modifiers, aLane ? "[%r3]" : "%rd1", scales);
  body += commitFromFirstCta(0, ctaGroup) + dumpCells(kDumpedColumns);
  return kernel.run(machine, withHazardChecks());
}

Place accumulatorPlace(const SingleMma& mma, uint32_t m, uint32_t n) {
  if (mma.ctaGroup == 1 && mma.m == 128) return {0, m, n};                                   // D
  if (mma.ctaGroup == 1) return {0, mma.baseLane + 32 * (m / 16) + m % 16, n};               // F
  if (mma.m == 256) return {m / 128, m % 128, n};                                            // A
  return {m / 64, n < mma.n / 2 ? m % 64 : 64 + m % 64, n < mma.n / 2 ? n : n - mma.n / 2};  // B
}

void expectAccumulators(const SingleMma& mma, const std::vector<uint32_t>& output,
                        const std::function<float(uint32_t m, uint32_t n)>& value) {
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < mma.ctaGroup * 128; ++i) {
    for (uint32_t column = 0; column < kDumpedColumns; ++column) expected.push_back(cellBefore(i % 128, column));
  }
  std::vector<uint32_t> compared = output;
  for (uint32_t m = 0; m < mma.m; ++m) {
    for (uint32_t n = 0; n < mma.n; ++n) {
      const Place place = accumulatorPlace(mma, m, n);
      const uint32_t at = (place.cta * 128 + place.lane) * kDumpedColumns + place.column;
      expected[at] = accumulatorBits(mma.accumulator, value(m, n));
      // What the high half of an f16 cell becomes is not documented.
      if (mma.accumulator == 0) compared[at] &= 0xffff;
    }
  }
  ASSERT_EQ(compared.size(), expected.size());
  for (uint32_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(compared[i], expected[i]) << mma.name() << ": CTA " << i / kDumpedColumns / 128 << " lane "
                                        << i / kDumpedColumns % 128 << " column " << i % kDumpedColumns;
  }
}

}  // namespace shiftconv::tests::layouts
