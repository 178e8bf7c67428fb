// wgmma: open questions about its matrix descriptors, whose text those of tcgen05.mma share, and its arithmetic, the nearest to
// that of tcgen05 that can be run without a Blackwell GPU.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/operands.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings::wgmma_findings {
namespace {

template <class Number>
Number at(const std::vector<std::byte>& bytes, size_t offset) {
  Number value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string refusal(const Observation& seen) {
  return fmt::format("{}: {}", kOutcomeNames[static_cast<size_t>(seen.outcome)], seen.text);
}

/// Fields of a wgmma matrix descriptor but the start address, which the kernel adds: offsets are relative to %dyn.
struct Descriptor {
  uint32_t offset = 0, leading = 16, stride = 0, base = 0, swizzle = 0;
  uint64_t bits() const {
    return (uint64_t{leading >> 4 & 0x3FFF} << 16) | (uint64_t{stride >> 4 & 0x3FFF} << 32) | (uint64_t{base} << 49) |
           (uint64_t{swizzle} << 62);
  }
};

struct Multiply {
  Descriptor a, b;
};

struct Shape {
  std::string text;          ///< "m64n8k16.f32.f16.f16"
  uint32_t registers = 4;    ///< of D in each thread
  bool transposable = true;  ///< 16-bit operands take two transpose immediates
};

/// Loads an image into shared memory and the accumulators from a buffer, multiplies once per entry, stores D.
Program multiplications(const Shape& shape, const std::vector<std::byte>& image, const std::vector<std::byte>& accumulators,
                        const std::vector<Multiply>& list) {
  Program program("sm_90a");
  const size_t data = program.input(image), c = program.input(accumulators);
  const size_t out = program.output(list.size() * 128 * 4 * shape.registers);
  program.launch.dynamicShared = static_cast<uint32_t>(image.size());
  program.body = copyFromBuffer(0, static_cast<uint32_t>(image.size()), data) + "  fence.proxy.async;\n  bar.sync 0;\n" +
                 fmt::format(
                     "  mul.wide.u32 %rd0, %thread, {};\n  add.u64 %rd1, %rd0, %buf{};\n  add.u64 %rd2, %rd0, %buf{};\n  "
                     "setp.eq.u32 %p0, %thread, %thread;\n",
                     4 * shape.registers, c, out);
  std::string list4 = "{";
  for (uint32_t k = 0; k < shape.registers; ++k) list4 += fmt::format("{}%r{}", k ? ", " : "", k);
  list4 += "}";
  for (const Multiply& one : list) {
    for (uint32_t k = 0; k < shape.registers; ++k) program.body += fmt::format("  ld.global.b32 %r{0}, [%rd1+{1}];\n", k, 4 * k);
    const auto descriptor = [](const Descriptor& d, const char* reg) {
      return fmt::format(
          "  add.u32 %r40, %dyn, {};\n  and.b32 %r40, %r40, 0x3FFFF;\n  shr.u32 %r40, %r40, 4;\n  cvt.u64.u32 {}, %r40;\n  or.b64 "
          "{}, {}, {:#x};\n",
          d.offset, reg, reg, reg, d.bits());
    };
    program.body += descriptor(one.a, "%rd3") + descriptor(one.b, "%rd4");
    program.body += fmt::format(
        "  wgmma.fence.sync.aligned;\n  wgmma.mma_async.sync.aligned.{} {}, %rd3, %rd4, %p0, 1, 1{};\n  "
        "wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n",
        shape.text, list4, shape.transposable ? ", 0, 0" : "");
    for (uint32_t k = 0; k < shape.registers; ++k) program.body += fmt::format("  st.global.b32 [%rd2+{0}], %r{1};\n", 4 * k, k);
    program.body += fmt::format("  add.u64 %rd1, %rd1, {0};\n  add.u64 %rd2, %rd2, {0};\n", 128 * 4 * shape.registers);
  }
  return program;
}

uint16_t halfOf(unsigned value) {  // exact up to 2048
  if (value == 0) return 0;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  return static_cast<uint16_t>(((exponent + 15) << 10) | ((value << 10 >> exponent) & 1023));
}

void put(std::vector<std::byte>& image, uint32_t offset, uint16_t value) { std::memcpy(&image[offset], &value, 2); }

/// 8 x 16 identity without swizzle, K-major: core matrices of 128 bytes, the second of K after the first.
void putIdentity(std::vector<std::byte>& image, uint32_t offset, unsigned columns) {
  for (uint32_t n = 0; n < columns; ++n)
    for (uint32_t k = 0; k < 16; ++k) put(image, offset + n / 8 * 256 + k / 8 * 128 + n % 8 * 16 + k % 8 * 2, halfOf(n == k));
}

/// Element (row, column) of D of m64n16 f32 as stored by the kernel.
float elementOf(const Observation& seen, size_t index, uint32_t row, uint32_t column) {
  const uint32_t lane = row % 8 * 4 + column % 8 / 2, warp = row / 16, reg = column % 2 + row / 8 % 2 * 2 + column / 8 * 4;
  return at<float>(seen.bytes, index * 128 * 32 + (warp * 32 + lane) * 32 + 4 * reg);
}

constexpr uint32_t kIdentity = 16 * 1024, kPattern = 0;

/// Operand A of `span` bytes a row, K-major, written by the absolute XOR from `pattern`, minus that start where `relative`.
std::vector<std::byte> swizzledRows(uint32_t span, uint32_t start, uint32_t base) {
  std::vector<std::byte> image(kIdentity + 1024);
  for (uint32_t row = 0; row < 80; ++row)
    for (uint32_t k = 0; k < span / 2; ++k) {
      const uint32_t linear = start + row * span + 2 * k;
      const uint32_t mask = span / 16 - 1;
      const uint32_t physical = linear ^ ((((linear >> 7) - base) & mask) << 4);
      put(image, physical, halfOf(k < 16 ? row * 16 + k : 2047));  // the other K steps must not be taken for this one
    }
  putIdentity(image, kIdentity, 16);
  return image;
}

const Shape kF16Wide{"m64n16k16.f32.f16.f16", 8, true};
const std::vector<std::byte> kZeroAccumulators(128 * 32 * 128);

/// How many of the 64 x 16 elements are row `shift + r` of A.
unsigned correct(const Observation& seen, size_t index, uint32_t shift) {
  unsigned count = 0;
  for (uint32_t r = 0; r < 64; ++r)
    for (uint32_t n = 0; n < 16; ++n) count += elementOf(seen, index, r, n) == static_cast<float>((r + shift) * 16 + n);
  return count;
}

void addShifts(CaseList& cases) {
  for (const uint32_t span : {32u, 64u, 128u})
    cases.push_back({"finding", fmt::format("U-1c start moved by rows, {}B swizzle", span), [span] {
                       std::vector<Multiply> list;
                       const uint32_t mode = span == 128 ? 1 : span == 64 ? 2 : 3;
                       for (uint32_t s = 0; s <= 9; ++s)
                         list.push_back({{s * span, 16, 8 * span, 0, mode}, {kIdentity, 128, 256, 0, 0}});
                       Case made = multiplications(kF16Wide, swizzledRows(span, kPattern, 0), kZeroAccumulators, list).build();
                       made.finding = [](const Observation& seen) {
                         if (seen.outcome != Outcome::Ok) return refusal(seen);
                         std::string text = "elements of 1024 that equal A[r+s][k] with base offset 0:";
                         for (uint32_t s = 0; s <= 9; ++s) text += fmt::format(" s={}:{}", s, correct(seen, s, s));
                         return text;
                       };
                       return made;
                     }});
}

void addBaseOffsets(CaseList& cases) {
  cases.push_back({"finding", "U-2 base offset of a pattern that starts at T + 128 j", [] {
                     // The pattern is written relative to its own start, as the spec describes; which field value reads it?
                     std::vector<std::byte> image(8 * 16 * 1024);
                     Case made;
                     std::vector<Multiply> list;
                     image.resize(128 * 1024);
                     for (uint32_t j = 0; j < 8; ++j) {
                       const std::vector<std::byte> rows = swizzledRows(128, 128 * j, j);
                       std::copy(rows.begin(), rows.begin() + 80 * 128 + 1024,
                                 image.begin() + static_cast<ptrdiff_t>(j) * 12 * 1024);
                     }
                     putIdentity(image, 100 * 1024, 16);
                     for (uint32_t j = 0; j < 8; ++j)
                       for (uint32_t base = 0; base < 8; ++base)
                         list.push_back({{j * 12 * 1024 + 128 * j, 16, 1024, base, 1}, {100 * 1024, 128, 256, 0, 0}});
                     made = multiplications(kF16Wide, image, kZeroAccumulators, list).build();
                     made.finding = [](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       std::string text = "field values that read all 1024 elements:";
                       for (uint32_t j = 0; j < 8; ++j) {
                         text += fmt::format(" j={}:", j);
                         for (uint32_t base = 0; base < 8; ++base)
                           if (correct(seen, j * 8 + base, 0) == 1024) text += fmt::format(" {}", base);
                       }
                       return text;
                     };
                     return made;
                   }});
}

void addLeadingOffset(CaseList& cases) {
  cases.push_back({"finding", "U-3 leading byte offset of a swizzled K-major operand", [] {
                     const std::vector<uint32_t> fields{0, 1, 2, 64, 0x3FFF};
                     std::vector<Multiply> list;
                     for (const uint32_t field : fields) list.push_back({{0, field << 4, 1024, 0, 1}, {kIdentity, 128, 256, 0, 0}});
                     Case made = multiplications(kF16Wide, swizzledRows(128, kPattern, 0), kZeroAccumulators, list).build();
                     made.finding = [fields](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       std::string text = "correct elements of 1024 by field value:";
                       for (size_t i = 0; i < fields.size(); ++i) text += fmt::format(" {}:{}", fields[i], correct(seen, i, 0));
                       return text;
                     };
                     return made;
                   }});
}

/// Random products of one type, 16 multiplications of 64 x 8 sums each.
void addNumerics(CaseList& cases) {
  struct Type {
    std::string name;
    Shape shape;
    uint32_t bytes;
    Kind kind;
    bool halfResult;
  };
  const std::vector<Type> types{{"f16 to f32", {"m64n8k16.f32.f16.f16", 4, true}, 2, Kind::F16, false},
                                {"f16 to f16", {"m64n8k16.f16.f16.f16", 2, true}, 2, Kind::F16, true},
                                {"bf16 to f32", {"m64n8k16.f32.bf16.bf16", 4, true}, 2, Kind::BF16, false},
                                {"tf32 to f32", {"m64n8k8.f32.tf32.tf32", 4, false}, 4, Kind::F32, false},
                                {"e4m3 to f32", {"m64n8k32.f32.e4m3.e4m3", 4, false}, 1, Kind::E4M3x2, false},
                                {"e5m2 to f32", {"m64n8k32.f32.e5m2.e5m2", 4, false}, 1, Kind::E5M2x2, false},
                                {"e4m3 to f16", {"m64n8k32.f16.e4m3.e4m3", 2, false}, 1, Kind::E4M3x2, true}};
  for (const Type& type : types)
    cases.push_back({"wgmma numerics", "wgmma " + type.name, [type] {
                       constexpr uint32_t kTrials = 16, kA = 64 * 32, kB = 8 * 32;
                       Random random(kSuiteSeed ^ hashText(type.name));
                       std::vector<std::byte> image;
                       std::vector<Multiply> list;
                       for (uint32_t trial = 0; trial < kTrials; ++trial) {
                         list.push_back({{trial * (kA + kB), 128, 256, 0, 0}, {trial * (kA + kB) + kA, 128, 256, 0, 0}});
                         // Trials: ordinary values; edges mixed in; any bits.
                         for (uint32_t i = 0; i < (kA + kB) / bytesOf(type.kind); ++i) {
                           OperandSet set{};
                           if (trial % 4 == 3 && random.chance(4))
                             set = drawOperands({type.kind, Kind::I32}, 1, random.next(), {})[0];
                           else if (trial % 4 == 2 || bytesOf(type.kind) != type.bytes)
                             set[0] = random.next();
                           else
                             set[0] = random.next();
                           uint64_t bits = set[0];
                           // Keep exponents moderate in most trials, so that sums cancel instead of overflowing.
                           if (type.kind == Kind::F16 && trial % 4 < 2)
                             bits = (bits & 0x83FF) | ((10 + random.below(trial % 4 ? 14 : 5)) << 10);
                           if (type.kind == Kind::BF16 && trial % 4 < 3)
                             bits = (bits & 0x807F) | ((120 + random.below(trial % 4 ? 24 : 6)) << 7);
                           if (type.kind == Kind::F32 && trial % 4 < 3)
                             bits = (bits & 0x807FFFFF) | ((120 + random.below(trial % 4 ? 24 : 6)) << 23);
                           if (type.kind == Kind::E4M3x2 && trial % 4 < 3) bits &= trial % 4 == 0 ? 0xBFBF : 0xF7F7;
                           if (type.kind == Kind::E5M2x2 && trial % 4 < 3) bits &= trial % 4 == 0 ? 0xBFBF : 0xFBFB;
                           for (unsigned k = 0; k < bytesOf(type.kind); ++k)
                             image.push_back(static_cast<std::byte>(bits >> (8 * k)));
                         }
                       }
                       std::vector<std::byte> accumulators;
                       for (uint32_t trial = 0; trial < kTrials; ++trial)
                         for (uint32_t i = 0; i < 128 * type.shape.registers; ++i) {
                           uint64_t bits = random.next();
                           if (type.halfResult)
                             bits = (bits & 0x83FF83FF) | (random.below(24) << 10) | (random.below(24) << 26);
                           else
                             bits = (bits & 0x807FFFFF) | ((110 + random.below(40)) << 23);
                           if (trial % 2 == 0 && random.chance(50)) bits = 0;
                           for (unsigned k = 0; k < 4; ++k) accumulators.push_back(static_cast<std::byte>(bits >> (8 * k)));
                         }
                       Case made = multiplications(type.shape, image, accumulators, list).build();
                       return made;
                     }});
}

}  // namespace

void addAll(CaseList& cases) {
  addShifts(cases);
  addBaseOffsets(cases);
  addLeadingOffset(cases);
  addNumerics(cases);
}

}  // namespace shiftconv::recordings::wgmma_findings

namespace shiftconv::recordings {
void addWgmmaFindings(CaseList& cases) { wgmma_findings::addAll(cases); }
}  // namespace shiftconv::recordings
