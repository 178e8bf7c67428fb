// Plans of problems on an H200.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "common/device/device.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {

inline device::Properties h200() {
  device::Properties p;
  p.kind = device::Kind::Cuda;
  p.name = "H200";
  p.computeMajor = 9;
  p.multiprocessors = 132;
  p.sharedBytesPerBlock = 232448;
  p.l2Bytes = 62'914'560;
  return p;
}

inline std::shared_ptr<const Plan> planOnH200(const char* text, const PlanOptions& options = {}) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  std::shared_ptr<const Plan> plan;
  const Status status = makePlan(problem, h200(), options, plan);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return plan;
}

}  // namespace shiftconv::plan
