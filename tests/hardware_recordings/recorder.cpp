#include "tests/hardware_recordings/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/hardware_recordings/backend.hpp"
#include "tests/hardware_recordings/recording.hpp"

namespace shiftconv::recordings {
namespace {

/// The context is unusable and the case at fault is recorded: start a new process.
constexpr int kContinueElsewhere = 75;
constexpr int kNoDevice = 69;
constexpr std::chrono::seconds kSilenceLimit{25};  ///< without a new record; starting a context takes seconds

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

const CaseEntry* firstMissing(const std::vector<const CaseEntry*>& selected, const std::string& path) {
  const std::optional<Recording> recording = readRecording(path);
  for (const CaseEntry* entry : selected)
    if (!recording || !recording->index.contains(entry->name)) return entry;
  return nullptr;
}

/// Drops what an interrupted run left behind the last whole record.
void repair(const std::string& path) {
  const std::optional<Recording> recording = readRecording(path);
  if (!recording) return;
  startRecording(path, recording->header);
  for (const Record& record : recording->records) appendRecord(path, record);
}

off_t sizeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

/// Runs one worker; its exit status, or the negative signal number. Kills it when the file stops growing.
int runWorker(const std::string& path, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  std::vector<std::string> copy = arguments;
  copy.insert(copy.begin(), "hardware_recordings");
  for (std::string& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  if (child < 0) return 127;
  auto lastGrowth = std::chrono::steady_clock::now();
  off_t size = sizeOf(path);
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (const off_t now = sizeOf(path); now != size) {
      size = now;
      lastGrowth = std::chrono::steady_clock::now();
    }
    if (std::chrono::steady_clock::now() - lastGrowth > kSilenceLimit) kill(child, SIGKILL);
  }
}

}  // namespace

std::string superviseRecording(const std::vector<const CaseEntry*>& selected, const std::string& path,
                               const std::vector<std::string>& workerArguments) {
  repair(path);
  while (const CaseEntry* before = firstMissing(selected, path)) {
    const int status = runWorker(path, workerArguments);
    if (status == kNoDevice || status == 127) return "no usable GPU";
    if (status == 0 || status == kContinueElsewhere) {
      if (firstMissing(selected, path) == before) return fmt::format("'{}' is not recorded and nothing says why", before->name);
      continue;
    }
    repair(path);
    const CaseEntry* culprit = firstMissing(selected, path);
    if (!culprit) break;
    if (!readRecording(path)) return fmt::format("the first worker ended with status {} before it recorded anything", status);
    const Outcome outcome = status == -SIGKILL ? Outcome::TimedOut : Outcome::LaunchFailed;
    appendRecord(
        path, fullRecord(culprit->name, culprit->make(), {outcome, fmt::format("the process ended with status {}", status), {}}));
  }
  return {};
}

int recordMissing(const std::vector<const CaseEntry*>& selected, const std::string& path) {
  std::string why;
  const std::unique_ptr<Backend> gpu = makeGpuBackend(why);
  if (!gpu) {
    fmt::print(stderr, "hardware_recordings: {}\n", why);
    return kNoDevice;
  }
  std::optional<Recording> recording = readRecording(path);
  if (!recording) {
    const nlohmann::json header{
        {"date", today()}, {"device", gpu->device()}, {"driver", gpu->driver()}, {"seed", fmt::format("{:#x}", kSuiteSeed)}};
    startRecording(path, header.dump());
    recording.emplace();
  }
  for (const CaseEntry* entry : selected) {
    if (recording->index.contains(entry->name)) continue;
    const Case made = entry->make();
    appendRecord(path, fullRecord(entry->name, made, gpu->run(made)));
    if (gpu->broken()) _exit(kContinueElsewhere);  // no destructors: the driver may hang in them
  }
  return 0;
}

}  // namespace shiftconv::recordings
