#include "conv/api/log.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace shiftconv::api {
namespace {

constexpr std::array<const char*, 5> kLevelNames{"off", "error", "warning", "info", "debug"};

void writeToStderr(shiftconv_log_level_t level, const char* message, void*) {
  std::fprintf(stderr, "shiftconv %s: %s\n", kLevelNames[level], message);
}

/// Runs once, before the application can have set a callback.
shiftconv_log_level_t initialLevel() {
  const char* text = std::getenv("SHIFTCONV_LOG");
  for (size_t i = 0; text && i < kLevelNames.size(); ++i)
    if (std::string_view(text) == kLevelNames[i]) return static_cast<shiftconv_log_level_t>(i);
  if (text)
    std::fprintf(stderr,
                 "shiftconv warning: SHIFTCONV_LOG is \"%s\", but must be off, error, warning, info or debug; using warning\n",
                 text);
  return SHIFTCONV_LOG_WARNING;
}

struct Log {
  std::mutex mutex;  // also keeps the callback from being called by two threads at once
  shiftconv_log_callback_t callback = writeToStderr;
  void* user = nullptr;
  std::atomic<shiftconv_log_level_t> level = initialLevel();
};

Log& theLog() {
  static Log instance;
  return instance;
}

}  // namespace

void setLog(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level) {
  Log& state = theLog();
  const std::lock_guard guard(state.mutex);
  state.callback = callback ? callback : writeToStderr;
  state.user = user;
  state.level = level;
}

bool isLogged(shiftconv_log_level_t level) { return level <= theLog().level; }

void log(shiftconv_log_level_t level, const std::string& message) {
  Log& state = theLog();
  const std::lock_guard guard(state.mutex);
  if (level <= state.level) state.callback(level, message.c_str(), state.user);
}

}  // namespace shiftconv::api
