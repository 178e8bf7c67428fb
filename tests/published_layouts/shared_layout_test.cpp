// Canonical layouts of MMA operands in shared memory: PTX ISA 9.0, 9.7.16.3 and 9.7.16.4.1 (descriptor). Operands are written by
// the formulas of the text, stated per row: a swizzled atom is 8 rows of 32, 64 or 128 bytes in which the 16-byte pieces of a row
// change places by XOR with the number of the 128-byte line they lie in. Then they are multiplied.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/published_layouts/single_mma.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {
namespace {

struct Swizzle {
  const char* name;
  uint32_t code;   ///< bits 63:61
  uint32_t pitch;  ///< bytes of a row of an atom
  uint32_t unit;   ///< bytes of the pieces that change places; 0: none do
  uint32_t lines;  ///< rows of an atom along K, MN-major
};
const Swizzle kNone{"none", 0, 16, 0, 8}, kBytes32{"32B", 6, 32, 16, 8}, kBytes64{"64B", 4, 64, 16, 8},
    kBytes128{"128B", 2, 128, 16, 8}, kAtom32{"128B with 32B atoms", 1, 128, 32, 4};

/// Byte `byte` of row `line` of an atom.
uint32_t inAtom(const Swizzle& swizzle, uint32_t line, uint32_t byte) {
  const uint32_t at = line * swizzle.pitch + byte;
  if (swizzle.unit == 0) return at;
  const uint32_t pieces = swizzle.pitch / swizzle.unit;
  const uint32_t piece = byte / swizzle.unit, lineOf128 = at / 128;
  return line * swizzle.pitch + (piece ^ lineOf128 % pieces) * swizzle.unit + byte % swizzle.unit;
}

/// One operand: where element (row along M or N, k) of `bytes` bytes lies, relative to the start of the operand.
struct Operand {
  const Swizzle& swizzle;
  bool mnMajor;
  uint32_t bytes, leading, stride;
  uint32_t farther = 0;  ///< K-major: bytes to the next atom along K

