// wgmma: every type and shape, operands from registers and from shared memory in every layout, groups in flight, refusals. Operands
// are small integers, so that sums are exact; placements are written down from the figures and formulas of PTX ISA 9.0, 9.7.15.5.1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "common/emulator/error.hpp"
#include "tests/emulator/forms/form_case.hpp"
#include "tests/emulator/forms/machine_run.hpp"
#include "tests/support/wgmma_kernel.hpp"

namespace shiftconv::tests::wgmma_cases {
namespace {

constexpr uint32_t kRows = 64;

/// An element type: how an integer is written in it.
struct Type {
  const char* name;
  uint32_t bits;
  uint32_t depth;  ///< K of one instruction
  int lowest, highest;
  uint32_t (*encode)(int value);
};

uint32_t floatBits(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
/// An integer of few bits in a format with `exponent` and `mantissa` bits, by way of f32.
uint32_t narrow(int value, uint32_t exponent, uint32_t mantissa) {
  if (value == 0) return 0;
  const uint32_t wide = floatBits(value);
  const uint32_t bias = (1u << (exponent - 1)) - 1;
  return (wide >> 31) << (exponent + mantissa) | ((wide >> 23 & 0xff) - 127 + bias) << mantissa |
         (wide & 0x7fffff) >> (23 - mantissa);
}

const Type kF16{"f16", 16, 16, -9, 9, [](int v) { return narrow(v, 5, 10); }};
const Type kBf16{"bf16", 16, 16, -9, 9, [](int v) { return narrow(v, 8, 7); }};
/// The low 13 bits are ignored.
const Type kTf32{"tf32", 32, 8, -9, 9, [](int v) { return floatBits(v) | 0x1abc; }};
const Type kE4m3{"e4m3", 8, 32, -8, 8, [](int v) { return narrow(v, 4, 3); }};
const Type kE5m2{"e5m2", 8, 32, -4, 4, [](int v) { return narrow(v, 5, 2); }};
const Type kS8{"s8", 8, 32, -128, 127, [](int v) { return static_cast<uint32_t>(v) & 0xff; }};
const Type kU8{"u8", 8, 32, 0, 255, [](int v) { return static_cast<uint32_t>(v); }};

/// How an operand lies in shared memory.
struct Layout {
  uint32_t swizzle = 0;  ///< the descriptor's code: 0 none, 1 128B, 2 64B, 3 32B
  bool transposed = false;
  uint32_t start = 0;   ///< of the first element
  uint32_t stride = 0;  ///< from 8 rows to the next ones; 0: dense

  uint32_t span() const { return swizzle == 0 ? 16 : 256u >> swizzle; }
};

/// The 9.7.15.5.1.2 layouts, byte by byte: offset from the start before the swizzle, which then XORs bits of the whole address.
class Placement {
 public:
  Placement(const Layout& layout, const Type& type, uint32_t rows) : layout_(layout), bytes_(type.bits / 8) {
    const uint32_t span = layout.span(), depthBytes = type.depth * bytes_;
    if (!layout.transposed) {
      leading_ = layout.swizzle == 0 ? rows * 16 : 16;
      stride_ = layout.stride != 0 ? layout.stride : layout.swizzle == 0 ? 128 : 8 * span;
      extent_ = (rows + 7) / 8 * stride_ + (layout.swizzle == 0 ? depthBytes / 16 * leading_ : 0);
    } else if (layout.swizzle == 0) {
      stride_ = 128 * (type.depth / 8);  // along rows
      leading_ = 128;                    // along k
      extent_ = (rows * bytes_ / 16) * stride_;
    } else {
      leading_ = type.depth * span;  // from one block of rows to the next
      stride_ = 8 * span;            // along k
      extent_ = (rows * bytes_ + span - 1) / span * leading_;
    }
  }
  uint32_t extent() const { return extent_; }
  uint64_t descriptor() const { return wgmmaDescriptor(layout_.start, leading_, stride_, layout_.swizzle); }
  uint32_t at(uint32_t row, uint32_t k) const {
    const uint32_t span = layout_.span(), chunk = 16 / bytes_;
    uint32_t offset;
    if (!layout_.transposed)
      offset = row % 8 * span + row / 8 * stride_ + (layout_.swizzle == 0 ? k / chunk * leading_ + k % chunk * bytes_ : k * bytes_);
    else if (layout_.swizzle == 0)
      offset = row % chunk * bytes_ + row / chunk * stride_ + k % 8 * 16 + k / 8 * leading_;
    else
      offset = row % (span / bytes_) * bytes_ + row / (span / bytes_) * leading_ + k % 8 * span + k / 8 * stride_;
    const uint32_t address = layout_.start + offset;
    return layout_.swizzle == 0 ? address : address ^ ((address >> 7) % (span / 16) << 4);
  }

 private:
  Layout layout_;
  uint32_t bytes_, leading_ = 0, stride_ = 0, extent_ = 0;
};

using Matrix = std::vector<int>;  ///< [row][k], or [row][column]

Matrix randomMatrix(FormRun& run, uint32_t rows, uint32_t columns, int lowest, int highest) {
  Matrix matrix(size_t{rows} * columns);
  for (int& value : matrix) value = lowest + static_cast<int>(run.random() % static_cast<uint64_t>(highest - lowest + 1));
  return matrix;
}

void put(std::vector<std::byte>& image, const Placement& place, const Type& type, const Matrix& matrix, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < type.depth; ++k) {
      const uint32_t bits = type.encode(matrix[row * type.depth + k]);
      std::memcpy(image.data() + place.at(row, k), &bits, type.bits / 8);
    }
}

/// Thread and register of element (row, column) of D; f16 results share registers.
struct Owner {
  uint32_t thread, reg;
};
Owner ownerOf(uint32_t row, uint32_t column) {
  return {row / 16 * 32 + row % 8 * 4 + column % 8 / 2, column / 8 * 4 + row % 16 / 8 * 2 + column % 2};
}

struct Product {
  const Type& a;
  const Type& b;
  const char* d = "f32";
  uint32_t n = 16;
  Layout layoutA{}, layoutB{};
  bool aInRegisters = false;
  bool accumulate = true;
  int signA = 1, signB = 1;
  std::string suffix = {};  ///< ".satfinite"

