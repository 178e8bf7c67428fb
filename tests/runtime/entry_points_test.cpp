// Every call of the CUDA APIs that the emulated device has is made by some test of this folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace shiftconv::tests {
namespace {

std::string sourcesIn(const std::filesystem::path& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".cu" && extension != ".hpp") continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

/// Words that begin with one of cu and cuda and go on with a capital; `before` stands in front of them.
std::set<std::string> callsIn(const std::string& text, std::string_view before) {
  std::set<std::string> calls;
  const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (const std::string_view prefix : {"cu", "cuda"}) {
    const std::string wanted = std::string(before).append(prefix);
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      const size_t begin = at + before.size(), next = begin + prefix.size();
      if (before.empty() && begin > 0 && isPart(text[begin - 1])) continue;
      if (next >= text.size() || std::isupper(static_cast<unsigned char>(text[next])) == 0) continue;
      const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(next), text.end(), isPart);
      calls.emplace(text.begin() + static_cast<std::ptrdiff_t>(begin), end);
    }
  }
  return calls;
}

TEST(EntryPoints, AreCalledByTests) {
  const std::filesystem::path sources = SHIFTCONV_CUDA_RUNTIME_SOURCES;
  // Each names itself, for traces.
  const auto named = callsIn(sourcesIn(sources / "cudart") + sourcesIn(sources / "driver"), "\"");
  const auto called = callsIn(sourcesIn(SHIFTCONV_RUNTIME_TESTS), "");
  EXPECT_GT(named.size(), 240u);
  for (const std::string& name : named) EXPECT_TRUE(called.contains(name)) << name;
}

}  // namespace
}  // namespace shiftconv::tests