  uint32_t at(uint32_t row, uint32_t k) const {
    const uint32_t perAtom = swizzle.pitch / bytes;
    if (!mnMajor) {
      const uint32_t byte = k * bytes;
      if (swizzle.unit == 0) return row % 8 * 16 + row / 8 * stride + byte / 16 * leading + byte % 16;
      return row / 8 * stride + byte / swizzle.pitch * farther + inAtom(swizzle, row % 8, byte % swizzle.pitch);
    }
    const uint32_t lines = k % swizzle.lines, next = k / swizzle.lines;
    // The two offsets change roles without swizzle.
    const uint32_t alongK = swizzle.unit == 0 ? leading : stride, alongMn = swizzle.unit == 0 ? stride : leading;
    return row / perAtom * alongMn + next * alongK + inAtom(swizzle, lines, row % perAtom * bytes);
  }
  /// Bytes between the start addresses of the descriptors of instruction i and of the first one.
  uint32_t advance(uint32_t instruction, uint32_t depth) const {
    const uint32_t k = instruction * depth;
    if (mnMajor) return k / swizzle.lines * (swizzle.unit == 0 ? leading : stride);
    const uint32_t byte = k * bytes;
    return swizzle.unit == 0 ? byte / 16 * leading : byte / swizzle.pitch * farther + byte % swizzle.pitch;
  }
};

struct LayoutCase {
  std::string name;
  const Kind* kind;
  uint32_t m, n, instructions;
  Operand a, b;
};

constexpr uint32_t kBStart = 40 * 1024;

void expectProduct(const LayoutCase& test) {
  SCOPED_TRACE(test.name);
  const Kind& kind = *test.kind;
  const ElementType& type = kind.types.front();
  const uint32_t depth = kind.depth * test.instructions;
  // Bytes that belong to no element must not matter.
  std::vector<std::byte> image(64 * 1024, std::byte{0x5e});
  std::vector<bool> used(image.size());
  const auto put = [&](uint32_t at, int value) {
    const uint32_t bits = type.encode(value), bytes = type.bits / 8;
    ASSERT_LE(at + bytes, image.size());
    for (uint32_t i = 0; i < bytes; ++i) {
      ASSERT_FALSE(used[at + i]) << "the layout of the test puts two elements at " << at;
      used[at + i] = true;
    }
    std::memcpy(image.data() + at, &bits, bytes);
  };
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t m = 0; m < test.m; ++m) put(test.a.at(m, k), element(kMatrixA, m, k));
    for (uint32_t n = 0; n < test.n; ++n) put(kBStart + test.b.at(n, k), element(kMatrixB, n, k));
  }
  if (testing::Test::HasFatalFailure()) return;

  SingleMma shape{.kind = test.kind, .m = test.m, .n = test.n, .accumulator = kind.accumulators.front()};
  shape.flippedBits = uint32_t{test.a.mnMajor} << 15 | uint32_t{test.b.mnMajor} << 16;
  std::string body = fillCells(kDumpedColumns) + clusterBarrier() +
                     fmt::format("  mov.u32 %r1, {:#x};\n  setp.ne.u32 %p2, 0, 0;\n", shape.instructionDescriptor());
  for (uint32_t i = 0; i < test.instructions; ++i) {
    body += fmt::format(
        "  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n"
        "  @%issuer tcgen05.mma.cta_group::1.kind::{} [%tmem], %rd1, %rd2, %r1, {};\n",
        descriptorBits(test.a.advance(i, kind.depth), test.a.leading, test.a.stride, test.a.swizzle.code),
        descriptorBits(kBStart + test.b.advance(i, kind.depth), test.b.leading, test.b.stride, test.b.swizzle.code), kind.name,
        i == 0 ? "%p2" : "!%p2");
  }
  body += commitAndWait(0) + dumpCells(kDumpedColumns);
  const TensorKernel kernel{.body = body, .input = image, .outputWords = 128 * kDumpedColumns};
  emulator::Emulator machine;
  expectAccumulators(shape, kernel.run(machine, withHazardChecks()),
                     [&](uint32_t m, uint32_t n) { return static_cast<float>(product(m, n, depth)); });
}

uint32_t bytesOf(const Kind& kind) { return kind.types.front().bits / 8; }

TEST(CoreMatrices, KMajorWithoutSwizzle) {
  for (const Kind* kind : {&kF16, &kTf32, &kF8f6f4, &kI8}) {
    const uint32_t bytes = bytesOf(*kind);
    // Chunks of 8 rows side by side, or all rows of a chunk in one piece, or with gaps.
    for (const auto& [leading, stride] : {std::pair{128u, 512u}, {2048u, 128u}, {2064u, 128u}, {144u, 592u}}) {
      expectProduct({fmt::format("{} LBO {} SBO {}", kind->name, leading, stride),
                     kind,
                     128,
                     48,
                     2,
                     {kNone, false, bytes, leading, stride},
                     {kNone, false, bytes, 128, 512}});
      expectProduct({fmt::format("{} B with LBO {} SBO {}", kind->name, leading, stride),
                     kind,
                     64,
                     128,
                     2,
                     {kNone, false, bytes, 128, 512},
                     {kNone, false, bytes, leading, stride}});
    }
  }
}