  uint32_t registers() const { return std::string_view(d) == "f16" ? n / 4 : n / 2; }
  std::string shape() const { return fmt::format("m64n{}k{}.{}.{}.{}{}", n, a.depth, d, a.name, b.name, suffix); }
  std::string tail() const {
    std::string text = accumulate ? "1" : "0";
    if (std::string_view(d) == "s32") return text;
    text += fmt::format(", {}, {}", signA, signB);
    if (a.bits != 16) return text;
    if (!aInRegisters) text += fmt::format(", {}", layoutA.transposed ? 1 : 0);
    return text + fmt::format(", {}", layoutB.transposed ? 1 : 0);
  }
};

uint32_t encodeD(const Product& product, int64_t value) {
  if (std::string_view(product.d) == "s32") return static_cast<uint32_t>(value);
  if (std::string_view(product.d) == "f16") return narrow(static_cast<int>(value), 5, 10);
  return floatBits(static_cast<int>(value));
}

/// Runs one product of random operands under every schedule and compares all of D with the sums.
void expectProduct(FormRun& run, Product product) {
  const Matrix a = randomMatrix(run, kRows, product.a.depth, product.a.lowest, product.a.highest);
  const Matrix b = randomMatrix(run, product.n, product.b.depth, product.b.lowest, product.b.highest);
  const Matrix c = randomMatrix(run, kRows, product.n, -100, 100);
  constexpr uint32_t kAlignment = 1024;
  const auto roundUp = [](uint32_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  const Placement placeA(product.layoutA, product.a, kRows);
  product.layoutB.start += roundUp(product.layoutA.start + placeA.extent());
  const Placement placeB(product.layoutB, product.b, product.n);
  WgmmaKernel kernel;
  kernel.registers = product.registers();
  kernel.image.assign(roundUp(product.layoutB.start + placeB.extent()) + kAlignment, std::byte{0x5b});
  put(kernel.image, placeA, product.a, a, kRows);
  put(kernel.image, placeB, product.b, b, product.n);
  const bool half = std::string_view(product.d) == "f16";
  std::vector<uint32_t> expected(size_t{128} * kernel.registers);
  kernel.d.resize(expected.size());
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t column = 0; column < product.n; ++column) {
      int64_t sum = product.accumulate ? c[row * product.n + column] : 0;
      for (uint32_t k = 0; k < product.a.depth; ++k)
        sum += int64_t{product.signA} * a[row * product.a.depth + k] * product.signB * b[column * product.b.depth + k];
      const Owner owner = ownerOf(row, column);
      const size_t word = size_t{owner.thread} * kernel.registers + (half ? owner.reg / 2 : owner.reg);
      const unsigned shift = half ? 16 * (owner.reg % 2) : 0;
      kernel.d[word] |= encodeD(product, c[row * product.n + column]) << shift;
      expected[word] |= encodeD(product, sum) << shift;
    }
  if (product.aInRegisters) {
    kernel.a.resize(128 * 4);
    const uint32_t each = 32 / product.a.bits;
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t k = 0; k < product.a.depth; ++k) {
        // Registers 0 and 1 hold rows g and g + 8 of the first half of K, 2 and 3 of the second.
        const uint32_t half_ = product.a.depth / 2, reg = row % 16 / 8 + 2 * (k / half_);
        const uint32_t thread = row / 16 * 32 + row % 8 * 4 + k % half_ / each;
        kernel.a[size_t{thread} * 4 + reg] |= product.a.encode(a[row * product.a.depth + k]) << (product.a.bits * (k % each));
      }
  }
  kernel.body = wgmmaProduct(product.shape(), kernel.registers, placeA.descriptor(), placeB.descriptor(), product.tail(),
                             product.aInRegisters);
  run.see(kernel.text());
  EXPECT_EQ(kernel.runEverySchedule(), expected)
      << product.shape() << " " << product.tail() << (product.aInRegisters ? " RS" : " SS");
}

std::string_view formNamed(const char* types) { return formOf(fmt::format("wgmma.mma_async.sync.aligned.{}", types)); }

void everyWidth(FormRun& run, Product product, uint32_t step) {
  for (product.n = step; product.n <= 256; product.n += step) {
    product.aInRegisters = product.n / step % 2 == 0;
    expectProduct(run, product);
  }
}

void everyLayout(FormRun& run, Product product) {
  for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
    for (const bool transposed : {false, true}) {
      if (transposed && product.a.bits != 16) continue;
      if (product.a.depth * product.a.bits / 8 > 16u << (swizzle == 0 ? 3 : 4 - swizzle)) continue;
      product.layoutA.swizzle = product.layoutB.swizzle = swizzle;
      product.n = 64;
      product.layoutA.transposed = transposed, product.layoutB.transposed = false;
      expectProduct(run, product);
      if (!transposed) continue;
      product.layoutA.transposed = false, product.layoutB.transposed = true;
      expectProduct(run, product);
    }
}

/// The start moves by whole rows, and groups of eight rows stand further apart than they are long (observed on an H200).
void shiftedStarts(FormRun& run) {
  Product product{kF16, kF16};
  product.layoutA.swizzle = 1;
  for (uint32_t shift : {1u, 2u, 3u, 7u, 9u})
    for (uint32_t pitch : {8u, 9u, 11u, 24u}) {
      product.layoutA.start = 128 * shift;
      product.layoutA.stride = 128 * pitch;
      expectProduct(run, product);
    }
}

void signsAndScale(FormRun& run, Product product) {
  product.accumulate = false;
  expectProduct(run, product);
  product.accumulate = true;
  product.signA = -1;
  expectProduct(run, product);
  product.signB = -1;
  expectProduct(run, product);
}

/// Two products in flight: after wait_group 1 the first one's registers are defined, whatever the schedule.
void groupsInFlight(FormRun& run) {
  WgmmaKernel kernel;
  kernel.registers = 8;
  const Placement a({}, kF16, kRows), b({.start = 4096}, kF16, 8);
  kernel.image.assign(8192, std::byte{});
  put(kernel.image, a, kF16, Matrix(kRows * 16, 1), kRows);
  put(kernel.image, b, kF16, Matrix(8 * 16, 2), 8);
  const std::string operands = fmt::format("%rd0, %rd1, 1, 1, 1, 0, 0;\n  wgmma.commit_group.sync.aligned;\n");
  kernel.body = fmt::format(
      "  add.u64 %rd0, %desc, {:#x};\n  add.u64 %rd1, %desc, {:#x};\n  wgmma.fence.sync.aligned;\n"
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, {}"
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d4, %d5, %d6, %d7}}, {}"
      "  wgmma.wait_group.sync.aligned 1;\n  add.f32 %d0, %d0, %d0;\n  wgmma.wait_group.sync.aligned 0;\n  add.f32 %d4, %d4, "
      "%d4;\n",
      a.descriptor(), b.descriptor(), operands, operands);
  run.see(kernel.text());
  std::vector<uint32_t> expected;
  for (uint32_t thread = 0; thread < 128; ++thread)
    for (int value : {64, 32, 32, 32, 64, 32, 32, 32}) expected.push_back(floatBits(value));
  EXPECT_EQ(kernel.runEverySchedule(), expected);
}

