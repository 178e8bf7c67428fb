// mma.sync: every type and depth, with operands that are small integers, so that sums are exact; fragments are written down from
// the formulas of PTX ISA 9.0, 9.7.14.5.
#include <bit>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests {
namespace {

constexpr unsigned kRows = 16, kColumns = 8;

struct Type {
  const char* name;
  unsigned bits;
  int lowest, highest;
  uint32_t (*encode)(int value);
};
uint32_t wide(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint32_t half(int value) {
  if (value == 0) return 0;
  const uint32_t bits = wide(value);
  return bits >> 31 << 15 | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}
const Type kF16{"f16", 16, -9, 9, half};
const Type kBf16{"bf16", 16, -9, 9, [](int v) { return wide(v) >> 16; }};
const Type kTf32{"tf32", 32, -9, 9, [](int v) { return wide(v) | 0x155; }};
const Type kS8{"s8", 8, -128, 127, [](int v) { return static_cast<uint32_t>(v) & 0xff; }};
const Type kU8{"u8", 8, 0, 255, [](int v) { return static_cast<uint32_t>(v); }};

struct Product {
  const Type& a;
  const Type& b;
  unsigned depth;
  const char* d = "f32";
  const char* c = "f32";
  const char* suffix = "";
};

uint32_t encodeAccumulator(std::string_view type, int value) {
  return type == "f16" ? half(value) : type == "f32" ? wide(value) : static_cast<uint32_t>(value);
}

/// Puts element (row or column, k) into the fragment of an operand: registers go g and g + 8 (A only), then on along k.
void putOperand(std::vector<uint32_t>& words, unsigned base, const Type& type, unsigned index, unsigned k, int value, bool isA) {
  const unsigned each = 32 / type.bits, lane = index % 8 * 4 + k / each % 4, step = k / (4 * each);
  const unsigned reg = isA ? index / 8 + 2 * step : step;
  words[(base + reg) * 32 + lane] |= type.encode(value) << (type.bits * (k % each));
}

/// words: A from register 0, B from 4, C from 6; out: D.
void expectProduct(FormRun& run, const Product& product) {
  std::vector<int> a(kRows * product.depth), b(kColumns * product.depth), c(kRows * kColumns);
  const auto draw = [&](std::vector<int>& values, int lowest, int highest) {
    for (int& value : values) value = lowest + static_cast<int>(run.random() % static_cast<uint64_t>(highest - lowest + 1));
  };
  draw(a, product.a.lowest, product.a.highest);
  draw(b, product.b.lowest, product.b.highest);
  draw(c, -100, 100);
  std::vector<uint32_t> words(10 * 32), expected(4 * 32);
  const unsigned registersA = kRows * product.depth * product.a.bits / 1024, registersB = registersA / 2;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned k = 0; k < product.depth; ++k) putOperand(words, 0, product.a, row, k, a[row * product.depth + k], true);
  for (unsigned column = 0; column < kColumns; ++column)
    for (unsigned k = 0; k < product.depth; ++k) putOperand(words, 4, product.b, column, k, b[column * product.depth + k], false);
  const bool halfC = std::string_view(product.c) == "f16", halfD = std::string_view(product.d) == "f16";
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      int sum = c[row * kColumns + column];
      for (unsigned k = 0; k < product.depth; ++k) sum += a[row * product.depth + k] * b[column * product.depth + k];
      const unsigned lane = row % 8 * 4 + column / 2, element = row / 8 * 2 + column % 2;
      words[(6 + (halfC ? element / 2 : element)) * 32 + lane] |= encodeAccumulator(product.c, c[row * kColumns + column])
                                                                  << (halfC ? 16 * (element % 2) : 0);
      expected[(halfD ? element / 2 : element) * 32 + lane] |= encodeAccumulator(product.d, sum)
                                                               << (halfD ? 16 * (element % 2) : 0);
    }
  const auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%r{}", i ? ", " : "", first + i);
    return text + "}";
  };
  std::string body;
  for (unsigned i = 0; i < 10; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd2+{}];\n", 2 + i, 128 * i);
  body += fmt::format("mma.sync.aligned.m16n8k{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {};\n", product.depth, product.suffix, product.d,
                      product.a.name, product.b.name, product.c, list(12, halfD ? 2 : 4), list(2, registersA), list(6, registersB),
                      list(8, halfC ? 2 : 4));
  for (unsigned i = 0; i < (halfD ? 2 : 4); ++i) body += fmt::format("st.global.u32 [%rd2+{}], %r{};\n", 1280 + 128 * i, 12 + i);
  words.resize(14 * 32);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned i = 0; i < (halfD ? 64u : 128u); ++i)
    ASSERT_EQ(out[320 + i], expected[i]) << "register " << i / 32 << ", lane " << i % 32;
}

void saturates(FormRun& run) {
  const std::string body =
      "mov.u32 %r2, 0x7f7f7f7f; mov.u32 %r3, 0x7ffffff0; mma.sync.aligned.m16n8k16.row.col{}.s32.s8.s8.s32 {{%r4, %r5, %r9, %r7}}, "
      "{{%r2, %r2}}, {{%r2}}, {{%r3, %r3, %r3, %r3}};";
  expectWords(run, fmt::format(fmt::runtime(body), ".satfinite"), [](unsigned) { return 0x7fffffff; });
  expectWords(run, fmt::format(fmt::runtime(body), ""), [](unsigned) { return 0x7ffffff0u + 16 * 127 * 127; });
}

void refusals(FormRun& run) {
  expectRefused(run, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2}, {%r3}, {%f1, %f2, %f3, %f4};",
                "operand A takes 2 registers here, 1 were given");
  expectRefused(run,
                "setp.eq.u32 %p1, %r1, 3; @%p1 bra S; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, "
                "%r3}, {%r3}, "
                "{%f1, %f2, %f3, %f4}; S:",
                "mma.sync");
}

}  // namespace

FormCases tileProductCases() {
  const auto f16 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
             bf16 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"),
             tf32 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
             integer = formOf("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32");
  return {
      {f16, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {8u, 16u})
           for (const char* d : {"f32", "f16"})
             for (const char* c : {"f32", "f16"}) expectProduct(run, {kF16, kF16, depth, d, c});
       }},
      {f16, "Refusals", refusals},
      {bf16, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {8u, 16u}) expectProduct(run, {kBf16, kBf16, depth});
       }},
      {tf32, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {4u, 8u}) expectProduct(run, {kTf32, kTf32, depth});
       }},
      {integer, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {16u, 32u})
           for (const Type* a : {&kS8, &kU8})
             for (const Type* b : {&kS8, &kU8}) expectProduct(run, {*a, *b, depth, "s32", "s32"});
       }},
      {integer, "WrapOrSaturate", saturates},
  };
}

}  // namespace shiftconv::tests
