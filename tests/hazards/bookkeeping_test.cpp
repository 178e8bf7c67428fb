// The checker's own memory: shadows that split and become whole again, and reader sets that are forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "common/emulator/error.hpp"
#include "common/emulator/hazards/global_shadow.hpp"
#include "common/emulator/hazards/host_work.hpp"
#include "common/emulator/hazards/operations.hpp"
#include "common/emulator/hazards/reader_sets.hpp"
#include "common/emulator/hazards/reporter.hpp"
#include "common/emulator/hazards/shadow.hpp"
#include "common/emulator/hazards/shared_shadow.hpp"
#include "common/emulator/kernel_title.hpp"
#include "common/emulator/tensor/ordering.hpp"

namespace shiftconv::emulator::hazards {
namespace {

// Random ranges written and read, against one cell for every part. `longest`: of a range.
template <class Memory>
void expectToRememberEveryPart(Memory&& shadow, size_t parts, size_t longest) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<uint64_t> writers(parts, 0), readers(parts, 0);
  const auto thread = [](uint64_t i) { return Access::byThread(static_cast<uint32_t>(i), 1, 1, false).bits(); };
  for (uint64_t step = 1; step < 4000; ++step) {
    const size_t first = random() % parts, count = 1 + random() % std::min<size_t>(parts - first, longest);
    const bool writes = random() % 2 != 0;
    size_t part = first;
    shadow.visit(first, count, writes, [&](ShadowCell& cell, size_t cellFirst, size_t cellParts) {
      EXPECT_EQ(cellFirst, part);
      for (size_t i = cellFirst; i < cellFirst + cellParts; ++i) {
        EXPECT_EQ(cell.writer, writers[i]) << "part " << i;
        EXPECT_EQ(cell.readers, readers[i]) << "part " << i;
      }
      part += cellParts;
      (writes ? cell.writer : cell.readers) = thread(step);
      if (writes) cell.readers = 0;
    });
    EXPECT_EQ(part, first + count);
    for (size_t i = first; i < first + count; ++i) {
      (writes ? writers[i] : readers[i]) = thread(step);
      if (writes) readers[i] = 0;
    }
  }
  std::map<uint64_t, size_t> kept;
  shadow.forEach([&](const ShadowCell& cell) { ++kept[cell.writer]; });
  for (const uint64_t writer : writers) EXPECT_TRUE(kept.contains(writer));
  for (const auto& [writer, cells] : kept) EXPECT_TRUE(writer == 0 || std::count(writers.begin(), writers.end(), writer) != 0);
}

TEST(Shadow, RemembersEveryPartHoweverItWasAccessed) { expectToRememberEveryPart(Shadow<4>(203), 203, 17); }

TEST(SharedShadow, RemembersEveryByteHoweverItWasAccessed) {
  expectToRememberEveryPart(SharedShadow(1000), 1000, 17);
  expectToRememberEveryPart(SharedShadow(1000), 1000, 600);
}

// Random ranges, and whole lines and sectors that neighbouring lanes share out, against one entry for every byte.
TEST(GlobalCells, RememberEveryByteHoweverItWasAccessed) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  GlobalCells cells;
  std::vector<GlobalAccess> writers(kGlobalPageBytes), readers(kGlobalPageBytes);
  const auto accessOf = [](uint64_t step) {
    return GlobalAccess::byThreads(7, 3, Access::byThread(static_cast<uint32_t>(step), 1, 1, false), false);
  };
  for (uint64_t step = 1; step < 6000; ++step) {
    const bool writes = random() % 2 != 0;
    if (random() % 3 == 0) {
      const auto share = [&](auto& run, uint64_t begin, uint8_t shift) {
        if (writes)
          run.setWritten(accessOf(step), shift);
        else if (run.isWhole())
          run.set(GlobalLine::FirstReader, accessOf(step), shift);
        else
          return;
        for (uint32_t byte = 0; byte < run.kBytes; ++byte) {
          (writes ? writers : readers)[begin + byte] = accessOf(step + (byte >> shift));
          if (writes) readers[begin + byte] = {};
        }
      };
      const uint64_t begin = random() % (kGlobalPageBytes / GlobalSector::kBytes) * GlobalSector::kBytes;
      const uint64_t ofLine = begin / GlobalLine::kBytes * GlobalLine::kBytes;
      if (random() % 2 != 0)
        share(cells.line(ofLine), ofLine, static_cast<uint8_t>(2 + random() % 4));
      else
        share(cells.line(ofLine).parts().sectors[(begin - ofLine) / GlobalSector::kBytes], begin,
              static_cast<uint8_t>(random() % 6));
      continue;
    }
    const uint64_t units[] = {GlobalLine::kBytes, GlobalSector::kBytes, 1};
    const uint64_t unit = units[random() % 3];
    const uint64_t first = random() % (kGlobalPageBytes / unit) * unit;
    const uint64_t count = std::min(kGlobalPageBytes - first, (1 + random() % 40) * unit);
    uint64_t byte = first;
    cells.visit(first, count, writes, [&](GlobalCell& cell, uint64_t begin, uint64_t bytes) {
      EXPECT_EQ(begin, byte);
      for (uint64_t i = begin; i < begin + bytes; ++i) {
        EXPECT_EQ(cell.writer, writers[i]) << "byte " << i;
        EXPECT_EQ(cell.readers[0], readers[i]) << "byte " << i;
      }
      byte += bytes;
      (writes ? cell.writer : cell.readers[0]) = accessOf(step);
      if (writes) cell.readers[0] = {};
    });
    EXPECT_EQ(byte, first + count);
    for (uint64_t i = first; i < first + count; ++i) {
      (writes ? writers : readers)[i] = accessOf(step);
      if (writes) readers[i] = {};
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LocalPointer, FreesWhatNobodyPointsToAnyMore) {
  struct Counted {
    int* live;
    explicit Counted(int* counter) : live(counter) { ++*live; }
    Counted(const Counted& other) : live(other.live) { ++*live; }
    ~Counted() { --*live; }
  };
  int live = 0;
  {
    LocalPointer<Counted> first = LocalPointer<Counted>::make(&live);
    LocalPointer<const Counted> second = first, third;
    EXPECT_EQ(live, 1);
    EXPECT_TRUE(second == LocalPointer<const Counted>(first));
    third = second;
    first = nullptr;
    second = LocalPointer<const Counted>::make(*third);
    EXPECT_EQ(live, 2);
    EXPECT_FALSE(second == third);
    third = std::move(second);
    EXPECT_EQ(live, 1);
    EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): as specified
    const LocalPointer<const Counted>& same = third;
    third = same;
    EXPECT_EQ(live, 1);
  }
  EXPECT_EQ(live, 0);
}

TEST(Stamps, EndWithAnErrorBeforeTheyOverflowTheirField) {
  constexpr uint32_t kLast = Access::kMaximumClock;
  EXPECT_EQ(nextStamp(kLast - 1), kLast);
  EXPECT_EQ(Access::byThread(16383, kLast, 77, true).clock(), kLast);
  EXPECT_EQ(Access::byThread(16383, kLast, 77, true).thread(), 16383u) << "16 CTAs of 1024 threads";
  try {
    nextStamp(kLast);
    ADD_FAILURE() << "no error";
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Limit);
    EXPECT_NE(std::string(error.what()).find("switch hazards off"), std::string::npos) << error.what();
  }
}

