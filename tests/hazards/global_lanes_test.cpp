// Hazards in global memory between accesses of whole warps, which the checker looks at in several ways: all of them see the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hazards/global_case.hpp"

namespace shiftconv::tests::global_test {
namespace {

// Lines that neighbouring lanes share out take a short way through the checker, others a long one: both see the same.
TEST(GlobalHazards, NeighbouringLanesOfTwoWarpsRaceUnlessABarrierIsBetweenThem) {
  const auto instruction = [](bool writes, uint32_t words, const std::string& address) {
    const std::string vector = words == 1 ? "u32" : "v" + std::to_string(words) + ".u32";
    const std::string registers = words == 1 ? "%r10" : words == 2 ? "{%r10, %r11}" : "{%r10, %r11, %r12, %r13}";
    return writes ? "st.global." + vector + " [" + address + "], " + registers + ";\n"
                  : "ld.global." + vector + " " + registers + ", [" + address + "];\n";
  };
  const std::string begin = R"(
  mov.u32 %r10, 1; mov.u32 %r11, 2; mov.u32 %r12, 3; mov.u32 %r13, 4; and.b32 %r14, %r0, 31; setp.lt.u32 %p4, %r0, 32;
)";
  unsigned races = 0;
  for (const uint32_t first : {1u, 2u, 4u})
    for (const uint32_t second : {1u, 2u, 4u})
      for (const unsigned writes : {1u, 2u, 3u})
        for (const uint32_t offset : {0u, 16u})
          for (const char* between : {"", "bar.sync 0;", "same warp"}) {
            const auto addressOf = [&](uint32_t words) {
              return "mul.wide.u32 %rd8, %r14, " + std::to_string(4 * words) + "; add.u64 %rd8, %rd0, %rd8;\n";
            };
            const std::string address = "%rd8+" + std::to_string(offset);
            const bool sameWarp = between == std::string("same warp");
            const std::string secondWarp = sameWarp ? "@%p4 " : "@!%p4 ";
            const GlobalCase one{"lines", threads(64),
                                 begin + addressOf(first) + "@%p4 " + instruction((writes & 1) != 0, first, address) +
                                     (sameWarp ? "" : between) + "\n" + addressOf(second) + secondWarp +
                                     instruction((writes & 2) != 0, second, address)};
            SCOPED_TRACE(one.body);
            const std::vector<Hazard> hazards = hazardsOf(one, Options{});
            const bool isRace = sameWarp ? first != second : *between == '\0';
            EXPECT_EQ(!hazards.empty(), isRace) << list(hazards);
            for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
            races += isRace;
          }
  EXPECT_EQ(races, 54u + 36u);
}

// Words that several lanes read, and sectors that parts of a warp share, take short ways, too: whoever writes one of the words
// races with the other lanes that read it, unless a barrier is between them.
TEST(GlobalHazards, WritesRaceWithEveryLaneThatReadTheWord) {
  unsigned races = 0;
  for (const char* word :
       {"and.b32 %r14, %r0, 15;", "shr.u32 %r14, %r0, 4;", "shr.u32 %r14, %r0, 2;", "and.b32 %r14, %r0, 7;", "mov.u32 %r14, 3;"})
    for (const unsigned ctas : {1u, 3u})
      for (const uint32_t writer : {0u, 1u, 5u, 14u, 15u, 16u, 31u, 32u, 63u})
        for (const char* between : {"", "bar.sync 0;"}) {
          const bool synchronised = *between != '\0';
          // Every CTA has its own words, after those of the others.
          const GlobalCase one{"shared_words", threads(64, ctas), std::string(word) + R"(
  shl.b32 %r15, %r1, 6; add.u32 %r14, %r14, %r15; mul.wide.u32 %rd8, %r14, 4; add.u64 %rd8, %rd0, %rd8;
  ld.global.u32 %r10, [%rd8];
)" + between + "\n  setp.eq.u32 %p3, %r0, " + std::to_string(writer) + ";\n  @%p3 st.global.u32 [%rd8], 1;\n"};
          SCOPED_TRACE(one.body);
          const std::vector<Hazard> hazards = hazardsOf(one, Options{});
          EXPECT_EQ(!hazards.empty(), !synchronised) << list(hazards);
          for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
          races += !hazards.empty();
        }
  EXPECT_EQ(races, 5u * 2u * 9u);
}

enum class Middle { Nothing, Reader, Barrier };

/// Lanes of warp 0 that walk along rows of `in`, `steps` accesses of `bytes` each. A lane of warp 1 writes one byte of a row.
struct RowWalk {
  bool writes = false;
  uint32_t bytes = 4, steps = 1;
  uint32_t pitch = 64;              ///< of the rows, in bytes
  uint32_t lanesOfRow = 1;          ///< which read the same
  Middle middle = Middle::Nothing;  ///< Reader: lane 1 reads the first word of the row behind its own. Barrier: of both warps
  uint32_t half() const { return steps / 2; }
};

GlobalCase walkAlongRows(const RowWalk& walk, uint32_t byte, bool synchronised) {
  const char* const value = walk.bytes == 16 ? "{%rd9, %rd10}" : walk.bytes == 8 ? "%rd9" : "%r10";
  const std::string type = (walk.bytes == 16 ? "v2.u" : "u") + std::to_string(8 * std::min(walk.bytes, 8u));
  const std::string access = fmt::format("{}.global.{} {}, {}", walk.writes ? "st" : "ld", type, walk.writes ? "[%rd8]" : value,
                                         walk.writes ? value : "[%rd8]");
  std::string middle;
  if (walk.middle == Middle::Reader)
    middle = fmt::format("setp.eq.and.u32 %p5, %r0, 1, %p5; @%p5 ld.global.u32 %r11, [%rd11+{}];", walk.pitch);
  if (walk.middle == Middle::Barrier) middle = "@%p5 bar.sync 0;";
  return {"rows", threads(64),
          fmt::format(R"(
  mov.u32 %r10, 0; mov.u64 %rd9, 0; mov.u64 %rd10, 0; mov.u32 %r15, 0;
  setp.lt.u32 %p4, %r0, 32; @!%p4 bra WRITER;
  div.u32 %r14, %r0, {}; mul.wide.u32 %rd8, %r14, {}; add.u64 %rd8, %rd0, %rd8; mov.u64 %rd11, %rd8;
WALK:
  {};
  add.u64 %rd8, %rd8, {}; add.u32 %r15, %r15, 1; setp.eq.u32 %p5, %r15, {};
  {}
  setp.lt.u32 %p6, %r15, {}; @%p6 bra WALK;
  bra THEN;
WRITER:
  {}
THEN:
  {}
  setp.eq.u32 %p5, %r0, 37; @%p5 st.global.u8 [%rd0+{}], 1;
)",
                      walk.lanesOfRow, walk.pitch, access, walk.bytes, walk.half(), middle, walk.steps,
                      walk.middle == Middle::Barrier ? "bar.sync 0;" : "", synchronised ? "bar.sync 0;" : "", byte)};
}