TEST(SwizzleAtoms, KMajor) {
  for (const Kind* kind : {&kF16, &kTf32, &kF8f6f4, &kI8}) {
    const uint32_t bytes = bytesOf(*kind);
    for (const Swizzle* swizzle : {&kBytes32, &kBytes64, &kBytes128}) {
      const uint32_t atom = 8 * swizzle->pitch;
      // All instructions that an atom holds, and those of a second atom along K.
      const uint32_t instructions = 2 * swizzle->pitch / 32;
      const uint32_t groupsA = 128 / 8, groupsB = 64 / 8;
      const auto name = [&](const char* what) { return fmt::format("{} {} {}", kind->name, swizzle->name, what); };
      // 8-row groups next to each other, atoms along K after all of them.
      expectProduct({name("dense"),
                     kind,
                     128,
                     64,
                     instructions,
                     {*swizzle, false, bytes, 16, atom, groupsA * atom},
                     {*swizzle, false, bytes, 16, atom, groupsB * atom}});
      // Atoms along K next to each other; a leading offset that means nothing here.
      expectProduct({name("interleaved"),
                     kind,
                     128,
                     64,
                     instructions,
                     {*swizzle, false, bytes, 4096, 2 * atom, atom},
                     {*swizzle, false, bytes, 0, 3 * atom, atom}});
    }
  }
}

TEST(CoreMatrices, MnMajorWithoutSwizzle) {
  for (const Kind* kind : {&kF16, &kF8f6f4, &kI8}) {
    const uint32_t bytes = bytesOf(*kind), perChunk = 16 / bytes;
    for (const auto& [m, n] : {std::pair{128u, 64u}, {64u, 32u}}) {
      // Core matrices along MN next to each other, and with the next 8 K next to each other and gaps.
      const uint32_t depth = 2 * kind->depth;
      expectProduct({fmt::format("{} M {} N {} MN first", kind->name, m, n),
                     kind,
                     m,
                     n,
                     2,
                     {kNone, true, bytes, 128 * (m / perChunk), 128},
                     {kNone, true, bytes, 128 * (n / perChunk), 128}});
      expectProduct({fmt::format("{} M {} N {} K first", kind->name, m, n),
                     kind,
                     m,
                     n,
                     2,
                     {kNone, true, bytes, 128, 128 * (depth / 8) + 16},
                     {kNone, true, bytes, 144, 144 * (depth / 8)}});
    }
  }
}

TEST(SwizzleAtoms, MnMajor) {
  for (const Kind* kind : {&kF16, &kF8f6f4, &kI8, &kTf32}) {
    const uint32_t bytes = bytesOf(*kind);
    for (const Swizzle* swizzle : {&kBytes32, &kBytes64, &kBytes128, &kAtom32}) {
      if ((kind == &kTf32) != (swizzle == &kAtom32)) continue;  // table 52: 32-byte atoms for tf32 and only for it
      const uint32_t atom = swizzle->lines * swizzle->pitch, perAtom = swizzle->pitch / bytes;
      const uint32_t m = 128, n = 128, depth = 2 * kind->depth;
      expectProduct({fmt::format("{} {} MN first", kind->name, swizzle->name),
                     kind,
                     m,
                     n,
                     2,
                     {*swizzle, true, bytes, atom, atom * (m / perAtom)},
                     {*swizzle, true, bytes, atom, atom * (n / perAtom)}});
      // Swizzle atoms start at multiples of the repeating pattern: 1024 bytes with 128B, which two 32-byte-atom rows fill.
      const uint32_t space = 1024;
      if (space * (depth / swizzle->lines) * (m / perAtom) > kBStart / 2) continue;
      expectProduct({fmt::format("{} {} K first", kind->name, swizzle->name),
                     kind,
                     m,
                     n,
                     2,
                     {*swizzle, true, bytes, space * (depth / swizzle->lines), space},
                     {*swizzle, true, bytes, space * (depth / swizzle->lines), space}});
    }
  }
}

/// One operand each way: the two transpose bits are independent.
TEST(SwizzleAtoms, MixedMajorness) {
  expectProduct(
      {"A MN-major 128B, B K-major 64B", &kF16, 128, 64, 2, {kBytes128, true, 2, 1024, 2048}, {kBytes64, false, 2, 16, 512, 4096}});
  expectProduct(
      {"A K-major 32B, B MN-major 64B", &kF8f6f4, 64, 64, 2, {kBytes32, false, 1, 16, 256, 4096}, {kBytes64, true, 1, 512, 512}});
}

}  // namespace
}  // namespace shiftconv::tests::layouts
