// wmma: matrices of small integers, in memory with gaps between rows, are loaded, multiplied and stored; and the fragments that
// this machine has chosen.
#include <bit>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::wmma_cases {
namespace {

uint64_t asDouble(int value) { return std::bit_cast<uint64_t>(static_cast<double>(value)); }
uint64_t asFloat(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint64_t asHalf(int value) {
  if (value == 0) return 0;
  const uint64_t bits = asFloat(value);
  return bits >> 31 << 15 | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}
uint64_t asInteger(int value) { return static_cast<uint32_t>(value); }

struct Type {
  const char* name;
  unsigned bits;
  int lowest, highest;
  uint64_t (*encode)(int value);
  unsigned alignment;  ///< elements that a stride is a multiple of
};
const Type kF16{"f16", 16, -9, 9, asHalf, 8};
const Type kBf16{"bf16", 16, -9, 9, [](int v) { return asFloat(v) >> 16; }, 8};
const Type kTf32{"tf32", 32, -9, 9, [](int v) { return asFloat(v) | (v == 0 ? 0 : 0x155); }, 4};
const Type kS8{"s8", 8, -128, 127, asInteger, 16};
const Type kU8{"u8", 8, 0, 255, asInteger, 16};
const Type kS4{"s4", 4, -8, 7, asInteger, 32};
const Type kU4{"u4", 4, 0, 15, asInteger, 32};
const Type kB1{"b1", 1, 0, 1, asInteger, 128};
const Type kF64{"f64", 64, -1000, 1000, asDouble, 2};
const Type kF32{"f32", 32, -100, 100, asFloat, 4};
const Type kS32{"s32", 32, -100, 100, asInteger, 4};
const Type kHalfSums{"f16", 16, -100, 100, asHalf, 8};

struct Product {
  const Type& a;
  const Type& c;
  const Type& d;
  unsigned m, n, k;
  const char* suffix = "";
  const char* logic = "";
};

/// A matrix in memory, from byte `at` on.
class Matrix {
 public:
  Matrix(const Type& type, unsigned rows, unsigned columns, bool isRowMajor, unsigned at)
      : values(rows * columns),
        type_(type),
        columns_(columns),
        isRowMajor_(isRowMajor),
        // A gap of at least one aligned unit after each line.
        stride_(((isRowMajor ? columns : rows) / type.alignment + 2) * type.alignment),
        at_(at),
        lines_(isRowMajor ? rows : columns) {}
  const char* layout() const { return isRowMajor_ ? "row" : "col"; }
  unsigned stride() const { return stride_; }
  unsigned begin() const { return at_; }
  unsigned end() const { return (at_ + stride_ * lines_ * type_.bits / 8 + 31) / 32 * 32; }
  void put(std::vector<uint32_t>& words) const {
    for (unsigned i = 0; i < values.size(); ++i) {
      const unsigned row = i / columns_, column = i % columns_;
      const unsigned bit = 8 * at_ + (isRowMajor_ ? row * stride_ + column : column * stride_ + row) * type_.bits;
      const uint64_t code = type_.encode(values[i]);
      for (unsigned b = 0; b < type_.bits; ++b) {
        uint32_t& word = words[(bit + b) / 32];
        word = (word & ~(1u << (bit + b) % 32)) | static_cast<uint32_t>(code >> b & 1) << (bit + b) % 32;
      }
    }
  }
  std::vector<int> values;

 private:
  const Type& type_;
  unsigned columns_;
  bool isRowMajor_;
  unsigned stride_, at_, lines_;
};

std::string registers(const char* prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i ? ", " : "", prefix, i);
  return text + "}";
}

/// Registers of an operand of `lines` rows (A) or columns (B), and of an accumulator (PTX ISA 9.0, 9.7.14.4.1).
unsigned operandRegisters(const Type& type, unsigned lines, unsigned k) {
  if (type.bits == 64) return lines * k / 32;
  if (std::string_view(type.name) == "f16") return 8;
  return lines * k * type.bits / 1024;
}
unsigned accumulatorRegisters(const Type& type, unsigned m, unsigned n) { return m * n / 32 / (type.bits == 16 ? 2 : 1); }

/// `space`: "global", "shared" or "" for generic addresses, of global memory.
void expectProduct(FormRun& run, const Product& product, unsigned layouts, const std::string& space) {
  const auto& [typeA, typeC, typeD, m, n, k, suffix, logic] = product;
  const bool isFixed = typeA.bits < 8;
  Matrix a(typeA, m, k, isFixed || (layouts & 1) != 0, 0);
  Matrix b(typeA, k, n, !isFixed && (layouts & 2) != 0, a.end());
  Matrix c(typeC, m, n, (layouts & 4) != 0, b.end());
  Matrix d(typeD, m, n, (layouts & 8) != 0, c.end());
  const auto draw = [&](Matrix& matrix, const Type& type) {
    for (int& value : matrix.values)
      value = type.lowest + static_cast<int>(run.random() % static_cast<uint64_t>(type.highest - type.lowest + 1));
  };
  draw(a, typeA), draw(b, typeA), draw(c, typeC);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned column = 0; column < n; ++column) {
      int& sum = d.values[row * n + column] = c.values[row * n + column];
      for (unsigned i = 0; i < k; ++i) {
        const int left = a.values[row * k + i], right = b.values[i * n + column];
        sum += *logic == 'x' ? left ^ right : left * right;
      }
    }
  std::vector<uint32_t> words(d.end() / 4, 0xcbcbcbcb);
  a.put(words), b.put(words), c.put(words);

