// ldmatrix, stmatrix, movmatrix: every element followed from its place in the matrix to its place in the warp, as the
// figures of PTX ISA 9.0, 9.7.14.5.15 to 9.7.14.5.17 have it (the code under test goes the other way).
#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests {
namespace {

constexpr unsigned kWords = 128;  // four registers of 32 lanes, or 32 rows of 16 bytes
const std::string kScope = ".shared .align 16 .b8 s[512];";

/// Row l of 16 bytes is at this offset of the shared array: rows need not be in order.
unsigned rowOffset(unsigned lane) { return (13 * lane + 5) % 32 * 16; }

/// %r2 the array, %r3 = %r2 + 16 tid, %rd3 = the thread's four words of the global array, which are in %r4..%r7;
/// %r8 = address of the thread's row (rubbish from `rows` on: it must be ignored), %rd6 the same, generic.
std::string begin(unsigned rows) {
  return fmt::format(
      "mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 16, %r2; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3;"
      "ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd3]; mad.lo.u32 %r8, %r1, 13, 5; and.b32 %r8, %r8, 31;"
      "mad.lo.u32 %r8, %r8, 16, %r2; setp.ge.u32 %p1, %r1, {}; @%p1 mov.u32 %r8, 0xfffffff3; cvt.u64.u32 %rd5, %r8;"
      "cvta.shared.u64 %rd6, %rd5; ",
      rows);
}

/// %r8 = address of the thread's row, all of them in order.
const std::string kRows = "mov.u32 %r2, s; mad.lo.u32 %r8, %r1, 16, %r2; ";

std::vector<uint32_t> randomWords(FormRun& run) {
  std::vector<uint32_t> words(kWords);
  for (uint32_t& word : words) word = static_cast<uint32_t>(run.random());
  return words;
}

uint32_t byteOf(const std::vector<uint32_t>& words, size_t byte) { return words[byte / 4] >> 8 * (byte % 4) & 0xff; }

/// Element (row, column) of a matrix is `byte` of register `reg` of lane `lane`.
struct InWarp {
  unsigned reg, lane, byte;
};

struct Shape {
  const char* name;
  unsigned rows, columns, elementBytes, registers;  ///< of one matrix
  unsigned most;                                    ///< matrices of one instruction
  InWarp (*place)(unsigned row, unsigned column);
  unsigned packedBits = 0;  ///< not 0: values of so many bits, which a row begins with
};

const Shape kPlain{"m8n8.x{}{}.b16",
                   8,
                   8,
                   2,
                   1,
                   4,
                   [](unsigned row, unsigned column) {
                     return InWarp{0, 4 * row + column / 2, 2 * (column % 2)}; }};
const Shape kTransposed{"m8n8.x{}.trans{}.b16", 8, 8, 2, 1, 4, [](unsigned row, unsigned column) {
                          return InWarp{0, 4 * column + row / 2, 2 * (row % 2)};
                        }};
const Shape kLoadedBytes{"m16n16.x{}.trans{}.b8", 16, 16, 1, 2, 2, [](unsigned row, unsigned column) {
                           return InWarp{column / 8, 4 * (column % 8) + row / 4, row % 4};
                         }};
const Shape kNibbles{"m8n16.x{}{}.b8x16.b4x16_p64",
                     8,
                     16,
                     1,
                     1,
                     4,
                     [](unsigned row, unsigned column) {
                       return InWarp{0, 4 * row + column / 4, column % 4};
                     },
                     4};
const Shape kSixBits{"m8n16.x{}{}.b8x16.b6x16_p32", 8, 16, 1, 1, 4, kNibbles.place, 6};
const Shape kTransposedNibbles{"m16n16.x{}.trans{}.b8x16.b4x16_p64", 16, 16, 1, 2, 2, kLoadedBytes.place, 4};
const Shape kTransposedSixBits{"m16n16.x{}.trans{}.b8x16.b6x16_p32", 16, 16, 1, 2, 2, kLoadedBytes.place, 6};
const Shape kStoredBytes{"m16n8.x{}.trans{}.b8", 8, 16, 1, 1, 4, [](unsigned row, unsigned column) {
                           return InWarp{0, 4 * (column % 8) + row / 2, row % 2 + 2 * (column / 8)};
                         }};

const char* const kSpaces[] = {"", ".shared", ".shared::cta"};

std::string instruction(const char* opcode, const Shape& shape, unsigned matrices, std::string_view space) {
  return fmt::format("{}.sync.aligned.{}", opcode, fmt::format(fmt::runtime(shape.name), matrices, space));
}

std::string registers(unsigned count) {
  std::string list = "{%r4";
  for (unsigned i = 1; i < count; ++i) list += fmt::format(", %r{}", 4 + i);
  return list + "}";
}

/// Calls check(offset in shared memory, register, lane, byte) for every byte of every element.
template <class Check>
void forEachByte(const Shape& shape, unsigned matrices, Check&& check) {
  for (unsigned matrix = 0; matrix < matrices; ++matrix)
    for (unsigned row = 0; row < shape.rows; ++row)
      for (unsigned column = 0; column < shape.columns; ++column)
        for (unsigned byte = 0; byte < shape.elementBytes; ++byte) {
          const InWarp at = shape.place(row, column);
          check(rowOffset(shape.rows * matrix + row) + shape.elementBytes * column + byte, shape.registers * matrix + at.reg,
                at.lane, at.byte + byte);
        }
}

void loads(FormRun& run, const Shape& shape) {
  for (unsigned matrices = 1; matrices <= shape.most; matrices *= 2)
    for (const char* space : kSpaces) {
      const unsigned count = shape.registers * matrices;
      const std::string text = instruction("ldmatrix", shape, matrices, space);
      const auto words = randomWords(run);
      const auto out =
          runModule(run,
                    kernel(begin(shape.rows * matrices) + "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7}; bar.warp.sync -1; " +
                               fmt::format("{} {}, [{}]; ", text, registers(count), *space == 0 ? "%rd6" : "%r8") +
                               "st.global.v4.u32 [%rd3+512], {%r4, %r5, %r6, %r7};",
                           kScope),
                    threads(32), 2 * kWords, words);
      forEachByte(shape, matrices, [&](unsigned offset, unsigned reg, unsigned lane, unsigned byte) {
        uint32_t expected = byteOf(words, offset);
        if (shape.packedBits != 0) {
          expected = 0;
          for (unsigned i = 0; i < shape.packedBits; ++i) {
            const unsigned bit = 8 * (offset / 16 * 16) + offset % 16 * shape.packedBits + i;
            expected |= (words[bit / 32] >> bit % 32 & 1) << i;
          }
        }
        ASSERT_EQ(byteOf(out, 512 + 16 * lane + 4 * reg + byte), expected)
            << text << " register " << reg << " lane " << lane << " byte " << byte;
      });
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = count; reg < 4; ++reg) ASSERT_EQ(out[kWords + 4 * lane + reg], words[4 * lane + reg]) << text;
    }
}