void integersWrapOrSaturate(FormRun& run) {
  for (const bool saturate : {false, true}) {
    WgmmaKernel kernel;
    const Placement a({}, kU8, kRows), b({.start = 4096}, kU8, 8);
    kernel.image.assign(8192, std::byte{});
    put(kernel.image, a, kU8, Matrix(kRows * 32, 255), kRows);
    put(kernel.image, b, kU8, Matrix(8 * 32, 255), 8);
    kernel.d.assign(128 * 4, 0x7fffff00);
    kernel.body =
        wgmmaProduct(saturate ? "m64n8k32.s32.u8.u8.satfinite" : "m64n8k32.s32.u8.u8", 4, a.descriptor(), b.descriptor(), "1");
    run.see(kernel.text());
    const uint32_t expected = saturate ? 0x7fffffff : 0x7fffff00u + 32 * 255 * 255;
    EXPECT_EQ(kernel.runEverySchedule(), std::vector<uint32_t>(128 * 4, expected));
  }
}

/// 8-bit floats keep 13 bits below the largest term, and 13 mantissa bits of an f32 (observed on an H200).
void eightBitPrecision(FormRun& run) {
  WgmmaKernel kernel;
  const Placement a({}, kE4m3, kRows), b({.start = 4096}, kE4m3, 8);
  kernel.image.assign(8192, std::byte{});
  put(kernel.image, a, kE4m3, Matrix(kRows * 32, 1), kRows);
  put(kernel.image, b, kE4m3, Matrix(8 * 32, 1), 8);
  kernel.body = wgmmaProduct("m64n8k32.f32.e4m3.e4m3", 4, a.descriptor(), b.descriptor(), "1, 1, 1");
  run.see(kernel.text());
  // 32 products of 1 beside 2^k: those below 2^(k-13) are cut off one by one; the sum keeps 14 significant bits.
  for (const auto& [accumulator, sum] :
       {std::pair{16384.0f, 16384.0f}, {8192.0f, 8224.0f}, {32768.0f, 32768.0f}, {8192.75f, 8224.0f}, {16383.5f, 16414.0f}}) {
    kernel.d.assign(128 * 4, std::bit_cast<uint32_t>(accumulator));
    EXPECT_EQ(kernel.runEverySchedule(), std::vector<uint32_t>(128 * 4, std::bit_cast<uint32_t>(sum))) << accumulator;
  }
}