  const std::string shape = fmt::format("m{}n{}k{}", m, n, k), place = space.empty() ? "" : "." + space;
  const bool isDouble = typeA.bits == 64;
  std::string body = fmt::format(".reg .{0} %a<8>; .reg .{0} %b<8>; .reg .{0} %c<8>; .reg .{0} %d<8>;\n", isDouble ? "f64" : "b32");
  const auto copyWords = [&](const char* from, const char* to, const char* fromBase, const char* toBase, char label) {
    body += fmt::format(
        "mul.lo.u32 %r2, %r1, 4; {4}: add.u32 %r3, %r2, tile; cvt.u64.u32 %rd3, %r2; add.u64 %rd4, %rd1, %rd3;\n"
        "ld.{0}.u32 %r4, [{2}]; st.{1}.u32 [{3}], %r4; add.u32 %r2, %r2, 128; setp.lt.u32 %p1, %r2, {5}; @%p1 bra {4};\n"
        "bar.warp.sync 0xffffffff;\n",
        from, to, fromBase, toBase, label, 4 * words.size());
  };
  const bool isShared = space == "shared";
  if (isShared) copyWords("global", "shared", "%rd4", "%r3", 'L');
  const auto at = [&](const Matrix& matrix) {
    return isShared ? fmt::format("tile+{}", matrix.begin()) : fmt::format("%rd1+{}", matrix.begin());
  };
  const auto load = [&](char name, const Matrix& matrix, const Type& type, unsigned count) {
    body += fmt::format("wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [{}], {};\n", name, matrix.layout(), shape, place, type.name,
                        registers(std::string(1, name).c_str(), count), at(matrix), matrix.stride());
  };
  const unsigned countA = operandRegisters(typeA, m, k), countB = operandRegisters(typeA, n, k);
  const unsigned countC = accumulatorRegisters(typeC, m, n), countD = accumulatorRegisters(typeD, m, n);
  load('a', a, typeA, countA), load('b', b, typeA, countB), load('c', c, typeC, countC);
  const std::string types = std::string_view(typeA.name) == "f16"
                                ? fmt::format("{}.{}", typeD.name, typeC.name)
                                : fmt::format("{}.{}.{}.{}", typeD.name, typeA.name, typeA.name, typeC.name);
  body += fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{}{} {}, {}, {}, {};\n", *logic ? fmt::format(".{}.popc", logic) : "",
                      a.layout(), b.layout(), shape, types, suffix, registers("d", countD), registers("a", countA),
                      registers("b", countB), registers("c", countC));
  // The stride in a register.
  body += fmt::format("mov.u32 %r9, {};\nwmma.store.d.sync.aligned.{}.{}{}.{} [{}], {}, %r9;\n", d.stride(), d.layout(), shape,
                      place, typeD.name, at(d), registers("d", countD));
  if (isShared) body += "bar.warp.sync 0xffffffff;\n", copyWords("shared", "global", "%r3", "%rd4", 'M');
  const auto out = runModule(run, kernel(body, ".shared .align 128 .b8 tile[16384];"), threads(32), words.size(), words);
  std::vector<uint32_t> expected = words;
  d.put(expected);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(out[i], expected[i]) << shape << ' ' << types << ", layouts " << layouts << ", " << space << ": byte " << 4 * i
                                   << "; D from " << d.begin();
}

