// When all tests of this program have run in one process, those on a GPU aside, every function that the headers in C declare with a
// status must have succeeded and failed under the eyes of one of them. Functions without a status are named in a test.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string_view>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Names of the declared functions; `withStatus`: of those that return a status, or of the others.
std::vector<std::string> declaredFunctions(bool withStatus) {
  std::string header;
  for (const auto& entry : std::filesystem::directory_iterator(SHIFTCONV_HEADERS))
    if (entry.path().extension() == ".h") header += readFile(entry.path());
  const std::regex declaration(R"(SHIFTCONV_API ([^;(]*?)(shiftconv_\w+)\()");
  std::vector<std::string> functions;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it)
    if (((*it)[1].str().find("shiftconv_status_t") != std::string::npos) == withStatus) functions.push_back((*it)[2]);
  return functions;
}

/// Whether no filter has left out a test of this program that needs no GPU.
bool areAllRun() {
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    if (std::string_view(suite.name()).starts_with("Gpu/")) continue;
    if (suite.test_to_run_count() + suite.disabled_test_count() < suite.total_test_count()) return false;
  }
  return true;
}

class Coverage : public testing::Environment {
 public:
  void TearDown() override {
    if (!areAllRun()) return;
    const auto functions = declaredFunctions(true);
    EXPECT_GE(functions.size(), 30u) << "the expression does not find the declarations any more";
    for (const std::string& function : functions) {
      const CallCounts counts = callCounts()[function];
      EXPECT_GT(counts.succeeded, 0) << function << " has not succeeded in any test";
      EXPECT_GT(counts.failed, 0) << function << " has not failed in any test";
    }
  }
};
const auto* const kCoverage = testing::AddGlobalTestEnvironment(new Coverage);

TEST(ApiCoverage, EveryFunctionWithoutAStatusIsNamedInATest) {
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_SOURCES_FOLDER)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("api_") && name.ends_with("_test.cpp") && name != "api_coverage_test.cpp") tests += readFile(entry.path());
  }
  const auto functions = declaredFunctions(false);
  ASSERT_GE(functions.size(), 9u);
  for (const std::string& function : functions)
    EXPECT_TRUE(std::regex_search(tests, std::regex("\\b" + function + "\\("))) << function << " has no test";
}

}  // namespace
}  // namespace shiftconv::tests