TEST(SiteTable, NumbersInstructionsWhateverTheirLine) {
  SiteTable sites;
  std::vector<ptx::Instruction> instructions(3);
  instructions[1].location.ptxLine = 989382;
  instructions[2].location.ptxLine = 989383;
  EXPECT_EQ(sites.of(nullptr), 0u);
  EXPECT_EQ(sites.lineOf(0), 0u);
  const uint32_t first = sites.of(&instructions[1]), second = sites.of(&instructions[2]);
  EXPECT_NE(first, second);
  EXPECT_EQ(sites.of(&instructions[1]), first);
  const Access access = Access::byThread(16383, 5, second, true);
  EXPECT_EQ(sites.at(access.site()), &instructions[2]);
  EXPECT_EQ(sites.lineOf(access.site()), 989383u);
}

// mma, cp, cp.4x256b and shift of one thread in random order: the closed form against the closure of the listed pairs.
TEST(OperationTable, OrdersTheOperationsOfAThreadAsTheListedPairsImply) {
  using tensor::OperationClass;
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    constexpr size_t kCount = 14;
    OperationTable table;
    std::vector<Operation*> operations;
    std::vector<std::vector<bool>> before(kCount, std::vector<bool>(kCount));
    const auto classOf = [&](size_t i) { return static_cast<OperationClass>(operations[i]->pairs.kind - 1); };
    for (size_t i = 0; i < kCount; ++i) {
      Operation operation;
      operation.id = i + 1;
      operation.pairs.kind = static_cast<uint8_t>(1 + random() % 4);
      operation.pairs.accumulator = random() % 2;
      operation.pairs.ctas = 1;
      operation.view.base = operation.view.tensor = ClockPointer::make();
      operations.push_back(&table.add(std::move(operation)));
      for (size_t j = i; j-- > 0;) {
        bool implied =
            tensor::isOrderedPair(classOf(j), operations[j]->pairs.accumulator, classOf(i), operations[i]->pairs.accumulator);
        for (size_t k = j + 1; k < i; ++k) implied = implied || (before[j][k] && before[k][i]);
        before[j][i] = implied;
      }
    }
    for (size_t j = 0; j < kCount; ++j)
      for (size_t i = j + 1; i < kCount; ++i)
        ASSERT_EQ(table.isBefore(*operations[j], *operations[i]), before[j][i]) << "round " << round << ": " << j << " and " << i;
    // What is forgotten does not disturb the rest.
    const size_t first = random() % kCount;
    table.collect([&](machine::OperationId id) { return id > first; });
    for (size_t j = first; j < kCount; ++j)
      for (size_t i = j + 1; i < kCount; ++i)
        ASSERT_EQ(table.isBefore(*operations[j], *operations[i]), before[j][i]) << "round " << round << " behind " << first;
  }
}

