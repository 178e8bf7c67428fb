// Every function that shiftconv.h declares occurs in a test of this folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace shiftconv::tests {
namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ApiCoverage, EveryPublicFunctionIsTested) {
  const std::string header = readFile(SHIFTCONV_HEADER);
  const std::regex declaration(R"(SHIFTCONV_API [^;(]*?(shiftconv_\w+)\()");
  std::set<std::string> functions;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it) functions.insert((*it)[1]);
  ASSERT_GE(functions.size(), 30u) << "the expression does not find the declarations any more";

  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_SOURCES_FOLDER)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("api_") && name.ends_with("_test.cpp") && name != "api_coverage_test.cpp") tests += readFile(entry.path());
  }
  for (const std::string& function : functions)
    EXPECT_TRUE(std::regex_search(tests, std::regex("\\b" + function + "\\("))) << function << " has no test";
}

}  // namespace
}  // namespace shiftconv::tests
