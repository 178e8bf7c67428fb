#include "common/emulator/kernel_title.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace shiftconv::emulator {
namespace {

constexpr size_t kLongest = 96;

/// The end of the name itself, where its arguments begin; brackets of templates may hold others.
size_t endOfName(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && depth > 0) --depth;
    if (text[i] == '(' && depth == 0) return i;
  }
  return text.size();
}

/// After what an instance of a template returns.
size_t beginOfName(std::string_view text) {
  size_t depth = 0, begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if ((text[i] == '>' || text[i] == ')') && depth > 0) --depth;
    if (text[i] == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

}  // namespace

std::string kernelTitle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                              &std::free);
  std::string title = name;
  if (status == 0) {
    title = demangled.get();
    title.resize(endOfName(title));
    title.erase(0, beginOfName(title));
  }
  if (title.size() <= kLongest) return title;
  if (const size_t open = title.find('<'); open != std::string::npos && open < kLongest) return title.substr(0, open) + "<...>";
  return title.substr(0, kLongest) + "...";
}

}  // namespace shiftconv::emulator
