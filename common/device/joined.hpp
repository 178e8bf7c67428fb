// "a, b, c" for messages.
#pragma once

#include <fmt/format.h>

#include <string>

namespace shiftconv::device {

template <class Range>
std::string joined(const Range& range, const char* separator = ", ") {
  std::string text;
  for (const auto& item : range) {
    if (!text.empty()) text += separator;
    text += fmt::to_string(item);
  }
  return text;
}

}  // namespace shiftconv::device
