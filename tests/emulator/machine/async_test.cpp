#include "common/emulator/machine/async.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::machine {
namespace {

struct Recorder {
  std::vector<int> order;
  OperationId issue(AsyncQueue& queue, int number, std::vector<OperationId> after = {}) {
    return queue.issue({OperationKind::BulkLoad, {}, std::move(after), [this, number] { order.push_back(number); }});
  }
};

TEST(AsyncQueue, EarliestCompletesAtIssue) {
  AsyncQueue queue(SchedulePolicy::Earliest, 1);
  Recorder record;
  const OperationId first = record.issue(queue, 1);
  EXPECT_TRUE(queue.isComplete(first));
  record.issue(queue, 2, {first});
  EXPECT_EQ(record.order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.completed(), 2u);
  EXPECT_EQ(queue.issued()[static_cast<size_t>(OperationKind::BulkLoad)], 2u);
}

TEST(AsyncQueue, LatestCompletesTheYoungestEligibleOnlyWhenAsked) {
  AsyncQueue queue(SchedulePolicy::Latest, 1);
  Recorder record;
  const OperationId a = record.issue(queue, 1);
  const OperationId b = record.issue(queue, 2, {a});
  record.issue(queue, 3);
  record.issue(queue, 4, {b});
  for (int i = 0; i < 100; ++i) queue.tick();
  EXPECT_TRUE(record.order.empty());
  while (queue.completeOne()) {
  }
  EXPECT_EQ(record.order, (std::vector<int>{3, 1, 2, 4}));
}

TEST(AsyncQueue, ForceCompletesExactlyWhatIsNeeded) {
  AsyncQueue queue(SchedulePolicy::Latest, 1);
  Recorder record;
  const OperationId a = record.issue(queue, 1);
  record.issue(queue, 2);
  const OperationId c = record.issue(queue, 3, {a});
  queue.force(c);
  EXPECT_EQ(record.order, (std::vector<int>{1, 3}));
  EXPECT_EQ(queue.size(), 1u);
  queue.forceAll();
  EXPECT_EQ(record.order, (std::vector<int>{1, 3, 2}));
}

TEST(AsyncQueue, LongChainsDoNotRecurse) {
  AsyncQueue queue(SchedulePolicy::Latest, 1);
  Recorder record;
  OperationId last = 0;
  constexpr int kLength = 3000;
  for (int i = 0; i < kLength; ++i) last = record.issue(queue, i, last == 0 ? std::vector<OperationId>{} : std::vector{last});
  queue.force(last);
  ASSERT_EQ(record.order.size(), static_cast<size_t>(kLength));
  EXPECT_TRUE(std::is_sorted(record.order.begin(), record.order.end()));
}

TEST(AsyncQueue, RandomOrdersRespectPredecessorsAndRepeatWithTheSeed) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<int> previous;
    for (int repeat = 0; repeat < 2; ++repeat) {
      AsyncQueue queue(SchedulePolicy::Random, seed);
      Recorder record;
      std::vector<OperationId> ids;
      for (int i = 0; i < 12; ++i) {
        ids.push_back(record.issue(queue, i, i >= 3 ? std::vector{ids[static_cast<size_t>(i - 3)]} : std::vector<OperationId>{}));
        queue.tick();
      }
      while (queue.completeOne()) {
      }
      ASSERT_EQ(record.order.size(), 12u);
      std::vector<int> position(12);
      for (int i = 0; i < 12; ++i) position[static_cast<size_t>(record.order[static_cast<size_t>(i)])] = i;
      for (size_t i = 3; i < 12; ++i) ASSERT_LT(position[i - 3], position[i]) << "seed " << seed;
      if (repeat == 1) {
        ASSERT_EQ(record.order, previous) << "seed " << seed;
      }
      previous = record.order;
    }
    orders.insert(previous);
  }
  EXPECT_GT(orders.size(), 20u) << "random schedules hardly differ";
}

TEST(AsyncQueue, ErrorsNameTheIssuePoint) {
  AsyncQueue queue(SchedulePolicy::Latest, 1);
  queue.describe = [](const IssuePoint& point) { return "warp " + std::to_string(point.warp); };
  queue.issue(
      {OperationKind::TensorCopy, {0, 5, 0, nullptr}, {}, [] { throw EmulatorError(ErrorKind::OutOfBounds, "bad address"); }});
  try {
    queue.completeOne();
    FAIL();
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::OutOfBounds);
    EXPECT_STREQ(error.what(), "bad address\n  asynchronous operation tcgen05.cp issued by warp 5");
  }
}

TEST(AsyncQueue, OperationsMayIssueOthers) {
  AsyncQueue queue(SchedulePolicy::Latest, 1);
  Recorder record;
  queue.issue({OperationKind::BulkLoad, {}, {}, [&] { record.issue(queue, 7); }});
  queue.forceAll();
  EXPECT_EQ(record.order, std::vector<int>{7});
}

}  // namespace
}  // namespace shiftconv::emulator::machine