// Many rounds of small buffers and launches leave nothing behind.
TEST(GlobalShadow, ForgetsFreedMemoryAndLaunchesThatEverythingComesAfter) {
  Emulator device;
  const auto module = device.load(
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) {\n.reg .b64 %rd<3>;\n"
      "ld.param.u64 %rd1, [a];\nst.global.u32 [%rd1], 1;\nld.param.u64 %rd2, [b];\nst.global.u32 [%rd2+80], 1;\nret;\n}\n",
      "small");
  StreamOrder order;
  Options options;
  options.hazards = HazardMode::Warn;
  machine::LaunchConfig config;
  config.block.x = 1;
  for (int round = 0; round < 60; ++round) {
    const uint64_t a = device.memory().allocate(100), b = device.memory().allocate(100);
    const void* arguments[] = {&a, &b};
    options.place = order.enqueue(7);
    EXPECT_TRUE(device.launch(*module, "k", config, arguments, options).hazards.empty());
    order.synchronized(7);
    StreamPlace host = order.enqueue(9);
    host.stream = kHostStream;  // work of the host, as runtimes tell of memory that they release
    Reporter reporter(HazardMode::Warn, {});
    checkHostWork(device.shadow(), reporter, "release", host, a, 100, true);
    EXPECT_EQ(reporter.take().size(), 0u);
    device.memory().release(a);
    device.memory().release(b);
    EXPECT_LE(device.shadow().launches().size(), 2u) << round;
  }
  EXPECT_LE(device.shadow().pages(), 2u);
  // Launches in a stream that the host does not wait for stay, as others may race with them.
  for (int round = 0; round < 5; ++round) {
    const uint64_t a = device.memory().allocate(100);
    const void* arguments[] = {&a, &a};
    options.place = order.enqueue(8);
    device.launch(*module, "k", config, arguments, options);
  }
  EXPECT_GE(device.shadow().launches().size(), 5u);
}

Hazard raceAt(uint32_t ptxLine, const std::string& source, HazardSeverity severity, const std::string& missing, uint64_t count) {
  Hazard hazard;
  hazard.severity = severity;
  hazard.first = {"write", "_Z1kILi3EEvPf", "warp 0", "PTX line 5: st", 5, 0};
  hazard.second = {"read", "_Z1kILi3EEvPf", "warp 1", "PTX line " + std::to_string(ptxLine) + " (" + source + "): ld", ptxLine, 7};
  hazard.missing = missing;
  hazard.count = count;
  return hazard;
}

