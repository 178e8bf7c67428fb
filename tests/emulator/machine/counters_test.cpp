#include "common/emulator/counters.hpp"

#include <gtest/gtest.h>

#include <set>

namespace shiftconv::emulator {
namespace {

TEST(Counters, AddUp) {
  Counters a, b;
  a.mma["kind::f16"] = 2;
  b.mma["kind::f16"] = 3;
  b.operations["cp"] = 1;
  a.addBytes(Engine::BulkCopy, Traffic::SharedWrite, 100);
  b.addBytes(Engine::BulkCopy, Traffic::SharedWrite, 28);
  a.warpInstructions = {1};
  b.warpInstructions = {2, 5};
  b.threadInstructions = {64, 160};
  a.use(Unproven::U3);
  b.use(Unproven::U3);
  a.ctas = 1;
  b.ctas = 2;
  a += b;
  EXPECT_EQ(a.mma.at("kind::f16"), 5u);
  EXPECT_EQ(a.operations.at("cp"), 1u);
  EXPECT_EQ(a.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(Traffic::SharedWrite)], 128u);
  EXPECT_EQ(a.warpInstructions, (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(a.threadInstructions, (std::vector<uint64_t>{64, 160}));
  EXPECT_EQ(a.ctas, 3u);
  const std::string table = formatCounters(a, {"producer"});
  for (const char* part : {"kind::f16", "producer", "warp 1", "bulk copy", "128", "U3"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " in\n" << table;
  EXPECT_EQ(table.find("tensor ld/st"), std::string::npos) << "engines that moved nothing are left out";
}

TEST(Unproven, QuestionsAreCompleteAndInOrder) {
  const auto& questions = unprovenQuestions();
  ASSERT_EQ(questions.size(), static_cast<size_t>(Unproven::Count));
  std::set<std::string_view> texts;
  for (size_t i = 0; i < questions.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(questions[i].id), i);
    EXPECT_EQ(questions[i].name, "U" + std::to_string(i + 1));
    EXPECT_GE(questions[i].alternatives.size(), 1u);
    EXPECT_TRUE(texts.insert(questions[i].question).second) << questions[i].question;
  }
  Semantics semantics;
  EXPECT_EQ(semantics[Unproven::U7], 0);
  semantics.choose(Unproven::U7, 1);
  EXPECT_EQ(semantics[Unproven::U7], 1);
  EXPECT_EQ(semantics[Unproven::U8], 0);
}

}  // namespace
}  // namespace shiftconv::emulator
