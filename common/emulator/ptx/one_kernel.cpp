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
  for (size_t at = entry; at < ptx.size(); ++at) {  // find_first_of() calls memchr for each character
    if (ptx[at] == '{') ++depth;
    if (ptx[at] == '}' && --depth == 0) return at + 1;
    if (ptx[at] == '/' && ptx.substr(at, 2) == "//") at = std::min(ptx.find('\n', at), ptx.size() - 1);
  }
  return ptx.size();
}

}  // namespace

KernelTexts::KernelTexts(std::string_view ptx) : ptx_(ptx.substr(0, ptx.find("\n\t.section\t.debug"))) {
  for (size_t entry = ptx_.find(kEntry), end = 0; entry != ptx_.npos; entry = ptx_.find(kEntry, end)) {
    end = endOfEntry(ptx_, entry);
    const std::string_view body = ptx_.substr(entry, end - entry), name = body.substr(kEntry.size());
    entries_.push_back(
        {name.substr(0, name.find('(')), entry, end, static_cast<size_t>(std::count(body.begin(), body.end(), '\n'))});
  }
}

bool KernelTexts::has(std::string_view kernel) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == kernel; });
}

std::string KernelTexts::with(std::string_view kernel) const {
  if (!has(kernel)) throw std::invalid_argument(fmt::format("the module has no kernel {}", kernel));
  std::string text;
  size_t at = 0;
  for (const Entry& entry : entries_) {
    text += ptx_.substr(at, entry.begin - at);
    if (entry.name == kernel)
      text += ptx_.substr(entry.begin, entry.end - entry.begin);
    else
      text.append(entry.lines, '\n');
    at = entry.end;
  }
  text += ptx_.substr(at);
  return text + "\n";
}

}  // namespace shiftconv::emulator::ptx