void expectProducts(FormRun& run, const Product& product) {
  for (unsigned layouts = 0; layouts < 16; ++layouts)
    expectProduct(run, product, layouts, std::array{"global", "shared", ""}[layouts % 3]);
}

/// Three shapes of 16 deep products.
void expectShapes(FormRun& run, const Type& a, const Type& c, const Type& d, const char* suffix = "") {
  for (const auto& [m, n] : {std::pair{16u, 16u}, {8u, 32u}, {32u, 8u}}) expectProducts(run, {a, c, d, m, n, 16, suffix});
}

/// What the thread holds of a matrix whose element (row, column) is its number in memory; dense, as no stride is given.
void expectFragment(FormRun& run, const std::string& form, unsigned elements, unsigned bits, unsigned count,
                    unsigned (*place)(unsigned lane, unsigned i)) {
  std::vector<uint32_t> words(std::max(elements * bits / 32, 32 * count));
  const auto number = [&](unsigned element) { return bits == 8 ? element * 7 % 251 : element + 1; };
  for (unsigned i = 0; i < elements; ++i) words[i * bits / 32] |= number(i) << (i * bits % 32);
  std::string body = fmt::format(".reg .b32 %a<8>; {} {}, [%rd1];\n", form, registers("a", count));
  for (unsigned i = 0; i < count; ++i) body += fmt::format("st.global.u32 [%rd2+{}], %a{};\n", 128 * i, i);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < count * 32 / bits; ++i) {
      const uint32_t got = out[i * bits / 32 * 32 + lane] >> (i * bits % 32) & (bits == 32 ? ~0u : (1u << bits) - 1);
      ASSERT_EQ(got, number(place(lane, i))) << form << ": lane " << lane << ", element " << i;
    }
}

void fragments(FormRun& run) {
  // mma.sync.m16n8k16's operand A, twice.
  expectFragment(run, "wmma.load.a.sync.aligned.row.m16n16k16.f16", 256, 16, 8, [](unsigned lane, unsigned i) {
    return (lane / 4 + 8 * (i / 2 % 2)) * 16 + 2 * (lane % 4) + i % 2 + 8 * (i / 4 % 2);
  });
  // Two of its operands B: columns 0 to 7, then 8 to 15.
  expectFragment(run, "wmma.load.b.sync.aligned.col.m16n16k16.bf16", 256, 16, 4, [](unsigned lane, unsigned i) {
    return (lane / 4 + 8 * (i / 4)) * 16 + 2 * (lane % 4) + i % 2 + 8 * (i / 2 % 2);
  });
  // Operand A of 32 rows: rows 0 to 15, then 16 to 31.
  expectFragment(run, "wmma.load.a.sync.aligned.row.m32n8k16.u8", 512, 8, 4,
                 [](unsigned lane, unsigned i) { return (lane / 4 + 8 * (i / 4)) * 16 + 4 * (lane % 4) + i % 4; });
}

void accumulators(FormRun& run) {
  // Two accumulators of mma.sync.m16n8: columns 0 to 7, then 8 to 15.
  expectFragment(run, "wmma.load.c.sync.aligned.row.m16n16k16.s32", 256, 32, 8, [](unsigned lane, unsigned i) {
    return (lane / 4 + 8 * (i / 2 % 2)) * 16 + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
  });
  expectFragment(run, "wmma.load.c.sync.aligned.col.m32n8k16.f16", 256, 16, 4,
                 [](unsigned lane, unsigned i) { return (lane / 4 + 8 * (i / 2)) + 32 * (2 * (lane % 4) + i % 2); });
}

void refusals(FormRun& run) {
  const auto refused = [&](const std::string& body, const char* part) { expectRefused(run, ".reg .b32 %a<8>; " + body, part); };
  refused("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%a0, %a1, %a2, %a3}, [%rd1], 16;", "the fragment takes 8 registers here, 4");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%a0, %a1, %a2, %a3}, [%rd2], 16;", "all threads of the warp must agree");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%a0, %a1, %a2, %a3}, [%rd1], %r1;",
          "the stride of wmma.load is 0x0 in lane 0");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%a0, %a1, %a2, %a3}, [%rd1], 4096;", "outside every allocation");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%a0, %a1, %a2, %a3}, [%rd1+1], 16;", "multiple of 2");
  refused("setp.eq.u32 %p1, %r1, 3; @%p1 bra S; wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%a0, %a1, %a2, %a3}, [%rd1], 16; S:",
          "wmma.load");
}

