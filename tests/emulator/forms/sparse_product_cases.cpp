// mma.sp: sparse A is drawn as a whole matrix with its zeros, and compressed from there; fragments are written down from PTX
// ISA 9.0, 9.7.14.6, and for metadata of 8 bits and less from the order in which CUTLASS's host_reorder.h puts them. Where A has no
// element, B may be infinite.
#include <bit>
#include <limits>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::sparse_product_cases {
namespace {

constexpr unsigned kRows = 16, kColumns = 8;

uint32_t asFloat(float value) { return std::bit_cast<uint32_t>(value); }
uint32_t asHalf(float value) {
  const uint32_t bits = asFloat(value);
  if (value == 0) return 0;
  if (value == std::numeric_limits<float>::infinity()) return 0x7c00;
  return bits >> 31 << 15 | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}

/// Of 8 bits: sign, exponent of `exponentBits`, the rest.
uint32_t asByte(float value, unsigned exponentBits) {
  if (value == std::numeric_limits<float>::infinity()) return exponentBits == 5 ? 0x7c : 0x7f;  // e4m3 has NaN alone
  if (value == 0) return 0;
  const uint32_t bits = asFloat(value), fractionBits = 7 - exponentBits, bias = (1u << (exponentBits - 1)) - 1;
  return bits >> 31 << 7 | ((bits >> 23 & 0xff) - 127 + bias) << fractionBits |
         (bits >> (23 - fractionBits) & ((1u << fractionBits) - 1));
}
/// Infinity, which integers do not have, is any number.
uint32_t asInteger(float value, unsigned bits) {
  return value == std::numeric_limits<float>::infinity() ? 5 : static_cast<uint32_t>(static_cast<int>(value)) & ((1u << bits) - 1);
}

struct Type {
  const char* name;
  unsigned bits;
  uint32_t (*encode)(float value);
  bool hasSign = true;
};
const Type kF16{"f16", 16, asHalf};
const Type kBf16{"bf16", 16, [](float v) { return asFloat(v) >> 16; }};
const Type kTf32{"tf32", 32, [](float v) { return asFloat(v); }};
const Type kE4m3{"e4m3", 8, [](float v) { return asByte(v, 4); }};
const Type kE5m2{"e5m2", 8, [](float v) { return asByte(v, 5); }};
const Type kS8{"s8", 8, [](float v) { return asInteger(v, 8); }};
const Type kU8{"u8", 8, [](float v) { return asInteger(v, 8); }, false};
const Type kS4{"s4", 4, [](float v) { return asInteger(v, 4); }};
const Type kU4{"u4", 4, [](float v) { return asInteger(v, 4); }, false};

struct Product {
  const Type& type;
  unsigned depth;
  unsigned selector;
  const char* sums = "f32";
  const char* variant = "sp";
  const Type* typeB = nullptr;  ///< that of A when there is none
  const char* saturation = "";
};

/// words: A from register 0, B from 4, C from 8, metadata in 12; D comes into 13 and further.
void expectProduct(FormRun& run, const Product& product) {
  const auto& [type, depth, selector, sums, variant, given, saturation] = product;
  const Type& typeB = given == nullptr ? type : *given;
  const bool isSingle = type.bits == 32, isHalf = std::string_view(sums) == "f16", isInteger = std::string_view(sums) == "s32";
  const unsigned pair = type.bits == 4 ? 2 : 1;  // neighbours that are kept together
  const unsigned width = isSingle ? 2 : 4 * pair, chunks = depth / width, each = 32 / type.bits, unmet = isSingle ? 1 : 3 * pair;
  // Numbers that all types have exactly: e5m2 has two fraction bits.
  const auto smallOf = [&](const Type& one) {
    const int value = static_cast<int>(run.random() % 15) - 7, sign = one.hasSign ? 1 : 0;
    if (sign == 0) return static_cast<float>(std::abs(value));
    return static_cast<float>(one.bits == 8 && !isInteger && value % 2 != 0 ? value / 2 : value);
  };
  const auto small = [&] { return smallOf(type); };
  std::vector<float> a(kRows * depth), b(depth * kColumns), c(kRows * kColumns);
  for (float& value : b) value = smallOf(typeB);
  for (float& value : c) value = smallOf(kS8);
  std::vector<uint32_t> words(17 * 32);
  // Metadata that nobody may read are all ones: no two places, and none of tf32.
  for (unsigned lane = 0; lane < 32; ++lane) words[12 * 32 + lane] = 0xffffffff;
  std::vector<bool> met(depth);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      // Two different places of four, in any order but where they must be sorted; or one of two.
      unsigned places[2] = {static_cast<unsigned>(run.random() % 4), 0};
      places[1] = (places[0] + 1 + static_cast<unsigned>(run.random() % 3)) % 4;
      if (std::string_view(variant) != "sp" && places[0] > places[1]) std::swap(places[0], places[1]);
      // The last place of the first chunk has no element in any row.
      if (chunk == 0) places[0] = row % 2, places[1] = 2;
      uint32_t code = places[0] | places[1] << 2;
      if (isSingle) {
        places[0] = chunk == 0 ? 0 : places[0] % 2;
        code = places[0] == 0 ? 0b0100 : 0b1110;
      }
      unsigned lane = 4 * (row % 8) + selector * (chunks / 4) + chunk / 4, shift = 16 * (row / 8) + 4 * (chunk % 4);
      if (type.bits <= 8) lane = 4 * (row % 8) + 2 * selector + chunk / 8 * 2 + row / 8, shift = 4 * (chunk % 8);
      uint32_t& metadata = words[12 * 32 + lane];
      metadata = (metadata & ~(0xfu << shift)) | code << shift;
      for (unsigned i = 0; i < width / 2; ++i) {
        const float value = small();
        const unsigned whole = width * chunk + pair * places[i / pair] + i % pair;
        a[row * depth + whole] = value;
        met[whole] = true;
        const unsigned k = width / 2 * chunk + i;  // of compressed A
        const unsigned reg = row / 8 + 2 * (k / (4 * each));
        words[reg * 32 + row % 8 * 4 + k / each % 4] |= type.encode(value) << (type.bits * (k % each));
      }
    }
  ASSERT_FALSE(met[unmet]);
  for (unsigned column = 0; column < kColumns; ++column) b[unmet * kColumns + column] = std::numeric_limits<float>::infinity();
  for (unsigned k = 0; k < depth; ++k)
    for (unsigned column = 0; column < kColumns; ++column)
      words[(4 + k / (4 * each)) * 32 + column * 4 + k / each % 4] |= typeB.encode(b[k * kColumns + column])
                                                                      << (type.bits * (k % each));
  std::vector<uint32_t> expected(4 * 32);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      float sum = c[row * kColumns + column];
      for (unsigned k = 0; k < depth; ++k)
        if (a[row * depth + k] != 0) sum += a[row * depth + k] * b[k * kColumns + column];
      const unsigned lane = row % 8 * 4 + column / 2, element = row / 8 * 2 + column % 2;
      const unsigned at = (isHalf ? element / 2 : element) * 32 + lane, shift = isHalf ? 16 * (element % 2) : 0;
      const auto asWord = [](float v) { return static_cast<uint32_t>(static_cast<int>(v)); };
      const auto encode = isHalf ? asHalf : isInteger ? +asWord : asFloat;
      words[8 * 32 + at] |= encode(c[row * kColumns + column]) << shift;
      expected[at] |= encode(sum) << shift;
    }
  const unsigned registersA = depth * type.bits / 128, registersB = depth * type.bits / 128, registersD = isHalf ? 2 : 4;
  const auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%s{}", i ? ", " : "", first + i);
    return text + "}";
  };
  std::string body = ".reg .b32 %s<17>;\n";
  for (unsigned i = 0; i < 13; ++i) body += fmt::format("ld.global.u32 %s{}, [%rd2+{}];\n", i, 128 * i);
  body += fmt::format("mma.{}.sync.aligned.m16n8k{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {}, %s12, {};\n", variant, depth, saturation,
                      sums, type.name, typeB.name, sums, list(13, registersD), list(0, registersA), list(4, registersB),
                      list(8, registersD), selector);
  for (unsigned i = 0; i < registersD; ++i) body += fmt::format("st.global.u32 [%rd2+{}], %s{};\n", 128 * (13 + i), 13 + i);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned i = 0; i < 32 * registersD; ++i)
    ASSERT_EQ(out[13 * 32 + i], expected[i]) << variant << " k" << depth << " selector " << selector << ": register " << i / 32
                                             << ", lane " << i % 32;
}

