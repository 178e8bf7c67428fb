#include "common/emulator/ptx/one_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shiftconv::emulator::ptx {
namespace {

constexpr std::string_view kEntry = "\n.visible .entry ";

/// After the brace that closes the body of the entry, or the end. Inline PTX may have braces at the beginning of a line.
size_t endOfEntry(std::string_view ptx, size_t entry) {
  size_t depth = 0;
  for (size_t at = entry; at < ptx.size(); ++at) {  // find_first_of() takes ten times as long
    if (ptx[at] == '{') ++depth;
    if (ptx[at] == '}' && --depth == 0) return at + 1;
    if (ptx[at] == '/' && ptx.substr(at, 2) == "//") at = std::min(ptx.find('\n', at), ptx.size() - 1);
  }
  return ptx.size();
}

}  // namespace

bool hasKernel(std::string_view ptx, std::string_view kernel) { return ptx.find(fmt::format("{}{}(", kEntry, kernel)) != ptx.npos; }

std::string withOneKernel(std::string_view ptx, std::string_view kernel) {
  constexpr std::string_view kDebug = "\n\t.section\t.debug";
  ptx = ptx.substr(0, ptx.find(kDebug));
  std::string text;
  bool found = false;
  size_t at = 0;
  while (true) {
    const size_t entry = ptx.find(kEntry, at);
    text += ptx.substr(at, entry == ptx.npos ? ptx.npos : entry - at);
    if (entry == ptx.npos) break;
    at = endOfEntry(ptx, entry);
    const std::string_view body = ptx.substr(entry, at - entry), name = body.substr(kEntry.size(), body.find('(') - kEntry.size());
    if (name == kernel) {
      text += body;
      found = true;
    } else {
      text.append(static_cast<size_t>(std::count(body.begin(), body.end(), '\n')), '\n');
    }
  }
  if (!found) throw std::invalid_argument(fmt::format("the module has no kernel {}", kernel));
  return text + "\n";
}

}  // namespace shiftconv::emulator::ptx
