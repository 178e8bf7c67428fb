// tcgen05.mma.sp: sparse A is drawn with its zeros and compressed from there; which lane and column has the metadata of which row
// and chunk is written down once more, from the atoms of CUTLASS's tmem_e_frg (mma_traits_sm100_frag.hpp).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::sparse_mma_cases {
namespace {

constexpr std::string_view kSparse =
    "tcgen05.mma.sp.(cta_group::1|cta_group::2).(kind::f16|kind::tf32|kind::f8f6f4|kind::i8)"
    "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}";

// Shared memory: A (128 rows of 32 bytes, no swizzle) at 0, B (16 rows of 64 bytes) at 4096, two words of metadata for each lane at
// 8192. Tensor Memory: A at column 0, metadata at columns 8 and 9, D at column 32.
constexpr uint32_t kBStart = 4096, kMetadataStart = 8192, kMetadata = 8, kD = 32, kN = 16, kRows = 128;
constexpr uint32_t kInvalid = 0x55555555;  ///< no two places, and none of tf32

struct SparseType {
  const char* kind;
  uint32_t code, accumulator, bytes;
  uint32_t (*encode)(int value);
  uint32_t kept() const { return 32 / bytes; }
  uint32_t depth() const { return 2 * kept(); }
};
uint32_t floatBits(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint32_t halfBits(int value) {
  const uint32_t bits = floatBits(value);
  return value == 0 ? 0 : bits >> 31 << 15 | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}
uint32_t e4m3Bits(int value) {
  const uint32_t bits = floatBits(value);
  return value == 0 ? 0 : bits >> 31 << 7 | ((bits >> 23 & 0xff) - 120) << 3 | (bits >> 20 & 7);
}
uint32_t byteBits(int value) { return static_cast<uint8_t>(value); }
const SparseType kSparseTypes[] = {
    {"f16", 0, 1, 2, halfBits}, {"tf32", 2, 1, 4, floatBits}, {"f8f6f4", 0, 1, 1, e4m3Bits}, {"i8", 1, 2, 1, byteBits}};

struct Drawn {
  std::vector<std::byte> image = std::vector<std::byte>(kMetadataStart + 2 * 4 * kRows);
  std::vector<uint32_t> expected;  ///< [row][n]
};

void put(std::vector<std::byte>& image, uint32_t start, uint32_t groupBytes, uint32_t row, uint32_t byte, uint32_t bits,
         uint32_t bytes) {
  std::memcpy(image.data() + start + row / 8 * groupBytes + byte / 16 * 128 + row % 8 * 16 + byte % 16, &bits, bytes);
}

Drawn draw(FormRun& form, const SparseType& type, uint32_t selector) {
  Drawn drawn;
  const auto small = [&] { return static_cast<int>(form.random() % 15) - 7; };
  const uint32_t width = type.bytes == 4 ? 2 : 4, depth = type.depth();
  std::vector<int> a(kRows * depth), b(kN * depth);
  std::vector<uint32_t> words(2 * kRows, kInvalid);
  for (int& value : b) value = small();
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t chunk = 0; chunk < depth / width; ++chunk) {
      // The first place below the second; of tf32 one place.
      uint32_t first = static_cast<uint32_t>(form.random() % 3),
               second = first + 1 + static_cast<uint32_t>(form.random() % (3 - first));
      uint32_t code = first | second << 2;
      // Chunks of zeros may name the first place twice.
      const bool isZero = width == 4 && form.random() % 8 == 0;
      if (isZero) first = second = code = 0;
      if (width == 2) first = static_cast<uint32_t>(form.random() % 2), code = first == 0 ? 0b0100 : 0b1110;
      uint32_t lane = row, column = chunk / 8, shift = 4 * (chunk % 8);
      if (type.bytes > 1)
        lane = row % 8 + 8 * (chunk / 4) + row / 16 * 16, column = selector, shift = 4 * (chunk % 4) + 16 * (row / 8 % 2);
      uint32_t& word = words[2 * lane + column];
      word = (word & ~(0xfu << shift)) | code << shift;
      for (uint32_t i = 0; i < width / 2; ++i) {
        const int value = isZero ? 0 : small();
        a[row * depth + width * chunk + (i == 0 ? first : second)] = value;
        put(drawn.image, 0, 256, row, (width / 2 * chunk + i) * type.bytes, type.encode(value), type.bytes);
      }
    }
  for (uint32_t n = 0; n < kN; ++n)
    for (uint32_t k = 0; k < depth; ++k)
      put(drawn.image, kBStart, 512, n, k * type.bytes, type.encode(b[n * depth + k]), type.bytes);
  std::memcpy(drawn.image.data() + kMetadataStart, words.data(), words.size() * 4);
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t n = 0; n < kN; ++n) {
      int sum = 0;
      for (uint32_t k = 0; k < depth; ++k) sum += a[row * depth + k] * b[n * depth + k];
      drawn.expected.push_back(type.accumulator == 2 ? static_cast<uint32_t>(sum) : floatBits(sum));
    }
  return drawn;
}

uint32_t descriptorOf(const SparseType& type, uint32_t selector, uint32_t sparse = 1, uint32_t m = kRows) {
  return selector | sparse << 2 | type.accumulator << 4 | type.code << 7 | type.code << 10 | kN / 8 << 17 | m / 16 << 24;
}

