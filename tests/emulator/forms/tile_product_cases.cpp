// mma.sync: every type and depth, with operands that are small integers, so that sums are exact; fragments are written down from
// the formulas of PTX ISA 9.0, 9.7.14.5.
#include <bit>
#include <cstring>
#include <tuple>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::tile_product_cases {
namespace {

constexpr unsigned kColumns = 8;

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
/// Small integers in e4m3 and e5m2: the sign, and the exponent and leading mantissa bits of the same f16.
const Type kE4m3{"e4m3", 8, -7, 7, [](int v) { return v == 0 ? 0 : (half(v) >> 8 & 0x80) | (((half(v) >> 7) & 0xff) - (8 << 3)); }};
const Type kE5m2{"e5m2", 8, -7, 7, [](int v) { return half(v) >> 8; }};
const Type kS4{"s4", 4, -8, 7, [](int v) { return static_cast<uint32_t>(v) & 0xf; }};
const Type kU4{"u4", 4, 0, 15, [](int v) { return static_cast<uint32_t>(v); }};
const Type kS8{"s8", 8, -128, 127, [](int v) { return static_cast<uint32_t>(v) & 0xff; }};
const Type kU8{"u8", 8, 0, 255, [](int v) { return static_cast<uint32_t>(v); }};

struct Product {
  const Type& a;
  const Type& b;
  unsigned depth;
  unsigned rows = 16;
  const char* d = "f32";
  const char* c = "f32";
  const char* suffix = "";
};

uint32_t encodeAccumulator(std::string_view type, int value) {
  return type == "f16" ? half(value) : type == "f32" ? wide(value) : static_cast<uint32_t>(value);
}

/// Puts element (row or column, k) into the fragment of an operand of `rows` rows: registers go g and g + 8 (of 16 rows), then on
/// along k.
void putOperand(std::vector<uint32_t>& words, unsigned base, const Type& type, unsigned index, unsigned k, int value,
                unsigned rows) {
  const unsigned each = 32 / type.bits, lane = index % 8 * 4 + k / each % 4, step = k / (4 * each);
  const unsigned reg = index / 8 + rows / 8 * step;
  words[(base + reg) * 32 + lane] |= type.encode(value) << (type.bits * (k % each));
}

/// words: A from register 0, B from 4, C from 6; out: D.
void expectProduct(FormRun& run, const Product& product) {
  std::vector<int> a(product.rows * product.depth), b(kColumns * product.depth), c(product.rows * kColumns);
  const auto draw = [&](std::vector<int>& values, int lowest, int highest) {
    for (int& value : values) value = lowest + static_cast<int>(run.random() % static_cast<uint64_t>(highest - lowest + 1));
  };
  draw(a, product.a.lowest, product.a.highest);
  draw(b, product.b.lowest, product.b.highest);
  draw(c, -100, 100);
  std::vector<uint32_t> words(10 * 32), expected(4 * 32);
  const unsigned registersA = product.rows * product.depth * product.a.bits / 1024,
                 registersB = kColumns * product.depth * product.b.bits / 1024, sums = product.rows * kColumns / 32;
  for (unsigned row = 0; row < product.rows; ++row)
    for (unsigned k = 0; k < product.depth; ++k) putOperand(words, 0, product.a, row, k, a[row * product.depth + k], product.rows);
  for (unsigned column = 0; column < kColumns; ++column)
    for (unsigned k = 0; k < product.depth; ++k)
      putOperand(words, 4, product.b, column, k, b[column * product.depth + k], kColumns);
  const bool halfC = std::string_view(product.c) == "f16", halfD = std::string_view(product.d) == "f16";
  for (unsigned row = 0; row < product.rows; ++row)
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
  body += fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {};\n", product.rows, product.depth,
                      product.suffix, product.d, product.a.name, product.b.name, product.c, list(12, halfD ? sums / 2 : sums),
                      list(2, registersA), list(6, registersB), list(8, halfC ? sums / 2 : sums));
  for (unsigned i = 0; i < (halfD ? sums / 2 : sums); ++i)
    body += fmt::format("st.global.u32 [%rd2+{}], %r{};\n", 1280 + 128 * i, 12 + i);
  words.resize(14 * 32);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned i = 0; i < 32 * (halfD ? sums / 2 : sums); ++i)
    ASSERT_EQ(out[320 + i], expected[i]) << "register " << i / 32 << ", lane " << i % 32;
}

