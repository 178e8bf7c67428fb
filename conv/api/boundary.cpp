#include "conv/api/boundary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "conv/api/log.hpp"

namespace shiftconv::api {
namespace {

// A pointer as well, because keeping a sentence may itself run out of memory.
thread_local std::string lastErrorText;
thread_local const char* lastError = "";

shiftconv_status_t keep(shiftconv_status_t code, const std::string& message) noexcept {
  try {
    lastErrorText = message;
    lastError = lastErrorText.c_str();
    log(SHIFTCONV_LOG_DEBUG, fmt::format("{}: {}", shiftconv_status_string(code), message));
  } catch (...) {
    lastError = "out of host memory while describing another error";
  }
  return code;
}

}  // namespace

shiftconv_status_t fail(const Status& status) noexcept {
  return keep(static_cast<shiftconv_status_t>(status.code()), status.message());
}

shiftconv_status_t failOutOfMemory() noexcept {
  lastError = "out of host memory";
  return SHIFTCONV_STATUS_OUT_OF_MEMORY;
}

shiftconv_status_t failInternally(const char* what) noexcept {
  try {
    return keep(SHIFTCONV_STATUS_INTERNAL_ERROR, fmt::format("internal error, please report it: {}", what));
  } catch (...) {
    return failOutOfMemory();
  }
}

Status require(const void* pointer, const char* name) {
  if (pointer) return {};
  return {StatusCode::InvalidArgument, fmt::format("{} must not be NULL", name)};
}

Status writeText(std::string_view text, char* buffer, size_t size, size_t* needed) {
  if (size > 0 && !buffer) return {StatusCode::InvalidArgument, "buffer must not be NULL unless size is 0"};
  if (needed) *needed = text.size() + 1;
  if (size == 0) return {};
  const size_t copied = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), copied);
  buffer[copied] = '\0';
  return {};
}

}  // namespace shiftconv::api

extern "C" const char* shiftconv_last_error(void) { return shiftconv::api::lastError; }

extern "C" const char* shiftconv_status_string(shiftconv_status_t status) {
  switch (status) {
    case SHIFTCONV_STATUS_SUCCESS:
      return "SHIFTCONV_STATUS_SUCCESS";
    case SHIFTCONV_STATUS_INVALID_ARGUMENT:
      return "SHIFTCONV_STATUS_INVALID_ARGUMENT";
    case SHIFTCONV_STATUS_UNSUPPORTED:
      return "SHIFTCONV_STATUS_UNSUPPORTED";
    case SHIFTCONV_STATUS_OUT_OF_MEMORY:
      return "SHIFTCONV_STATUS_OUT_OF_MEMORY";
    case SHIFTCONV_STATUS_DEVICE_ERROR:
      return "SHIFTCONV_STATUS_DEVICE_ERROR";
    case SHIFTCONV_STATUS_NOT_FOUND:
      return "SHIFTCONV_STATUS_NOT_FOUND";
    case SHIFTCONV_STATUS_INTERNAL_ERROR:
      return "SHIFTCONV_STATUS_INTERNAL_ERROR";
    case SHIFTCONV_STATUS_FORCE_INT:
      break;
  }
  return "unknown status";
}
