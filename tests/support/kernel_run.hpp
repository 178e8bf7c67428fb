// Runs small kernels written in PTX, with output arrays that start out poisoned.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"

namespace shiftconv::tests {

using emulator::EmulatorError;
using emulator::ErrorKind;
using emulator::LaunchReport;
using emulator::Options;
using emulator::SchedulePolicy;
using emulator::machine::LaunchConfig;

inline const std::string kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";
constexpr uint32_t kPoisonWord = 0xCBCBCBCB;

/// A device array of 32-bit words, poisoned by the allocator.
class DeviceWords {
 public:
  DeviceWords(emulator::Emulator& device, size_t count)
      : device_(device), count_(count), address_(device.memory().allocate(count * 4)) {}
  DeviceWords(emulator::Emulator& device, const std::vector<uint32_t>& values) : DeviceWords(device, values.size()) {
    std::memcpy(device.memory().access(address_, values.size() * 4, 4, true), values.data(), values.size() * 4);
  }
  ~DeviceWords() { device_.memory().release(address_); }
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;
  uint64_t address() const { return address_; }
  const void* argument() const { return &address_; }
  std::vector<uint32_t> read() const {
    std::vector<uint32_t> values(count_);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address_), count_ * 4);
    return values;
  }

 private:
  emulator::Emulator& device_;
  size_t count_;
  uint64_t address_;
};

inline Options withPolicy(SchedulePolicy policy, uint64_t seed = 1) {
  Options options;
  options.policy = policy;
  options.seed = seed;
  return options;
}

/// Earliest, latest and `seeds` random schedules.
inline std::vector<Options> schedules(unsigned seeds = 10) {
  std::vector<Options> all = {withPolicy(SchedulePolicy::Earliest), withPolicy(SchedulePolicy::Latest)};
  for (unsigned seed = 1; seed <= seeds; ++seed) all.push_back(withPolicy(SchedulePolicy::Random, seed));
  return all;
}

inline std::string nameOf(const Options& options) {
  switch (options.policy) {
    case SchedulePolicy::Earliest:
      return "earliest";
    case SchedulePolicy::Latest:
      return "latest";
    case SchedulePolicy::Fair:
      return "fair";
    case SchedulePolicy::Random:
      return "random, seed " + std::to_string(options.seed);
  }
  return "";
}

/// Loads `ptx` (the header is put in front) and runs its kernel `k` with one array parameter.
inline std::vector<uint32_t> runWords(const std::string& ptx, const LaunchConfig& config, size_t words, const Options& options = {},
                                      LaunchReport* report = nullptr) {
  emulator::Emulator device;
  const auto module = device.load(kHeader + ptx, "test");
  const DeviceWords out(device, words);
  const void* arguments[] = {out.argument()};
  const LaunchReport result = device.launch(*module, "k", config, arguments, options);
  if (report != nullptr) *report = result;
  return out.read();
}

/// The error that running the kernel must raise.
inline EmulatorError errorOf(const std::string& ptx, const LaunchConfig& config, const Options& options = {}) {
  try {
    runWords(ptx, config, 64, options);
  } catch (const EmulatorError& error) {
    return error;
  }
  ADD_FAILURE() << "the kernel ran without an error";
  return EmulatorError(ErrorKind::Limit, "");
}

inline LaunchConfig threads(uint32_t block, uint32_t grid = 1, uint32_t cluster = 1) {
  LaunchConfig config;
  config.block.x = block;
  config.grid.x = grid;
  config.cluster.x = cluster;
  return config;
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)

}  // namespace shiftconv::tests