TEST(HazardGroups, HaveOneSourceLineKindSeverityAndCauseAndComeBySeverity) {
  constexpr HazardSeverity kRace = HazardSeverity::Race, kFormal = HazardSeverity::Formal;
  const std::vector<HazardGroup> groups =
      groupHazards({raceAt(10, "a.cu:7", kFormal, "fence", 2), raceAt(11, "a.cu:7", kRace, "barrier", 3),
                    raceAt(12, "a.cu:7", kRace, "barrier", 4), raceAt(13, "a.cu:7", kRace, "wait", 1),
                    raceAt(14, "b.cu:7", kRace, "barrier", 1), raceAt(15, "a.cu:7", kFormal, "fence", 5)});
  ASSERT_EQ(groups.size(), 4u);
  const std::vector<std::tuple<uint32_t, size_t, uint64_t>> expected = {{11, 2, 7}, {13, 1, 1}, {14, 1, 1}, {10, 2, 7}};
  for (size_t i = 0; i < groups.size(); ++i)
    EXPECT_EQ(std::tuple(groups[i].hazard.second.ptxLine, groups[i].pairs, groups[i].hazard.count), expected[i]) << i;
  const std::string text = describe(groups[0]);
  EXPECT_EQ(
      text,
      "hazard (race) in kernel k<3>: read\n    by warp 1\n    at PTX line 11 (a.cu:7): ld\n  conflicts with the earlier write\n"
      "    by warp 0\n    at PTX line 5: st\n  missing: barrier\n  so do 1 other pairs of instructions of that line; seen 7 times "
      "in all");
  EXPECT_EQ(summariseHazards({3, 1, 0}), "4 different hazards (3 race, 1 formal)");
  EXPECT_EQ(summariseHazards({0, 0, 1}), "1 different hazard (1 unproven)");
  EXPECT_EQ(summariseHazards({0, 0, 0}), "no hazards");
}

TEST(KernelTitles, AreNamesOfTheSourceWithoutArgumentsAndShort) {
  EXPECT_EQ(kernelTitle("saxpy"), "saxpy");
  EXPECT_EQ(kernelTitle("_Z5saxpyifPKfPf"), "saxpy");
  EXPECT_EQ(kernelTitle("_Z1kILi3EEvPf"), "k<3>");
  EXPECT_EQ(kernelTitle("_ZN12_GLOBAL__N_14gemmE14CUtensorMap_stS0_Pfiib"), "(anonymous namespace)::gemm");
  EXPECT_EQ(kernelTitle("_ZN1a1bI1cLi5EEEvPFviE"), "a::b<c, 5>");
  const std::string longName(200, 'x');
  EXPECT_EQ(kernelTitle("_Z1kI200" + longName + "EvT_"), "k<...>");
  EXPECT_EQ(kernelTitle(longName), longName.substr(0, 96) + "...");
}

std::set<uint64_t> membersOf(const ReaderSets& sets, uint64_t set) {
  std::set<uint64_t> members;
  sets.forEach(set, [&](Access access) { members.insert(access.bits()); });
  return members;
}

TEST(ReaderSets, DropWhoHappenedBeforeAndKeepTheOthers) {
  ReaderSets sets;
  const auto access = [](uint32_t thread) { return Access::byThread(thread, 5, 7, false); };
  const auto nobody = [](Access) { return false; };
  uint64_t set = sets.add(0, access(1), nobody);
  EXPECT_EQ(set, access(1).bits()) << "one reader needs no set";
  set = sets.add(set, access(2), nobody);
  set = sets.add(set, access(3), nobody);
  EXPECT_EQ(membersOf(sets, set), (std::set<uint64_t>{access(1).bits(), access(2).bits(), access(3).bits()}));
  EXPECT_EQ(sets.add(set, access(2), nobody), set) << "members in any order are the same set";
  set = sets.add(set, access(4), [&](Access member) { return member.thread() != 2; });
  EXPECT_EQ(membersOf(sets, set), (std::set<uint64_t>{access(2).bits(), access(4).bits()}));
}

TEST(ReaderSets, ForgetWhatIsNotUsedAndKeepTheMembersOfTheRest) {
  ReaderSets sets;
  std::vector<uint64_t> used;
  std::vector<std::set<uint64_t>> members;
  for (uint32_t i = 0; !sets.isCrowded(); ++i) {
    const auto access = [&](uint32_t thread) { return Access::byThread(thread, i % 1000 + 1, i / 1000 + 1, false); };
    const uint64_t set = sets.add(access(1).bits(), access(2), [](Access) { return false; });
    if (i % 1000 != 3) continue;
    used.push_back(set);
    members.push_back(membersOf(sets, set));
  }
  used.push_back(0);
  members.emplace_back();
  sets.keepOnly([&](auto&& rename) {
    for (uint64_t& set : used) set = rename(set);
  });
  EXPECT_EQ(sets.size(), used.size() - 1);
  EXPECT_FALSE(sets.isCrowded());
  for (size_t i = 0; i < used.size(); ++i) EXPECT_EQ(membersOf(sets, used[i]), members[i]);
}

}  // namespace
}  // namespace shiftconv::emulator::hazards