void bitProducts(FormRun& run) {
  for (const bool inRegisters : {false, true}) {
    constexpr uint32_t kColumns = 24, kWords = 8;  // of 32 bits along K
    std::vector<uint32_t> a(kRows * kWords), b(kColumns * kWords);
    for (uint32_t& word : a) word = static_cast<uint32_t>(run.random());
    for (uint32_t& word : b) word = static_cast<uint32_t>(run.random());
    WgmmaKernel kernel;
    kernel.registers = kColumns / 2;
    kernel.image.assign(8192, std::byte{});
    // No swizzle: 16-byte chunks of 128 bits, the second one of A 1024 bytes on and of B 384 bytes on.
    const auto store = [&](uint32_t start, uint32_t rows, const std::vector<uint32_t>& matrix) {
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t word = 0; word < kWords; ++word)
          std::memcpy(kernel.image.data() + start + row * 16 + word / 4 * rows * 16 + word % 4 * 4, &matrix[row * kWords + word],
                      4);
    };
    store(0, kRows, a);
    store(4096, kColumns, b);
    std::vector<uint32_t> expected(size_t{128} * kernel.registers);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t column = 0; column < kColumns; ++column) {
        uint32_t sum = 7;
        for (uint32_t word = 0; word < kWords; ++word)
          sum += static_cast<uint32_t>(std::popcount(a[row * kWords + word] & b[column * kWords + word]));
        const Owner owner = ownerOf(row, column);
        expected[size_t{owner.thread} * kernel.registers + owner.reg] = sum;
      }
    kernel.d.assign(expected.size(), 7);
    kernel.a.resize(128 * 4);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t word = 0; word < kWords; ++word)
        kernel.a[(row / 16 * 32 + row % 8 * 4 + word % 4) * 4 + row % 16 / 8 + word / 4 * 2] = a[row * kWords + word];
    kernel.body = wgmmaProduct(fmt::format("m64n{}k256.s32.b1.b1.and.popc", kColumns), kernel.registers,
                               wgmmaDescriptor(0, 1024, 128), wgmmaDescriptor(4096, kColumns * 16, 128), "1", inRegisters);
    run.see(kernel.text());
    EXPECT_EQ(kernel.runEverySchedule(), expected);
  }
}

