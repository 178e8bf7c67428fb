#include "tests/probe/isolated.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/probe/report.hpp"

namespace shiftconv::probe {
namespace {

constexpr std::chrono::seconds kPatience{60};

/// The child's wait status, or nothing when it had to be killed.
std::optional<int> waitFor(pid_t child) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return status;
}

pid_t start(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error(fmt::format("cannot start this program again: error {}", failure));
  return child;
}

}  // namespace

Observation observeIsolated(const Experiment& experiment, const std::vector<std::string>& arguments) {
  const std::string name(wording(experiment.id).name);
  const std::filesystem::path answer = std::filesystem::temp_directory_path() / fmt::format("probe-{}-{}.json", getpid(), name);
  std::vector<std::string> words{"probe", "--only", name, "--json", answer.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());

  const std::optional<int> status = waitFor(start(words));
  if (!status) return {experiment.id, {}, true, fmt::format("no answer within {} s", kPatience.count())};
  std::ifstream file(answer);
  const nlohmann::json report = nlohmann::json::parse(file, nullptr, false);
  file.close();
  std::filesystem::remove(answer);
  if (report.is_discarded())
    return {experiment.id, {}, true, fmt::format("the process ended without an answer (wait status {:#x})", *status)};
  return observationsFrom(report).at(0);
}

}  // namespace shiftconv::probe