void differentTypes(FormRun& run) {
  expectRefused(
      run,
      ".reg .b32 %a<8>; wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, {%a0, "
      "%a1}, {%a0, %a1}, {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7};",
      "A is .s8 and B .u8");
}

}  // namespace

FormCases all() {
  const auto halves = [](FormRun& run) {
    for (const Type* c : {&kHalfSums, &kF32})
      for (const Type* d : {&kHalfSums, &kF32}) expectShapes(run, kF16, *c, *d);
  };
  const auto half = [](FormRun& run) { expectProducts(run, {kF16, kHalfSums, kF32, 16, 16, 16}); };
  const auto bf16 = [](FormRun& run) { expectShapes(run, kBf16, kF32, kF32); };
  const auto tf32 = [](FormRun& run) { expectProducts(run, {kTf32, kF32, kF32, 16, 16, 8}); };
  const auto doubles = [](FormRun& run) {
    for (const char* suffix : {"", ".rn", ".rp"}) expectProducts(run, {kF64, kF64, kF64, 8, 8, 4, suffix});
  };
  const auto bytes = [](FormRun& run) { expectShapes(run, kS8, kS32, kS32), expectShapes(run, kU8, kS32, kS32, ".satfinite"); };
  const auto nibbles = [](FormRun& run) {
    expectProducts(run, {kS4, kS32, kS32, 8, 8, 32}), expectProducts(run, {kU4, kS32, kS32, 8, 8, 32, ".satfinite"});
  };
  const auto bits = [](FormRun& run) {
    for (const char* logic : {"xor", "and"}) expectProducts(run, {kB1, kS32, kS32, 8, 8, 128, "", logic});
  };
  const auto of = [](const std::string& text) { return formOf("wmma." + text); };
  return {
      {of("load.a.sync.aligned.row.m16n16k16.f16"), "Products", half},
      {of("load.a.sync.aligned.row.m16n16k16.f16"), "Fragments", fragments},
      {of("load.a.sync.aligned.row.m16n16k16.f16"), "Refusals", refusals},
      {of("load.a.sync.aligned.row.m16n16k8.tf32"), "Products", tf32},
      {of("load.a.sync.aligned.row.m8n8k4.f64"), "Products", doubles},
      {of("load.a.sync.aligned.row.m8n8k32.s4"), "Products", nibbles},
      {of("load.b.sync.aligned.col.m8n8k32.s4"), "Products", nibbles},
      {of("load.a.sync.aligned.row.m8n8k128.b1"), "Products", bits},
      {of("load.b.sync.aligned.col.m8n8k128.b1"), "Products", bits},
      {of("load.c.sync.aligned.row.m16n16k16.f32"), "Products", half},
      {of("load.c.sync.aligned.row.m16n16k16.f32"), "Fragments", accumulators},
      {of("load.c.sync.aligned.row.m16n16k8.f32"), "Products", tf32},
      {of("load.c.sync.aligned.row.m8n8k4.f64"), "Products", doubles},
      {of("load.c.sync.aligned.row.m8n8k32.s32"), "Products", nibbles},
      {of("store.d.sync.aligned.row.m16n16k16.f32"), "Products", half},
      {of("store.d.sync.aligned.row.m16n16k8.f32"), "Products", tf32},
      {of("store.d.sync.aligned.row.m8n8k4.f64"), "Products", doubles},
      {of("store.d.sync.aligned.row.m8n8k32.s32"), "Products", nibbles},
      {of("mma.sync.aligned.row.col.m16n16k16.f32.f32"), "Products", halves},
      {of("mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32"), "Products", bf16},
      {of("mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"), "Products", tf32},
      {of("mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"), "Products", bytes},
      {of("mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"), "DifferentTypes", differentTypes},
      {of("mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32"), "Products", nibbles},
      {of("mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"), "Products", doubles},
      {of("mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"), "Products", bits},
  };
}

}  // namespace shiftconv::tests::wmma_cases

namespace shiftconv::tests {
FormCases wmmaCases() { return wmma_cases::all(); }
}  // namespace shiftconv::tests