void stores(FormRun& run, const Shape& shape) {
  for (unsigned matrices = 1; matrices <= shape.most; matrices *= 2)
    for (const char* space : kSpaces) {
      const unsigned count = shape.registers * matrices;
      const std::string text = instruction("stmatrix", shape, matrices, space);
      const auto words = randomWords(run);
      const auto out = runModule(
          run,
          kernel(begin(shape.rows * matrices) +
                     "mov.u32 %r9, 0x5a5a5a5a; st.shared.v4.u32 [%r3], {%r9, %r9, %r9, %r9}; bar.warp.sync -1; " +
                     fmt::format("{} [{}], {}; ", text, *space == 0 ? "%rd6" : "%r8", registers(count)) +
                     "bar.warp.sync -1; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3]; st.global.v4.u32 [%rd3+512], {%r4, %r5, %r6, "
                     "%r7};",
                 kScope),
          threads(32), 2 * kWords, words);
      std::vector<bool> written(512);
      forEachByte(shape, matrices, [&](unsigned offset, unsigned reg, unsigned lane, unsigned byte) {
        written[offset] = true;
        ASSERT_EQ(byteOf(out, 512 + offset), byteOf(words, 16 * lane + 4 * reg + byte))
            << text << " register " << reg << " lane " << lane << " byte " << byte;
      });
      for (unsigned offset = 0; offset < 512; ++offset) {
        if (!written[offset]) {
          ASSERT_EQ(byteOf(out, 512 + offset), 0x5au) << text << " at " << offset;
        }
      }
    }
}

