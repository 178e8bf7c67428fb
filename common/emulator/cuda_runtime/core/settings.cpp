#include "common/emulator/cuda_runtime/core/settings.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace shiftconv::runtime {
namespace {

FILE* openLog() {
  const char* path = std::getenv("EMURUN_LOG");
  if (path == nullptr || *path == '\0') return stderr;
  FILE* file = std::fopen(path, "ae");  // appended: every process of the program writes to it
  if (file != nullptr) return file;
  fmt::print(stderr, "emurun: the log {} cannot be written: {}\n", path, std::strerror(errno));
  return stderr;
}

RunResult* mapResult() {
  const char* text = std::getenv("EMURUN_RESULT_FD");
  if (text == nullptr) return nullptr;
  int descriptor = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), descriptor);
  if (error != std::errc() || *end != '\0') return nullptr;
  void* memory = mmap(nullptr, sizeof(RunResult), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* result = static_cast<RunResult*>(memory);
  if (result->magic == RunResult::kMagic) return result;
  munmap(memory, sizeof(RunResult));
  return nullptr;
}

}  // namespace

RunResult* runResult() {
  static RunResult* const result = mapResult();
  return result;
}

bool traced() {
  static const bool on = [] {
    const char* text = std::getenv("EMURUN_TRACE");
    return text != nullptr && std::strcmp(text, "1") == 0;
  }();
  return on;
}

void dumpPtx(std::string_view ptx, std::string_view image) {
  const char* folder = std::getenv("EMURUN_DUMP_PTX");
  if (folder == nullptr || *folder == '\0') return;
  static std::mutex mutex;
  static unsigned images = 0;
  const std::lock_guard lock(mutex);
  std::error_code ignored;  // the file below says what is wrong
  std::filesystem::create_directories(folder, ignored);
  const std::string path = fmt::format("{}/{}.ptx", folder, ++images);
  std::ofstream file(path, std::ios::binary);
  file.write(ptx.data(), static_cast<std::streamsize>(ptx.size()));
  const bool isThere = !file.flush().fail();
  say(fmt::format("the PTX of {} {} {}", image, isThere ? "is in" : "cannot be written to", path));
}

void say(const std::string& text) {
  static std::mutex mutex;
  static FILE* const log = openLog();
  const std::lock_guard lock(mutex);
  std::fflush(stdout);  // what kernels and the program have printed so far comes first
  fmt::print(log, "emurun: {}\n", text);
  std::fflush(log);
}

}  // namespace shiftconv::runtime