void saturates(FormRun& run) {
  const std::string body =
      "mov.u32 %r2, 0x7f7f7f7f; mov.u32 %r3, 0x7ffffff0; mma.sync.aligned.m16n8k16.row.col{}.s32.s8.s8.s32 {{%r4, %r5, %r9, %r7}}, "
      "{{%r2, %r2}}, {{%r2}}, {{%r3, %r3, %r3, %r3}};";
  expectWords(run, fmt::format(fmt::runtime(body), ".satfinite"), [](unsigned) { return 0x7fffffff; });
  expectWords(run, fmt::format(fmt::runtime(body), ""), [](unsigned) { return 0x7ffffff0u + 16 * 127 * 127; });
}

/// Every lane's register r of an operand is word 32 * r + lane of `words`.
void expectBits(FormRun& run, unsigned rows, unsigned depth, const char* operation) {
  const unsigned registersA = rows * depth / 1024, registersB = kColumns * depth / 1024, sums = rows * kColumns / 32;
  std::vector<uint32_t> words(10 * 32), expected(4 * 32);
  for (uint32_t& word : words) word = static_cast<uint32_t>(run.random());
  const auto bit = [&](unsigned base, unsigned index, unsigned k, unsigned rowBlocks) {
    const unsigned reg = base + index / 8 + rowBlocks * (k / 128), lane = index % 8 * 4 + k / 32 % 4;
    return words[reg * 32 + lane] >> (k % 32) & 1;
  };
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      const unsigned at = (row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2;
      expected[at] = words[6 * 32 + at];
      for (unsigned k = 0; k < depth; ++k) {
        const uint32_t a = bit(0, row, k, rows / 8), b = bit(4, column, k, 1);
        expected[at] += *operation == 'x' ? a ^ b : a & b;
      }
    }
  std::string body;
  for (unsigned i = 0; i < 10; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd2+{}];\n", 2 + i, 128 * i);
  body += fmt::format(
      "mma.sync.aligned.m{}n8k{}.row.col.s32.b1.b1.s32.{}.popc {{%r12, %r13{}}}, {{%r2{}}}, {{%r6{}}}, {{%r8, %r9{}}};\n", rows,
      depth, operation, sums == 4 ? ", %r14, %r15" : "",
      registersA == 1   ? ""
      : registersA == 2 ? ", %r3"
                        : ", %r3, %r4, %r5",
      registersB == 1 ? "" : ", %r7", sums == 4 ? ", %r10, %r11" : "");
  for (unsigned i = 0; i < sums; ++i) body += fmt::format("st.global.u32 [%rd2+{}], %r{};\n", 1280 + 128 * i, 12 + i);
  words.resize(14 * 32);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned i = 0; i < 32 * sums; ++i) ASSERT_EQ(out[320 + i], expected[i]) << "register " << i / 32 << ", lane " << i % 32;
}

/// A from element 0, B from 256 on, C from 384 on, D from 512 on: element (row, column) where the fragment of PTX ISA 9.0, 9.7.14.5
/// has it, register by register. `value('a', i)` is element i of A, row by row.
template <class Value, class Expected>
void expectDoubles(FormRun& run, unsigned rows, unsigned depth, const std::string& rounding, Value&& value, Expected&& expected) {
  const unsigned registersA = rows * depth / 32, registersB = depth / 4, sums = rows / 4;
  std::vector<double> a(rows * depth), b(kColumns * depth), c(rows * kColumns), memory(640);
  for (auto& [matrix, values] : {std::pair{'a', &a}, {'b', &b}, {'c', &c}})
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] = value(matrix, i);
  const auto operandAt = [&](unsigned index, unsigned k, unsigned rowBlocks) {
    return (index / 8 + rowBlocks * (k / 4)) * 32 + index % 8 * 4 + k % 4;
  };
  const auto sumAt = [](unsigned row, unsigned column) { return (row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2; };
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned row = 0; row < rows; ++row) memory[operandAt(row, k, rows / 8)] = a[row * depth + k];
    for (unsigned column = 0; column < kColumns; ++column) memory[256 + operandAt(column, k, 1)] = b[column * depth + k];
  }
  for (unsigned i = 0; i < c.size(); ++i) memory[384 + sumAt(i / kColumns, i % kColumns)] = c[i];
  const auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%fd{}", i ? ", " : "", first + i);
    return text + "}";
  };
  std::string body = "mad.wide.u32 %rd2, %r1, 8, %rd1;\n";
  const auto load = [&](unsigned first, unsigned count, unsigned from) {
    for (unsigned i = 0; i < count; ++i) body += fmt::format("ld.global.f64 %fd{}, [%rd2+{}];\n", first + i, 8 * (from + 32 * i));
  };
  load(0, registersA, 0), load(8, registersB, 256), load(12, sums, 384);
  body += fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}.f64.f64.f64.f64 {}, {}, {}, {};\n", rows, depth, rounding,
                      list(16, sums), list(0, registersA), list(8, registersB), list(12, sums));
  for (unsigned i = 0; i < sums; ++i) body += fmt::format("st.global.f64 [%rd2+{}], %fd{};\n", 8 * (512 + 32 * i), 16 + i);
  std::vector<uint32_t> words(2 * memory.size());
  std::memcpy(words.data(), memory.data(), 8 * memory.size());
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  std::memcpy(memory.data(), out.data(), 8 * memory.size());
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (unsigned k = 0; k < depth; ++k) sum += a[row * depth + k] * b[column * depth + k];
      ASSERT_EQ(memory[512 + sumAt(row, column)], expected(sum, c[row * kColumns + column])) << row << ", " << column;
    }
}

