// ldmatrix, stmatrix, movmatrix with random row addresses (PTX ISA 9.0, 9.7.14.5.15-17).
#include <fmt/format.h>

#include <cstring>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/operands.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings::matrix_cases {
namespace {

constexpr uint32_t kArea = 4096;
constexpr uint32_t kRounds = 4;

std::string registers(unsigned count, unsigned first) {
  std::string text = "{";
  for (unsigned k = 0; k < count; ++k) text += fmt::format("{}%r{}", k ? ", " : "", first + k);
  return text + "}";
}

/// Byte offsets of 16-byte rows, for every lane and round; all different when rows are written.
std::vector<std::byte> rowOffsets(uint64_t seed) {
  Random random(kSuiteSeed ^ seed);
  std::vector<uint32_t> rows(kArea / 16);
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = 16 * i;
  for (size_t i = rows.size(); i-- > 1;) std::swap(rows[i], rows[random.below(i + 1)]);
  std::vector<std::byte> bytes(32 * kRounds * 4);
  std::memcpy(bytes.data(), rows.data(), bytes.size());
  return bytes;
}

/// %r20 = address of the row of this lane in round `round`.
std::string rowAddress(size_t buffer, uint32_t round) {
  return fmt::format(
      "  mul.wide.u32 %rd1, %lane, 4;\n  add.u64 %rd1, %rd1, %buf{};\n  ld.global.b32 %r20, [%rd1+{}];\n  add.u32 %r20, %r20, "
      "%dyn;\n",
      buffer, round * 128);
}

Case load(unsigned count, const std::string& transposed, const std::string& space) {
  Program program;
  const size_t data = program.input(noise(kArea, 11)), rows = program.input(rowOffsets(count)),
               out = program.output(32 * 4 * count * kRounds);
  program.launch.block = {32, 1, 1};
  program.launch.dynamicShared = kArea;
  program.body = copyFromBuffer(0, kArea, data) + "  bar.sync 0;\n" +
                 fmt::format("  mul.wide.u32 %rd0, %lane, {};\n  add.u64 %rd0, %rd0, %buf{};\n", 4 * count, out);
  for (uint32_t round = 0; round < kRounds; ++round) {
    program.body += rowAddress(rows, round);
    program.body +=
        fmt::format("  ldmatrix.sync.aligned.m8n8.x{}{}{}.b16 {}, [%r20];\n", count, transposed, space, registers(count, 0));
    for (unsigned k = 0; k < count; ++k)
      program.body += fmt::format("  st.global.b32 [%rd0+{}], %r{};\n", 128 * count * round + 4 * k, k);
  }
  return program.build();
}

Case store(unsigned count, const std::string& transposed) {
  Program program;
  const size_t data = program.input(noise(32 * 4 * count * kRounds, 12)), rows = program.input(rowOffsets(30 + count)),
               out = program.output(kArea);
  program.launch.block = {32, 1, 1};
  program.launch.dynamicShared = kArea;
  program.body = fillShared(0, kArea) + "  bar.sync 0;\n" +
                 fmt::format("  mul.wide.u32 %rd0, %lane, {};\n  add.u64 %rd0, %rd0, %buf{};\n", 4 * count, data);
  for (uint32_t round = 0; round < kRounds; ++round) {
    program.body += rowAddress(rows, round);
    for (unsigned k = 0; k < count; ++k)
      program.body += fmt::format("  ld.global.b32 %r{}, [%rd0+{}];\n", k, 128 * count * round + 4 * k);
    program.body +=
        fmt::format("  stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 [%r20], {};\n", count, transposed, registers(count, 0));
  }
  program.body += "  bar.sync 0;\n" + copyToBuffer(0, kArea, out);
  return program.build();
}

Case transpose() {
  Program program;
  const size_t data = program.input(noise(128, 13)), out = program.output(128);
  program.launch.block = {32, 1, 1};
  program.body = fmt::format(
      "  mul.wide.u32 %rd0, %lane, 4;\n  add.u64 %rd1, %rd0, %buf{};\n  add.u64 %rd2, %rd0, %buf{};\n  ld.global.b32 %r0, [%rd1];\n"
      "  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n  st.global.b32 [%rd2], %r1;\n",
      data, out);
  return program.build();
}

}  // namespace

void addAll(CaseList& cases) {
  for (const unsigned count : {1u, 2u, 4u})
    for (const std::string transposed : {"", ".trans"}) {
      for (const std::string space : {".shared", ".shared::cta"})
        cases.push_back({"matrix", fmt::format("ldmatrix.m8n8.x{}{}{}.b16", count, transposed, space),
                         [=] { return load(count, transposed, space); }});
      cases.push_back(
          {"matrix", fmt::format("stmatrix.m8n8.x{}{}.b16", count, transposed), [=] { return store(count, transposed); }});
    }
  cases.push_back({"matrix", "movmatrix.m8n8.trans.b16", transpose});
}

}  // namespace shiftconv::recordings::matrix_cases

namespace shiftconv::recordings {
void addMatrixCases(CaseList& cases) { matrix_cases::addAll(cases); }
}  // namespace shiftconv::recordings