// A walk along a sector takes a short way: it knows what is behind the walker, and what is not.
TEST(GlobalHazards, WritesRaceWithWhatALoopHasPassedAndNothingElse) {
  unsigned walks = 0;
  const auto isRace = [](const RowWalk& walk, uint32_t byte, bool synchronised = false) {
    const GlobalCase one = walkAlongRows(walk, byte, synchronised);
    SCOPED_TRACE(one.body);
    const std::vector<Hazard> hazards = hazardsOf(one, Options{});
    for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
    return !hazards.empty();
  };
  for (const uint32_t bytes : {1u, 4u, 8u, 16u})
    for (const uint32_t passed : {16u, 32u, 48u})
      for (const uint32_t lanesOfRow : {1u, 3u, 16u})
        for (const uint32_t pitch : {64u, 56u})
          for (const Middle middle : {Middle::Nothing, Middle::Reader, Middle::Barrier})
            for (const bool writes : {false, true}) {
              if (pitch % bytes != 0 || (writes && (lanesOfRow != 1 || middle == Middle::Reader))) continue;
              if (middle != Middle::Nothing && passed == bytes) continue;
              const RowWalk walk{writes, bytes, passed / bytes, pitch, lanesOfRow, middle};
              SCOPED_TRACE(fmt::format("{} lanes, pitch {}, {} bytes in steps of {}, middle {}", lanesOfRow, pitch, passed, bytes,
                                       static_cast<int>(middle)));
              const uint32_t row = pitch * (1 / lanesOfRow + 1), half = bytes * walk.half();
              EXPECT_EQ(isRace(walk, row), middle != Middle::Barrier);
              EXPECT_EQ(isRace(walk, row + std::max(half, 1u) - 1), middle != Middle::Barrier);
              EXPECT_TRUE(isRace(walk, row + half));
              EXPECT_TRUE(isRace(walk, row + passed - 1));
              EXPECT_FALSE(isRace(walk, row + passed));
              EXPECT_FALSE(isRace(walk, row + passed - 1, true));
              ++walks;
            }
  EXPECT_EQ(walks, (4u + 3u) * 3u * 11u - 7u) << "a walk of one step has no middle";
}

}  // namespace
}  // namespace shiftconv::tests::global_test
