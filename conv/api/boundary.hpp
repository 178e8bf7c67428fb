// The edge of the C ABI: statuses and exceptions become a status code and the thread's last error.
#pragma once

#include <shiftconv/shiftconv.h>

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "common/device/status.hpp"

namespace shiftconv::api {

/// Keeps the sentence for shiftconv_last_error() and returns the code.
shiftconv_status_t fail(const Status& status) noexcept;
shiftconv_status_t failOutOfMemory() noexcept;
shiftconv_status_t failInternally(const char* what) noexcept;

/// Runs `body`, which returns a Status and may throw.
template <class Body>
shiftconv_status_t boundary(Body&& body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? SHIFTCONV_STATUS_SUCCESS : fail(status);
  } catch (const std::bad_alloc&) {
    return failOutOfMemory();
  } catch (const std::exception& exception) {
    return failInternally(exception.what());
  } catch (...) {
    return failInternally("an exception of unknown type");
  }
}

/// InvalidArgument "<name> must not be NULL" when it is.
Status require(const void* pointer, const char* name);

/// The convention of every function that writes text; see shiftconv.h.
Status writeText(std::string_view text, char* buffer, size_t size, size_t* needed);

}  // namespace shiftconv::api
