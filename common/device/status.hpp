// Status of a fallible call. The message is one sentence a user can act on; it is empty on success, so the
// success path never allocates.
#pragma once

#include <string>
#include <utility>

namespace shiftconv {

/// Values equal shiftconv_status_t of the C API.
enum class StatusCode : int {
  Success = 0,
  InvalidArgument = 1,
  Unsupported = 2,
  OutOfMemory = 3,
  DeviceError = 4,  ///< the driver or the emulator refused or stopped a launch; the message quotes it
  NotFound = 5,     ///< no such device, kernel, file or option
  InternalError = 6,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == StatusCode::Success; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::Success;
  std::string message_;
};

}  // namespace shiftconv
