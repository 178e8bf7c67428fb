// Runs programs as a user would, in a folder of their own, and looks at what they print and leave behind.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "common/emulator/tools/ptxrun/npy.hpp"

namespace shiftconv::tests {

struct ProgramResult {
  int exitCode = -1;
  std::string output, errors;
};

/// Starts `program` with `arguments` in `folder` and waits for it.
ProgramResult runProgram(const std::string& program, const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder);

/// One temporary folder per test; it stays behind when the test fails.
class PtxrunTest : public testing::Test {
 protected:
  PtxrunTest();
  ~PtxrunTest() override;

  /// Path of a compiled test kernel, or of a .ptx file of this folder.
  static std::string ptx(const std::string& name);
  ProgramResult ptxrun(const std::vector<std::string>& arguments) const;
  /// The same; fails the test unless the program succeeds.
  std::string ptxrunOk(const std::vector<std::string>& arguments) const;

  template <class Value>
  void write(const std::string& file, const std::string& type, const std::vector<uint64_t>& shape,
             const std::vector<Value>& values) const {
    ptxrun::Array array{type, shape, std::vector<std::byte>(values.size() * sizeof(Value))};
    std::memcpy(array.data.data(), values.data(), array.data.size());
    ptxrun::writeArray(folder / file, array);
  }

  template <class Value>
  std::vector<Value> read(const std::string& file) const {
    const ptxrun::Array array = ptxrun::readArray(folder / file);
    std::vector<Value> values(array.data.size() / sizeof(Value));
    std::memcpy(values.data(), array.data.data(), array.data.size());
    return values;
  }

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  /// Options for every schedule: earliest, latest, several random ones (whose outputs ptxrun compares with each other). A hazard
  /// is an error in all of them.
  static const std::vector<std::vector<std::string>>& schedules();

  static constexpr unsigned kSeed = 815;
  std::mt19937 random{kSeed};
  const std::filesystem::path folder;
};

}  // namespace shiftconv::tests
