// A problem from its text, and a device that exists for the planner only.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/device/device.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {

inline device::Properties deviceOf(int computeMajor, int computeMinor = 0) {
  device::Properties p;
  p.kind = device::Kind::Cuda;
  p.name = "it";
  p.computeMajor = computeMajor;
  p.computeMinor = computeMinor;
  p.multiprocessors = 132;
  p.sharedBytesPerBlock = 232448;
  return p;
}

inline Problem problemOf(const std::string& text) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.message();
  return problem;
}

}  // namespace shiftconv::plan
