// The checker's own memory: shadows that split and become whole again, and reader sets that are forgotten.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/emulator/error.hpp"
#include "common/emulator/hazards/reader_sets.hpp"
#include "common/emulator/hazards/shadow.hpp"

namespace shiftconv::emulator::hazards {
namespace {

// Random ranges written and read, against one cell for every part.
TEST(Shadow, RemembersEveryPartHoweverItWasAccessed) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr size_t kParts = 203;
  Shadow<4> shadow(kParts);
  std::vector<uint64_t> writers(kParts, 0), readers(kParts, 0);
  const auto thread = [](uint64_t i) { return Access::byThread(static_cast<uint32_t>(i), 1, 1, false).bits(); };
  for (uint64_t step = 1; step < 4000; ++step) {
    const size_t first = random() % kParts, count = 1 + random() % std::min<size_t>(kParts - first, 17);
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