void halfLoads(FormRun& run) {
  loads(run, kPlain);
  loads(run, kTransposed);
}
void byteLoads(FormRun& run) { loads(run, kLoadedBytes); }
void packedLoads(FormRun& run) {
  loads(run, kNibbles);
  loads(run, kSixBits);
  // Rows are aligned with their padding.
  expectRefused(run, kRows + "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r4}, [%r8+8];", "multiple of 16", kScope);
}
void transposedPackedLoads(FormRun& run) {
  loads(run, kTransposedNibbles);
  loads(run, kTransposedSixBits);
}
void halfStores(FormRun& run) {
  stores(run, kPlain);
  stores(run, kTransposed);
}
void byteStores(FormRun& run) { stores(run, kStoredBytes); }

void refusals(FormRun& run) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 ";
  expectRefused(run, load + "{%r4}, [s];", "2 registers are expected", kScope);
  expectRefused(run, "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r4}, [s];", "2 registers are expected", kScope);
  expectRefused(run, "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r4, %r5}, [s];", "not supported", kScope);
  expectRefused(run, "ldmatrix.sync.aligned.m8n8.x1.b8 {%r4}, [s];", "not supported", kScope);
  expectRefused(run, kRows + load + "{%r4, %r5}, [%r8+4];", "multiple of 16", kScope);
  expectRefused(run, "ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%rd1];", "not in shared memory", kScope);
  expectRefused(run, load + "{%r4, %r5}, [s];", "all 32 lanes", kScope, threads(16));
}

void transposes(FormRun& run) {
  const Lanes a = run.randomLanes();
  for (const char* registers : {"%d32, %a32", "%d32, %d32"}) {
    const Lanes d = run.lanes(
        fmt::format("mov.b32 %d32, %a32; movmatrix.sync.aligned.m8n8.trans.b16 {}; mov.b64 %d, {{%d32, 0}};", registers), a);
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column)
        ASSERT_EQ(d[4 * row + column / 2] >> 16 * (column % 2) & 0xffff, a[4 * column + row / 2] >> 16 * (row % 2) & 0xffff)
            << "row " << row << " column " << column;
  }
}

}  // namespace

FormCases matrixCases() {
  const auto halves = formOf("ldmatrix.sync.aligned.m8n8.x1.b16");
  return {
      {halves, "plain_and_transposed", halfLoads},
      {halves, "refusals", refusals},
      {formOf("ldmatrix.sync.aligned.m16n16.x1.trans.b8"), "bytes", byteLoads},
      {formOf("ldmatrix.sync.aligned.m8n16.x1.b8x16.b4x16_p64"), "packed", packedLoads},
      {formOf("ldmatrix.sync.aligned.m16n16.x1.trans.b8x16.b4x16_p64"), "packed", transposedPackedLoads},
      {formOf("stmatrix.sync.aligned.m8n8.x1.b16"), "plain_and_transposed", halfStores},
      {formOf("stmatrix.sync.aligned.m16n8.x1.trans.b8"), "bytes", byteStores},
      {formOf("movmatrix.sync.aligned.m8n8.trans.b16"), "transposes", transposes},
  };
}

}  // namespace shiftconv::tests
