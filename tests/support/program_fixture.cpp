#include "tests/support/program_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace shiftconv::tests {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path makeFolder() {
  std::string name = (fs::temp_directory_path() / "ptxrun-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  return name;
}

}  // namespace

ProgramResult runProgram(const std::string& program, const std::vector<std::string>& arguments, const fs::path& folder) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const fs::path output = folder / "stdout.txt", errors = folder / "stderr.txt";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  pid_t process = 0;
  const int failure = posix_spawn(&process, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error(fmt::format("{} cannot be started: {}", program, std::strerror(failure)));
  int status = 0;
  waitpid(process, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), textOf(output), textOf(errors)};
}

PtxrunTest::PtxrunTest() : folder(makeFolder()) {}

PtxrunTest::~PtxrunTest() {
  if (HasFailure())
    fmt::print("seed {}; files of this test are in {}\n", kSeed, folder.string());
  else
    fs::remove_all(folder);
}

std::string PtxrunTest::ptx(const std::string& name) {
  const std::string source = fmt::format("{}/{}.ptx", SHIFTCONV_TEST_SOURCE_PTX, name);
  return fs::exists(source) ? source : fmt::format("{}/{}.ptx", SHIFTCONV_TEST_COMPILED_PTX, name);
}

ProgramResult PtxrunTest::ptxrun(const std::vector<std::string>& arguments) const {
  return runProgram(SHIFTCONV_PTXRUN, arguments, folder);
}

std::string PtxrunTest::ptxrunOk(const std::vector<std::string>& arguments) const {
  const ProgramResult result = ptxrun(arguments);
  EXPECT_EQ(result.exitCode, 0) << result.output << result.errors;
  return result.output;
}

const std::vector<std::vector<std::string>>& PtxrunTest::schedules() {
  static const std::vector<std::vector<std::string>> all{
      {"--policy", "earliest", "--hazards", "error"},
      {"--policy", "latest", "--hazards", "error"},
      {"--policy", "random", "--seed", "1", "--repeat", "5", "--hazards", "error"}};
  return all;
}

}  // namespace shiftconv::tests
