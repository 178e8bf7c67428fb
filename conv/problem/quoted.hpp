// What a caller wrote, in a message about it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shiftconv {

/// In quotation marks; of a text of more than 80 characters the beginning, and how long it is.
inline std::string quoted(std::string_view text) {
  constexpr size_t kMost = 80;
  if (text.size() <= kMost) return "\"" + std::string(text) + "\"";
  return "\"" + std::string(text.substr(0, kMost)) + "...\" (" + std::to_string(text.size()) + " characters)";
}

}  // namespace shiftconv
