// Which bits of which lane's metadata mma.sp reads for which elements of A: asked of the machine bit by bit, and compared with what
// is written down here.
//
// PTX ISA 9.0, 9.7.14.6.1, says in words how many chunks a thread's register has and which threads of four the selector names.
// Which rows and columns are whose is drawn in figures 119 to 142. For 16 and 32 bits, and for m16n8k64 of 8 bits, the rows below
// also follow from the order in which CUTLASS's host_reorder.h hands metadata to ldmatrix, and are what was measured on an sm_89
// for a public fork of Triton. Those of pairs of threads with 8 and 4 bits, and those of m16n8k128, have the same order for fewer,
// or wider, chunks: nobody has measured them in public.
#include <array>
#include <bit>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::sparse_metadata_cases {
namespace {

/// Of the threads 0 to 3 of a group g: what its 32 bits, low to high, are of, as rows and columns of A, or of its halves; "" when
/// nothing is read.
struct MetadataTable {
  const char* types;  ///< "f32.f16.f16.f32"
  unsigned depth;
  unsigned selector;
  std::array<const char*, 4> threads;
};

const MetadataTable kMetadataTables[] = {
    {"f32.f16.f16.f32", 16, 0, {"g:0-15 g+8:0-15", "", "", ""}},
    {"f32.f16.f16.f32", 16, 1, {"", "g:0-15 g+8:0-15", "", ""}},
    {"f32.f16.f16.f32", 16, 2, {"", "", "g:0-15 g+8:0-15", ""}},
    {"f32.f16.f16.f32", 16, 3, {"", "", "", "g:0-15 g+8:0-15"}},
    {"f32.f16.f16.f32", 32, 0, {"g:0-15 g+8:0-15", "g:16-31 g+8:16-31", "", ""}},
    {"f32.f16.f16.f32", 32, 1, {"", "", "g:0-15 g+8:0-15", "g:16-31 g+8:16-31"}},
    {"f32.bf16.bf16.f32", 16, 2, {"", "", "g:0-15 g+8:0-15", ""}},
    {"f32.bf16.bf16.f32", 32, 1, {"", "", "g:0-15 g+8:0-15", "g:16-31 g+8:16-31"}},
    {"f32.tf32.tf32.f32", 8, 0, {"g:0-7 g+8:0-7", "", "", ""}},
    {"f32.tf32.tf32.f32", 8, 3, {"", "", "", "g:0-7 g+8:0-7"}},
    {"f32.tf32.tf32.f32", 16, 0, {"g:0-7 g+8:0-7", "g:8-15 g+8:8-15", "", ""}},
    {"f32.tf32.tf32.f32", 16, 1, {"", "", "g:0-7 g+8:0-7", "g:8-15 g+8:8-15"}},
    {"s32.s8.s8.s32", 32, 0, {"g:0-31", "g+8:0-31", "", ""}},
    {"s32.u8.u8.s32", 32, 1, {"", "", "g:0-31", "g+8:0-31"}},
    {"s32.s8.s8.s32", 64, 0, {"g:0-31", "g+8:0-31", "g:32-63", "g+8:32-63"}},
    {"f32.e4m3.e4m3.f32", 64, 0, {"g:0-31", "g+8:0-31", "g:32-63", "g+8:32-63"}},
    {"f32.e5m2.e5m2.f32", 64, 0, {"g:0-31", "g+8:0-31", "g:32-63", "g+8:32-63"}},
    {"s32.s4.s4.s32", 64, 0, {"g:0-63", "g+8:0-63", "", ""}},
    {"s32.u4.u4.s32", 64, 1, {"", "", "g:0-63", "g+8:0-63"}},
    {"s32.s4.s4.s32", 128, 0, {"g:0-63", "g+8:0-63", "g:64-127", "g+8:64-127"}},
};

struct Ones {
  unsigned bits;
  uint32_t word;  ///< of ones
};
Ones onesOf(std::string_view types) {
  for (const auto& [name, ones] : std::initializer_list<std::pair<const char*, Ones>>{{".f16", {16, 0x3c003c00}},
                                                                                      {".bf16", {16, 0x3f803f80}},
                                                                                      {".tf32", {32, 0x3f800000}},
                                                                                      {".e4m3", {8, 0x38383838}},
                                                                                      {".e5m2", {8, 0x3c3c3c3c}},
                                                                                      {"8.", {8, 0x01010101}}})
    if (types.find(name) != std::string_view::npos) return ones;
  return {4, 0x11111111};
}

/// Rows and columns in the words of the tables: "g:0-15 g+8:0-15" for chunks of `width` columns, of four bits each.
std::string wordsFor(const std::vector<std::pair<unsigned, unsigned>>& chunks, unsigned width) {
  std::string text;
  for (size_t i = 0; i < chunks.size();) {
    size_t end = i + 1;
    while (end < chunks.size() && chunks[end].first == chunks[i].first && chunks[end].second == chunks[end - 1].second + 1) ++end;
    text += fmt::format("{}{}:{}-{}", i == 0 ? "" : " ", chunks[i].first == 0 ? "g" : "g+8", chunks[i].second * width,
                        (chunks[end - 1].second + 1) * width - 1);
    i = end;
  }
  return text;
}

/// Metadata keep the first half of every chunk, but for one chunk: these four bits are read where a sum changes. Of a chunk, column
/// 0 of B has ones in the second half and nothing in the first, and columns 1 to 4 the same where the chunk's number has bits 0
/// to 3.
void expectMetadata(FormRun& run, const MetadataTable& table) {
  SCOPED_TRACE(fmt::format("{} m16n8k{} selector {}", table.types, table.depth, table.selector));
  const Ones ones = onesOf(table.types);
  const unsigned width = ones.bits == 32  ? 2
                         : ones.bits == 4 ? 8
                                          : 4,
                 each = 32 / ones.bits, registers = table.depth * ones.bits / 128;
  constexpr unsigned kTrials = 4 * 8, kResults = 4 * 32;  // trials: of the threads of the group, for every four bits
  std::vector<uint32_t> words(4 * 32 + kTrials * kResults);
  for (unsigned k = 0; k < table.depth; ++k)
    for (unsigned column = 0; column < 5; ++column) {
      const bool isOne = k % width >= width / 2 && (column == 0 || (k / width >> (column - 1) & 1) != 0);
      const uint32_t mask = ones.bits == 32 ? UINT32_MAX : (1u << ones.bits) - 1;
      if (isOne) words[k / (4 * each) * 32 + column * 4 + k / each % 4] |= (ones.word & mask) << ones.bits * (k % each);
    }
  const auto list = [](const char* prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, i);
    return text + "}";
  };
  std::string body = ".reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %m<4>;\nand.b32 %m1, %r1, 3; mov.u32 %m2, 0;\n";
  for (unsigned i = 0; i < 4; ++i)
    body += fmt::format("ld.global.u32 %b{}, [%rd2+{}]; mov.u32 %a{}, {}; mov.u32 %c{}, 0;\n", i, 128 * i, i, ones.word, i);
  // Trial m2: the thread m2 / 8 of every group changes four bits, from 0b0100 to 0b1110.
  body += fmt::format(
      "TRIAL: shr.u32 %m3, %m2, 3; setp.eq.u32 %p1, %m3, %m1; and.b32 %m3, %m2, 7; shl.b32 %m3, %m3, 2; shl.b32 %m3, 10, %m3;\n"
      "mov.u32 %m0, 0x44444444; @%p1 xor.b32 %m0, %m0, %m3;\n"
      "mma.sp::ordered_metadata.sync.aligned.m16n8k{}.row.col.{} {}, {}, {}, {}, %m0, {};\n",
      table.depth, table.types, list("%d", 4), list("%a", registers), list("%b", registers), list("%c", 4), table.selector);
  for (unsigned i = 0; i < 4; ++i) body += fmt::format("st.global.u32 [%rd2+{}], %d{};\n", 512 + 128 * i, i);
  body += fmt::format("add.u64 %rd2, %rd2, 512; add.u32 %m2, %m2, 1; setp.lt.u32 %p2, %m2, {}; @%p2 bra TRIAL;\n", kTrials);
  const auto out = runModule(run, kernel(body), threads(32), words.size(), words);

