// Messages to the application's callback, or to stderr.
#pragma once

#include <shiftconv/shiftconv.h>

#include <string>

namespace shiftconv::api {

/// Whether log() would hand out such a message: worth asking before one is written. Takes no lock.
bool isLogged(shiftconv_log_level_t level);

void setLog(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level);
void log(shiftconv_log_level_t level, const std::string& message);

}  // namespace shiftconv::api
