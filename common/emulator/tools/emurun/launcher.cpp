#include "common/emulator/tools/emurun/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "common/emulator/cuda_runtime/core/run_result.hpp"
#include "common/emulator/hazard_report.hpp"
#include "common/emulator/tools/emurun/program_file.hpp"
#include "common/emulator/tools/emurun/user_error.hpp"

namespace emurun {
namespace {

namespace fs = std::filesystem;
using shiftconv::runtime::RunResult;

/// Beside the build's or the installation's bin folder.
fs::path libraryFolder() {
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  fs::path folder = prefix / "lib" / "emulated_cuda";
  if (!fs::exists(folder)) folder = prefix / EMURUN_LIBDIR / "emulated_cuda";
  for (const char* library : {"libcudart.so.13", "libcuda.so.1"})
    if (!fs::exists(folder / library)) throw UserError(fmt::format("{} is missing in {}", library, folder.string()));
  return folder;
}

/// Memory that the library in the program writes and emurun reads.
class SharedResult {
 public:
  SharedResult() : descriptor_(memfd_create("emurun", 0)) {
    if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(RunResult)) != 0)
      throw UserError(fmt::format("no memory to share with the program: {}", std::strerror(errno)));
    void* memory = mmap(nullptr, sizeof(RunResult), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) throw UserError(fmt::format("no memory to share with the program: {}", std::strerror(errno)));
    result_ = static_cast<RunResult*>(memory);
    result_->magic = RunResult::kMagic;
  }
  ~SharedResult() {
    munmap(result_, sizeof(RunResult));
    close(descriptor_);
  }
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;
  int descriptor() const { return descriptor_; }
  const RunResult& operator*() const { return *result_; }

 private:
  int descriptor_;
  RunResult* result_;
};

/// The log must be there, and writable, before a long run begins.
void prepareLog(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw UserError(fmt::format("the log {} cannot be written: {}", path, std::strerror(errno)));
  std::fclose(file);
}

void say(const Options& options, const std::string& text) {
  FILE* file = options.log.empty() ? stderr : std::fopen(options.log.c_str(), "a");
  if (file == nullptr) return;
  fmt::print(file, "emurun: {}\n", text);
  if (file != stderr) std::fclose(file);
}

void summarise(const Options& options, const RunResult& result) {
  if (result.calls == 0) say(options, "the program made no call to the CUDA API");
  if (result.failures != 0)
    say(options, fmt::format("{} launch{} failed: see above", result.failures, result.failures == 1 ? "" : "es"));
  if (!options.hazards) return;
  const char* plural = result.launches == 1 ? "launch" : "launches";
  say(options, fmt::format("{} in {} {}", shiftconv::emulator::summariseHazards(result.hazards), result.launches, plural));
}

uint64_t hazardsOf(const RunResult& result) { return std::accumulate(result.hazards.begin(), result.hazards.end(), uint64_t{0}); }

}  // namespace

int runProgram(const Options& options) {
  const fs::path folder = libraryFolder();
  const fs::path program = findProgram(options.command.front());
  if (!options.log.empty()) prepareLog(options.log);
  const SharedResult result;
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  setenv("EMURUN_RESULT_FD", std::to_string(result.descriptor()).c_str(), 1);
  if (!options.log.empty()) setenv("EMURUN_LOG", fs::absolute(options.log).c_str(), 1);
  const char* path = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", (folder.string() + (path == nullptr || *path == '\0' ? "" : ":" + std::string(path))).c_str(), 1);
  checkProgram(program, folder, environ);

  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t process = 0;
  const int failure = posix_spawn(&process, program.c_str(), nullptr, nullptr, argv.data(), environ);
  if (failure != 0) throw UserError(fmt::format("{} cannot be started: {}", program.string(), std::strerror(failure)));
  signal(SIGINT, SIG_IGN);  // the terminal sends it to the program, too, which decides
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  summarise(options, *result);
  if (WIFSIGNALED(status)) {
    say(options, fmt::format("the program was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
    return 128 + WTERMSIG(status);
  }
  const int code = WEXITSTATUS(status);
  if (code != 0) return code;
  return (*result).failures != 0 ? exit_code::kLaunches : hazardsOf(*result) != 0 ? exit_code::kHazards : 0;
}

}  // namespace emurun
