#include "common/emulator/ptx/one_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shiftconv::emulator::ptx {
namespace {

constexpr std::string_view kEntry = "\n.visible .entry ";

}  // namespace

bool hasKernel(std::string_view ptx, std::string_view kernel) { return ptx.find(fmt::format("{}{}(", kEntry, kernel)) != ptx.npos; }

std::string withOneKernel(std::string_view ptx, std::string_view kernel) {
  constexpr std::string_view kEnd = "\n}\n", kDebug = "\n\t.section\t.debug";
  ptx = ptx.substr(0, ptx.find(kDebug));
  std::string text;
  bool found = false;
  size_t at = 0;
  while (true) {
    const size_t entry = ptx.find(kEntry, at);
    text += ptx.substr(at, entry == ptx.npos ? ptx.npos : entry - at);
    if (entry == ptx.npos) break;
    at = ptx.find(kEnd, entry);
    at = at == ptx.npos ? ptx.size() : at + kEnd.size() - 1;
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
