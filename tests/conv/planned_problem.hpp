// A problem from its text, and devices for the planner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "common/device/registry.hpp"
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

/// A device that exists, by its name.
inline device::Properties preset(std::string_view name) {
  for (const device::Preset& one : device::presets())
    if (name == one.name) return one.properties;
  ADD_FAILURE() << "no preset " << name;
  return {};
}

inline Problem problemOf(const std::string& text) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.message();
  return problem;
}

}  // namespace shiftconv::plan