/// All selectors: four where a row has four chunks, two where it has eight.
void expectProducts(FormRun& run, const Type& type, unsigned shallow, const char* sums = "f32") {
  for (const char* variant : {"sp", "sp::ordered_metadata"}) {
    for (unsigned selector = 0; selector < 4; ++selector) expectProduct(run, {type, shallow, selector, sums, variant});
    for (unsigned selector = 0; selector < 2; ++selector) expectProduct(run, {type, 2 * shallow, selector, sums, variant});
  }
}

/// Two selectors where a row has eight chunks, one where it has 16.
void expectIntegerProducts(FormRun& run, const Type& a, const Type& b, unsigned shallow) {
  for (const char* variant : {"sp", "sp::ordered_metadata"})
    for (const char* saturation : {"", ".satfinite"}) {
      for (unsigned selector = 0; selector < 2; ++selector)
        expectProduct(run, {a, shallow, selector, "s32", variant, &b, saturation});
      expectProduct(run, {a, 2 * shallow, 0, "s32", variant, &b, saturation});
    }
}

void refusals(FormRun& run) {
  const auto product = [](const char* variant, const char* types, unsigned metadata, unsigned selector, unsigned depth = 16) {
    const char* const operand = depth == 16 ? "{%s1, %s1}" : "{%s1, %s1, %s1, %s1}";
    return fmt::format(
        ".reg .b32 %s<2>; mov.u32 %s0, {}; mov.u32 %s1, 0; mma.{}.sync.aligned.m16n8k{}.row.col.{} {{%f0, %f1, %f2, %f3}}, {}, {}, "
        "{{%f0, %f1, %f2, %f3}}, %s0, {};",
        metadata, variant, depth, types, operand, operand, selector);
  };
  const char* const half = "f32.f16.f16.f32";
  expectRefused(run, product("sp", half, 0x44444444, 4), "the sparsity selector is 4, but at most 3 here");
  expectRefused(run, product("sp", half, 0x44444444, 2, 32), "the sparsity selector is 2, but at most 1 here");
  expectRefused(run, product("sp", half, 0x44440444, 0), "chunk 3 of row 0 is 0b0000, in lane 0: they name two places");
  expectRefused(run, product("sp::ordered_metadata", half, 0x44144444, 1),
                "chunk 1 of row 8 is 0b0001, in lane 1: ordered metadata");
  expectRefused(run, product("sp", "f16.f16.f16.f32", 0x44444444, 0), "the types of C and D differ");
}