// --- refusals ---------------------------------------------------------------------------------------------------------------

void expectError(FormRun& run, const WgmmaKernel& kernel, const std::string& part) {
  run.see(kernel.text());
  const std::string message = run.error([&] {
    emulator::Emulator machine;
    kernel.run(machine, {});
  });
  EXPECT_NE(message.find(part), std::string::npos) << "in: " << message;
}

WgmmaKernel smallKernel() {
  WgmmaKernel kernel;
  kernel.image.assign(8192, std::byte{});
  kernel.body =
      wgmmaProduct("m64n8k16.f32.f16.f16", 4, wgmmaDescriptor(0, 1024, 128), wgmmaDescriptor(4096, 128, 128), "1, 1, 1, 0, 0");
  return kernel;
}

void refusals(FormRun& run) {
  WgmmaKernel kernel = smallKernel();
  kernel.threads = 96;
  expectError(run, kernel, "a whole warpgroup of 4 warps; the CTA has 3 warps from warp 0 on");

  kernel = smallKernel();
  kernel.body = "  setp.ge.u32 %p0, %thread, 96;\n  @%p0 bra SKIP;\n" + kernel.body + "SKIP:\n";
  expectError(run, kernel, "the other warps of warpgroup 0");

  kernel = smallKernel();
  kernel.body = "  setp.eq.u32 %p0, %thread, 5;\n  @%p0 bra SKIP;\n" + kernel.body + "SKIP:\n";
  expectError(run, kernel, "wgmma.fence");

  kernel = smallKernel();
  kernel.body = wgmmaProduct("m64n8k16.f32.f16.f16", 4, wgmmaDescriptor(0, 1024, 128) | uint64_t{1} << 52,
                             wgmmaDescriptor(4096, 128, 128), "1, 1, 1, 0, 0");
  expectError(run, kernel, "which no field of a wgmma descriptor has");

  kernel = smallKernel();
  kernel.body = "  setp.ge.u32 %p0, %thread, 64;\n  @%p0 add.u64 %desc, %desc, 1;\n" + kernel.body;
  expectError(run, kernel, "brings other descriptors");

  kernel = smallKernel();
  kernel.body = "  cvt.u64.u32 %rd5, %thread;\n  add.u64 %desc, %desc, %rd5;\n" + kernel.body;
  expectError(run, kernel, "all threads of the warpgroup must agree");

  kernel = smallKernel();
  kernel.body = wgmmaProduct("m64n8k16.f32.f16.f16", 4, wgmmaDescriptor(0x30000, 1024, 128), wgmmaDescriptor(4096, 128, 128),
                             "1, 1, 1, 0, 0");
  expectError(run, kernel, "Operand A of wgmma.mma_async");

  for (const auto& [tail, part] :
       {std::pair{"1, 2, 1, 0, 0", "imm-scale-a is 2"}, {"1, 1, 1, 0, 2", "imm-trans-b is 2"}, {"1, 1, 1", "8 operands"}}) {
    kernel.body = wgmmaProduct("m64n8k16.f32.f16.f16", 4, 0, 0, tail);
    expectError(run, kernel, part);
  }
  kernel.registers = 5;
  kernel.body = wgmmaProduct("m64n8k16.f32.f16.f16", 5, 0, 0, "1, 1, 1, 0, 0");
  expectError(run, kernel, "a vector of 4 accumulator registers");
}

}  // namespace