/// %rd1 = descriptor of A, %rd2 of B; A at column 0, too, and the metadata in their columns.
std::string prepare() {
  return fmt::format(
             "  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n"
             "  @%issuer tcgen05.cp.cta_group::1.128x256b [%tmem], %rd1;\n"
             "  shl.b32 %r0, %thread, 3;\n  add.u32 %r0, %r0, %tile;\n  ld.shared.v2.u32 {{%r1, %r2}}, [%r0+{}];\n"
             "  tcgen05.st.sync.aligned.32x32b.x2.b32 [%tmem+{}], {{%r1, %r2}};\n  tcgen05.wait::st.sync.aligned;\n",
             descriptorBits(0, 128, 256), descriptorBits(kBStart, 128, 512), kMetadataStart, kMetadata) +
         fencedBarrier();
}
std::string multiply(const SparseType& type, const std::string& a, uint32_t descriptor, const std::string& enable = "0",
                     uint32_t metadata = kMetadata, const std::string& modifiers = "") {
  return fmt::format("  @%issuer tcgen05.mma.sp.cta_group::1.kind::{}{} [%tmem+{}], {}, %rd2, [%tmem+{}], {:#x}, {};\n", type.kind,
                     modifiers, kD, a, metadata, descriptor, enable);
}
TensorKernel kernelOf(const std::string& text, const Drawn& drawn) {
  return {.body = prepare() + text + commitAndWait(0) + dumpColumns(kD, kN),
          .input = drawn.image,
          .outputWords = kRows * kN,
          .columns = 64};
}

void products(FormRun& form) {
  for (const SparseType& type : kSparseTypes)
    for (uint32_t selector = 0; selector < (type.bytes > 1 ? 2u : 1u); ++selector)
      for (const char* a : {"%rd1", "[%tmem]"}) {
        const Drawn drawn = draw(form, type, selector);
        const auto output = kernelOf(multiply(type, a, descriptorOf(type, selector)), drawn).runEverySchedule(form);
        for (uint32_t i = 0; i < kRows * kN; ++i)
          ASSERT_EQ(output[i], drawn.expected[i])
              << type.kind << " selector " << selector << " A " << a << " row " << i / kN << " column " << i % kN;
      }
}

/// Onto what is there, with lanes that are masked; the collector changes nothing.
void accumulators(FormRun& form) {
  const SparseType& type = kSparseTypes[3];
  const Drawn drawn = draw(form, type, 0);
  const uint32_t descriptor = descriptorOf(type, 0);
  const std::string masks = "{0xffffffff, %r3, 0, 0}, 1";  // lanes 0 to 31 once, the others twice
  const auto output = kernelOf("  mov.u32 %r3, 0;\n" + multiply(type, "%rd1", descriptor, "0", kMetadata, ".collector::a::fill") +
                                   multiply(type, "%rd1", descriptor, masks, kMetadata, ".collector::a::lastuse"),
                               drawn)
                          .run(form);
  for (uint32_t i = 0; i < kRows * kN; ++i) ASSERT_EQ(output[i], drawn.expected[i] * (i / kN < 32 ? 1 : 2)) << i / kN;
}

void refusals(FormRun& form) {
  const SparseType &half = kSparseTypes[0], &tf32 = kSparseTypes[1], &bytes = kSparseTypes[3];
  const Drawn drawn = draw(form, half, 0), ofTf32 = draw(form, tf32, 0);
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    expectRefusal(form, kernelOf(text, drawn), parts);
  };
  refused(multiply(half, "%rd1", descriptorOf(half, 0, 0)), {"bit 2 says dense, but tcgen05.mma.sp is sparse"});
  refused(multiply(half, "%rd1", descriptorOf(half, 2)), {"bits 1:0 (sparsity selector)"});
  refused(multiply(bytes, "%rd1", descriptorOf(bytes, 1)), {"bits 1:0 (sparsity selector)"});
  refused(multiply(half, "%rd1", descriptorOf(half, 1)),
          {"the metadata of chunk 0 of row 0 are 0b0101, in lane 0, column 9, bits 0..3", "two places, the first one first"});
  expectRefusal(form, kernelOf(multiply(tf32, "%rd1", descriptorOf(tf32, 1)), ofTf32), {"of tf32 they are 0b0100 or 0b1110"});
  refused(multiply(half, "%rd1", descriptorOf(half, 0), "0", kMetadata + 1), {"column 9, but must at lane 0 and an even column"});
  refused(multiply(half, "%rd1", descriptorOf(half, 0, 1, 64)), {"M = 64", "128 rows of a CTA only"});
  refused(multiply(half, "%rd1", descriptorOf(half, 0), "0", 64), {"The metadata of tcgen05.mma.sp"});
}

}  // namespace

FormCases all() {
  return {{kSparse, "Products", products}, {kSparse, "Accumulators", accumulators}, {kSparse, "Refusals", refusals}};
}

}  // namespace shiftconv::tests::sparse_mma_cases

namespace shiftconv::tests {
FormCases sparseMmaCases() { return sparse_mma_cases::all(); }
}  // namespace shiftconv::tests
