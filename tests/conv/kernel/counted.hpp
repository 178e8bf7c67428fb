// What a plan says that it multiplies and moves, against the emulator's counters and against the sum of its tiles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/emulator/counters.hpp"
#include "conv/plan/traffic.hpp"

namespace shiftconv::tests {

inline int64_t countedBytes(const emulator::Counters& counters, emulator::Engine engine, emulator::Traffic traffic) {
  return static_cast<int64_t>(counters.bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)]);
}

inline void expectCounted(const plan::Traffic& traffic, const emulator::Counters& counters) {
  using emulator::Engine;
  int64_t mmas = 0;
  for (const auto& [name, count] : counters.mma) mmas += static_cast<int64_t>(count);
  int64_t shifts = 0;
  for (const auto& [name, count] : counters.operations)
    if (name.starts_with("tcgen05.shift")) shifts += static_cast<int64_t>(count);
  EXPECT_EQ(mmas, traffic.mmas);
  EXPECT_EQ(shifts, traffic.shifts);
  EXPECT_EQ(countedBytes(counters, Engine::TensorCore, emulator::Traffic::SharedRead), traffic.multiplyReadBytes);
  EXPECT_EQ(countedBytes(counters, Engine::TensorCopy, emulator::Traffic::SharedRead), traffic.copyReadBytes);
  EXPECT_EQ(countedBytes(counters, Engine::BulkCopy, emulator::Traffic::GlobalRead),
            traffic.activationBytes + traffic.filterBytes + traffic.scaleBytes);
  std::vector<int64_t> reads;
  for (const auto& [tensor, bytes] : counters.tensorReads) reads.push_back(static_cast<int64_t>(bytes));
  for (const int64_t planned : {traffic.activationBytes, traffic.filterBytes}) {
    const auto place = std::find(reads.begin(), reads.end(), planned);
    if (place == reads.end()) {
      ADD_FAILURE() << "no tensor was read by " << planned
                    << " bytes, as input or filter should be: " << testing::PrintToString(reads);
    } else {
      reads.erase(place);
    }
  }
  EXPECT_EQ(std::accumulate(reads.begin(), reads.end(), int64_t{0}), traffic.scaleBytes);
  EXPECT_EQ(countedBytes(counters, Engine::BulkCopy, emulator::Traffic::SharedWrite), traffic.writtenBytes);
}

template <class Plan>
void expectTilesAddUp(const Plan& plan) {
  plan::Traffic sum = plan.ofCluster() * plan.clusters();
  for (int64_t tile = 0; tile < plan.tiles(); ++tile) sum += plan.ofTile(tile);
  EXPECT_EQ(sum, plan.traffic) << describe(sum) << "\nbut the plan says\n" << describe(plan.traffic);
}

}  // namespace shiftconv::tests