/// Small integers, so that sums are exact; then 1 and -1 with 2^-60 added, which tells all rounding modes apart.
void doubles(FormRun& run) {
  for (const auto& [rows, depth] : {std::pair{8u, 4u}, {16u, 4u}, {16u, 8u}, {16u, 16u}})
    expectDoubles(
        run, rows, depth, "", [&](char, size_t) { return static_cast<double>(run.random() % 2001) - 1000; },
        [](double sum, double c) { return sum + c; });
  for (const auto& [rounding, positive, negative] : {std::tuple{"", 1.0, -1.0},
                                                     {".rn", 1.0, -1.0},
                                                     {".rz", 1.0, -1 + 0x1p-53},
                                                     {".rm", 1.0, -1.0},
                                                     {".rp", 1 + 0x1p-52, -1 + 0x1p-53}})
    expectDoubles(
        run, 8, 4, rounding,
        [](char matrix, size_t i) {
          if (matrix == 'c') return i % 3 == 0 ? -1.0 : 1.0;
          return i % 4 != 2 ? 0.0 : matrix == 'a' ? 0x1p-20 : 0x1p-40;
        },
        [&](double, double c) { return c < 0 ? negative : positive; });
}

/// mma.sync.m8n8k4 of f16: four products, of lanes 4p to 4p + 3 and 4p + 16 to 4p + 19. words: A from register 0, B from 2, C from
/// 4; out: D from 12. Places as PTX ISA 9.0, 9.7.14.5.1 has them, from the lane to the element.
void expectFourProducts(FormRun& run, bool rowsOfA, bool rowsOfB, const std::string& d, const std::string& c) {
  constexpr unsigned kSide = 8, kDepth = 4, kPairs = 4;
  std::vector<int> a(kPairs * kSide * kDepth), b(a.size()), sums(kPairs * kSide * kSide);
  for (std::vector<int>* values : {&a, &b, &sums})
    for (int& value : *values) value = static_cast<int>(run.random() % 19) - 9;
  const auto half16 = [](unsigned i) { return 16 * (i % 2); };
  const auto place = [](const std::string& type, unsigned lane, unsigned i) {
    const unsigned upper = lane < 16 ? 0 : 4;
    if (type == "f16") return std::pair{lane % 4 + upper, i};
    return std::pair{(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  };
  std::vector<uint32_t> words(20 * 32), expected(8 * 32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned pair = lane % 16 / 4, upper = lane < 16 ? 0 : 4;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = rowsOfA ? lane % 4 + upper : i + upper, kOfA = rowsOfA ? i : lane % 4;
      const unsigned column = rowsOfB ? i + upper : lane % 4 + upper, kOfB = rowsOfB ? lane % 4 : i;
      words[i / 2 * 32 + lane] |= half(a[(pair * kSide + row) * kDepth + kOfA]) << half16(i);
      words[(2 + i / 2) * 32 + lane] |= half(b[(pair * kSide + column) * kDepth + kOfB]) << half16(i);
    }
    for (unsigned i = 0; i < 8; ++i) {
      const auto [row, column] = place(c, lane, i);
      const int value = sums[(pair * kSide + row) * kSide + column];
      words[(4 + (c == "f16" ? i / 2 : i)) * 32 + lane] |= c == "f16" ? half(value) << half16(i) : wide(value);
    }
  }
  for (unsigned pair = 0; pair < kPairs; ++pair)
    for (unsigned row = 0; row < kSide; ++row)
      for (unsigned column = 0; column < kSide; ++column)
        for (unsigned k = 0; k < kDepth; ++k)
          sums[(pair * kSide + row) * kSide + column] +=
              a[(pair * kSide + row) * kDepth + k] * b[(pair * kSide + column) * kDepth + k];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      const auto [row, column] = place(d, lane, i);
      const int value = sums[(lane % 16 / 4 * kSide + row) * kSide + column];
      expected[(d == "f16" ? i / 2 : i) * 32 + lane] |= d == "f16" ? half(value) << half16(i) : wide(value);
    }
  const auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%s{}", i ? ", " : "", first + i);
    return text + "}";
  };
  const unsigned countD = d == "f16" ? 4 : 8, countC = c == "f16" ? 4 : 8;
  std::string body = ".reg .b32 %s<20>;\n";
  for (unsigned i = 0; i < 12; ++i) body += fmt::format("ld.global.u32 %s{}, [%rd2+{}];\n", i, 128 * i);
  body += fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{} {}, {}, {}, {};\n", rowsOfA ? "row" : "col",
                      rowsOfB ? "row" : "col", d, c, list(12, countD), list(0, 2), list(2, 2), list(4, countC));
  for (unsigned i = 0; i < countD; ++i) body += fmt::format("st.global.u32 [%rd2+{}], %s{};\n", 128 * (12 + i), 12 + i);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned i = 0; i < 32 * countD; ++i)
    ASSERT_EQ(out[12 * 32 + i], expected[i]) << d << " += " << c << ": register " << i / 32 << ", lane " << i % 32;
}