FormCases all() {
  const std::string_view halves = formNamed("m64n8k16.f32.f16.f16"), brain = formNamed("m64n8k16.f32.bf16.bf16"),
                         tf32 = formNamed("m64n8k8.f32.tf32.tf32"), eight = formNamed("m64n8k32.f32.e4m3.e4m3"),
                         integers = formNamed("m64n8k32.s32.s8.s8"), bits = formNamed("m64n8k256.s32.b1.b1.and.popc");
  return {
      {"wgmma.fence.sync.aligned", "OrdersAProduct",
       [](FormRun& run) {
         expectProduct(run, {kF16, kF16});
       }},
      {"wgmma.commit_group.sync.aligned", "ClosesGroups", groupsInFlight},
      {"wgmma.wait_group.sync.aligned", "WaitsForOlderGroups", groupsInFlight},
      {halves, "EveryWidth",
       [](FormRun& run) {
         everyWidth(run, {kF16, kF16}, 8);
       }},
      {halves, "HalfResults",
       [](FormRun& run) {
         everyWidth(run, {kF16, kF16, "f16"}, 56);
       }},
      {halves, "EveryLayout",
       [](FormRun& run) {
         everyLayout(run, {kF16, kF16});
       }},
      {halves, "ShiftedStartsAndFreeStrides", shiftedStarts},
      {halves, "SignsAndScale",
       [](FormRun& run) {
         signsAndScale(run, {kF16, kF16});
       }},
      {halves, "Refusals", refusals},
      {brain, "Products",
       [](FormRun& run) {
         everyWidth(run, {kBf16, kBf16}, 88);
         everyLayout(run, {kBf16, kBf16});
       }},
      {tf32, "Products",
       [](FormRun& run) {
         everyWidth(run, {kTf32, kTf32}, 40);
         everyLayout(run, {kTf32, kTf32});
         signsAndScale(run, {kTf32, kTf32});
       }},
      {eight, "Products",
       [](FormRun& run) {
         everyWidth(run, {kE4m3, kE4m3}, 72);
         everyWidth(run, {kE4m3, kE5m2, "f16"}, 64);
         everyWidth(run, {kE5m2, kE4m3}, 120);
         everyLayout(run, {kE5m2, kE5m2});
         signsAndScale(run, {kE4m3, kE5m2});
       }},
      {eight, "KeepsThirteenBits", eightBitPrecision},
      {integers, "Products",
       [](FormRun& run) {
         everyWidth(run, {kS8, kS8, "s32"}, 16);
         everyWidth(run, {kU8, kS8, "s32"}, 64);
         everyWidth(run, {kS8, kU8, "s32"}, 80);
         everyLayout(run, {kU8, kU8, "s32"});
       }},
      {integers, "WrapOrSaturate", integersWrapOrSaturate},
      {bits, "Products", bitProducts},
  };
}

}  // namespace shiftconv::tests::wgmma_cases

namespace shiftconv::tests {
FormCases wgmmaCases() { return wgmma_cases::all(); }
}  // namespace shiftconv::tests