void byteRefusals(FormRun& run) {
  const auto product = [](unsigned depth, unsigned metadata, unsigned selector) {
    const char* const operand = depth == 32 ? "{%s1, %s1}" : "{%s1, %s1, %s1, %s1}";
    return fmt::format(
        ".reg .b32 %s<3>; mov.u32 %s0, {}; mov.u32 %s1, 0; mma.sp.sync.aligned.m16n8k{}.row.col.s32.u8.s8.s32 {{%s1, %s1, %s1, "
        "%s1}}, "
        "{}, {}, {{%s1, %s1, %s1, %s1}}, %s0, {};",
        metadata, depth, operand, operand, selector);
  };
  expectRefused(run, product(32, 0x44444444, 2), "the sparsity selector is 2, but at most 1 here");
  expectRefused(run, product(64, 0x44444444, 1), "the sparsity selector is 1, but at most 0 here");
  expectRefused(run, product(32, 0x40444444, 1), "chunk 6 of row 0 is 0b0000, in lane 2: they name two places");
}

void tf32Refusals(FormRun& run) {
  expectRefused(
      run,
      ".reg .b32 %s<2>; mov.u32 %s0, 0x44444644; mov.u32 %s1, 0; mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, "
      "%f1, %f2, %f3}, {%s1, %s1}, {%s1, %s1}, {%f0, %f1, %f2, %f3}, %s0, 3;",
      "chunk 2 of row 0 is 0b0110, in lane 3: of tf32 it is 0b0100 or 0b1110");
}

}  // namespace

FormCases all() {
  const auto f16 = formOf("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
             bf16 = formOf("mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
             tf32 = formOf("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
             fp8 = formOf("mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32"),
             bytes = formOf("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"),
             halfBytes = formOf("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32");
  return {
      {f16, "Products", [](FormRun& run) { expectProducts(run, kF16, 16), expectProducts(run, kF16, 16, "f16"); }},
      {f16, "Refusals", refusals},
      {bf16, "Products", [](FormRun& run) { expectProducts(run, kBf16, 16); }},
      {tf32, "Products", [](FormRun& run) { expectProducts(run, kTf32, 8); }},
      {tf32, "Refusals", tf32Refusals},
      {fp8, "Products",
       [](FormRun& run) {
         for (const char* variant : {"sp", "sp::ordered_metadata"}) {
           expectProduct(run, {kE4m3, 64, 0, "f32", variant, &kE5m2});
           expectProduct(run, {kE5m2, 64, 0, "f32", variant, &kE4m3});
         }
       }},
      {bytes, "Products", [](FormRun& run) { expectIntegerProducts(run, kS8, kU8, 32), expectIntegerProducts(run, kU8, kS8, 32); }},
      {bytes, "Refusals", byteRefusals},
      {halfBytes, "Products",
       [](FormRun& run) { expectIntegerProducts(run, kS4, kU4, 64), expectIntegerProducts(run, kU4, kS4, 64); }},
  };
}

}  // namespace shiftconv::tests::sparse_product_cases

namespace shiftconv::tests {
FormCases sparseProductCases() { return sparse_product_cases::all(); }
}  // namespace shiftconv::tests