void fourProducts(FormRun& run) {
  for (const bool rowsOfA : {false, true})
    for (const bool rowsOfB : {false, true})
      for (const auto& [d, c] : {std::pair{"f32", "f32"}, {"f32", "f16"}, {"f16", "f16"}})
        expectFourProducts(run, rowsOfA, rowsOfB, d, c);
  expectRefused(
      run,
      ".reg .b32 %s<8>; mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%s0, %s1, %s2, %s3}, {%s0, %s1}, {%s0, %s1}, {%s0, %s1, "
      "%s2, %s3, %s4, %s5, %s6, %s7};",
      "with C of f32, D is of f32, too");
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

FormCases all() {
  const auto f16 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
             bf16 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"),
             tf32 = formOf("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
             f8 = formOf("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
             f8Half = formOf("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16"),
             integer = formOf("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"),
             nibble = formOf("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"),
             bits = formOf("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc"),
             f64 = formOf("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64");
  const auto f8Products = [](const char* sums) {
    return [sums](FormRun& run) {
      for (const unsigned depth : {16u, 32u})
        for (const Type* a : {&kE4m3, &kE5m2})
          for (const Type* b : {&kE4m3, &kE5m2}) expectProduct(run, {*a, *b, depth, 16, sums, sums});
    };
  };
  return {
      {f16, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {8u, 16u})
           for (const char* d : {"f32", "f16"})
             for (const char* c : {"f32", "f16"}) expectProduct(run, {kF16, kF16, depth, 16, d, c});
       }},
      {f16, "Refusals", refusals},
      {formOf("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"), "FourProducts", fourProducts},
      {bf16, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {8u, 16u}) expectProduct(run, {kBf16, kBf16, depth});
       }},
      {tf32, "Products",
       [](FormRun& run) {
         for (const unsigned depth : {4u, 8u}) expectProduct(run, {kTf32, kTf32, depth});
       }},
      {f8, "Products", f8Products("f32")},
      {f8Half, "Products", f8Products("f16")},
      {integer, "Products",
       [](FormRun& run) {
         for (const auto& [rows, depth] : {std::pair{8u, 16u}, {16u, 16u}, {16u, 32u}})
           for (const Type* a : {&kS8, &kU8})
             for (const Type* b : {&kS8, &kU8}) expectProduct(run, {*a, *b, depth, rows, "s32", "s32"});
       }},
      {integer, "WrapOrSaturate", saturates},
      {nibble, "Products",
       [](FormRun& run) {
         for (const auto& [rows, depth] : {std::pair{8u, 32u}, {16u, 32u}, {16u, 64u}})
           for (const Type* a : {&kS4, &kU4})
             for (const Type* b : {&kS4, &kU4}) expectProduct(run, {*a, *b, depth, rows, "s32", "s32", ".satfinite"});
       }},
      {bits, "Counts",
       [](FormRun& run) {
         for (const auto& [rows, depth] : {std::pair{8u, 128u}, {16u, 128u}, {16u, 256u}})
           for (const char* operation : {"xor", "and"}) expectBits(run, rows, depth, operation);
       }},
      {f64, "Products", doubles},
  };
}

}  // namespace shiftconv::tests::tile_product_cases

namespace shiftconv::tests {
FormCases tileProductCases() { return tile_product_cases::all(); }
}  // namespace shiftconv::tests