  const auto sumAt = [&](unsigned trial, unsigned row, unsigned column) {
    const uint32_t word = out[4 * 32 + trial * kResults + (row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2];
    return std::string_view(table.types).starts_with("f32") ? static_cast<int>(std::bit_cast<float>(word)) : static_cast<int>(word);
  };
  const int changed = static_cast<int>(width / 2);
  for (unsigned thread = 0; thread < 4; ++thread)
    for (unsigned group = 0; group < 8; ++group) {
      std::vector<std::pair<unsigned, unsigned>> chunks;
      for (unsigned bits = 0; bits < 8; ++bits)
        for (const unsigned half : {0u, 8u}) {
          const unsigned trial = 8 * thread + bits, row = group + half;
          const int sum = sumAt(trial, row, 0);
          if (sum == 0) continue;
          ASSERT_EQ(sum, changed) << "one chunk of row " << row;
          unsigned chunk = 0;
          for (unsigned bit = 0; bit < 4; ++bit) chunk |= static_cast<unsigned>(sumAt(trial, row, 1 + bit) == changed) << bit;
          chunks.emplace_back(half, chunk);
        }
      EXPECT_EQ(wordsFor(chunks, width), table.threads[thread]) << "thread " << thread << " of group " << group;
    }
}

/// The tables whose types begin so.
FormCase metadataCase(const char* opcode, std::vector<std::string_view> beginnings) {
  return {formOf(opcode), "Metadata", [beginnings](FormRun& run) {
            for (const std::string_view beginning : beginnings) {
              unsigned count = 0;
              for (const MetadataTable& table : kMetadataTables) {
                if (!std::string_view(table.types).starts_with(beginning)) continue;
                expectMetadata(run, table);
                ++count;
              }
              EXPECT_NE(count, 0u) << beginning;
            }
          }};
}

}  // namespace

FormCases all() {
  return {metadataCase("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {"f32.f16"}),
          metadataCase("mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {"f32.bf16"}),
          metadataCase("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", {"f32.tf32"}),
          metadataCase("mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32", {"f32.e4m3", "f32.e5m2"}),
          metadataCase("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", {"s32.s8", "s32.u8"}),
          metadataCase("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", {"s32.s4", "s32.u4"})};
}

}  // namespace shiftconv::tests::sparse_metadata_cases

namespace shiftconv::tests {
FormCases sparseMetadataCases() { return sparse_metadata_cases::all(); }
}  // namespace shiftconv::tests
