// Names and texts of error codes are those that the toolkit's own runtime gives. It answers without a GPU or a driver.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "common/emulator/cuda_runtime/core/error_names.hpp"

namespace shiftconv::tests {
namespace {

constexpr int kFirst = -1, kLast = 1100;  // all codes are among them

class ErrorNames : public testing::Test {
 protected:
  using Text = const char* (*)(cudaError_t);
  void SetUp() override {
    if (std::string_view(SHIFTCONV_TOOLKIT_CUDART).empty()) GTEST_SKIP() << "the toolkit has no shared runtime";
    toolkit_ = dlopen(SHIFTCONV_TOOLKIT_CUDART, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(toolkit_, nullptr) << dlerror();
    name = reinterpret_cast<Text>(dlsym(toolkit_, "cudaGetErrorName"));
    text = reinterpret_cast<Text>(dlsym(toolkit_, "cudaGetErrorString"));
    ASSERT_TRUE(name != nullptr && text != nullptr);
  }
  void TearDown() override {
    if (toolkit_ != nullptr) dlclose(toolkit_);
  }
  Text name = nullptr, text = nullptr;

 private:
  void* toolkit_ = nullptr;
};

TEST_F(ErrorNames, AreThoseOfTheToolkit) {
  for (int code = kFirst; code <= kLast; ++code)
    EXPECT_STREQ(runtime::errorName(static_cast<cudaError_t>(code)), name(static_cast<cudaError_t>(code))) << code;
}

/// What no call of the emulated device gives may be spelt out of its name instead.
TEST_F(ErrorNames, TextsOfWhatCallsGiveAreThoseOfTheToolkit) {
  std::map<std::string, cudaError_t> codes;
  for (int code = kFirst; code <= kLast; ++code) codes[name(static_cast<cudaError_t>(code))] = static_cast<cudaError_t>(code);
  size_t given = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SHIFTCONV_CUDA_RUNTIME_SOURCES)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    for (size_t at = source.find("cudaError"); at != std::string::npos; at = source.find("cudaError", at + 1)) {
      const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
      const auto end = std::find_if_not(source.begin() + static_cast<std::ptrdiff_t>(at), source.end(), isPart);
      const auto code = codes.find(std::string(source.begin() + static_cast<std::ptrdiff_t>(at), end));
      if (code == codes.end()) continue;
      ++given;
      EXPECT_STREQ(runtime::errorText(code->second), text(code->second)) << code->first << " in " << entry.path();
    }
  }
  EXPECT_GT(given, 100u);
  for (const int code : {kFirst, 4242})
    EXPECT_STREQ(runtime::errorText(static_cast<cudaError_t>(code)), text(static_cast<cudaError_t>(code)));
}

/// CUresult has the same numbers for the same reasons.
TEST_F(ErrorNames, OfTheDriverHaveTheTextsOfTheRuntime) {
  int known = 0;
  for (int code = kFirst; code <= kLast; ++code) {
    const char *driverName = nullptr, *driverText = nullptr;
    const auto result = static_cast<CUresult>(code);
    const CUresult named = cuGetErrorName(result, &driverName);
    EXPECT_EQ(cuGetErrorString(result, &driverText), named) << code;
    EXPECT_EQ(driverName == nullptr, named != CUDA_SUCCESS) << code;
    EXPECT_EQ(driverText == nullptr, named != CUDA_SUCCESS) << code;
    EXPECT_TRUE(named == CUDA_SUCCESS || named == CUDA_ERROR_INVALID_VALUE) << code;
    if (named != CUDA_SUCCESS) continue;
    ++known;
    EXPECT_TRUE(std::string(driverName).starts_with("CUDA_")) << driverName;
    EXPECT_STREQ(driverText, runtime::errorText(static_cast<cudaError_t>(code))) << driverName;
  }
  EXPECT_GT(known, 90);
}

}  // namespace
}  // namespace shiftconv::tests
