#include "common/device/embedded_ptx.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>

#include "common/emulator/program/target.hpp"

namespace shiftconv::device {

/// A row of the table; see cmake/kernel_text.S.in.
struct EmbeddedText {
  const char *module, *target;
  const std::byte *begin, *end;
};

// The linker defines both where any object has the section.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const EmbeddedText __start_shiftconv_ptx_texts[];
[[gnu::weak, gnu::visibility("hidden")]] extern const EmbeddedText __stop_shiftconv_ptx_texts[];
}

namespace {

std::span<const EmbeddedText> embeddedTexts() {
  const EmbeddedText* const first = __start_shiftconv_ptx_texts;
  return first == nullptr ? std::span<const EmbeddedText>() : std::span(first, __stop_shiftconv_ptx_texts);
}

std::string unpack(const EmbeddedText& row) {
  const auto packed = static_cast<size_t>(row.end - row.begin);
  std::string text(ZSTD_getFrameContentSize(row.begin, packed), '\0');
  if (ZSTD_decompress(text.data(), text.size(), row.begin, packed) != text.size())
    throw std::logic_error(fmt::format("the embedded PTX of module {} for {} is damaged", row.module, row.target));
  return text;
}

std::string_view unpackedOnce(const EmbeddedText& row) {
  static std::mutex mutex;
  static std::map<const EmbeddedText*, std::string>& unpacked = *new std::map<const EmbeddedText*, std::string>;
  const std::lock_guard guard(mutex);
  std::string& text = unpacked[&row];
  if (text.empty()) text = unpack(row);
  return text;
}

/// Whether PTX for `made` runs on a device `target`.
bool suits(std::string_view made, std::string_view target) {
  const emulator::program::Target *text = emulator::program::findTarget(made), *device = emulator::program::findTarget(target);
  return made == target || (text != nullptr && device != nullptr && emulator::program::runsOn(*text, *device));
}

}  // namespace

std::string_view ptxFor(const ModuleImage& image, std::string_view target) {
  std::string_view made;  // the best so far
  for (const std::string_view other : ptxTargets(image))
    if (suits(other, target) && (made.empty() || suits(made, other))) made = other;
  if (made.empty()) return {};
  for (const PtxImage& own : image.ptx)
    if (own.target == made) return own.text;
  for (const EmbeddedText& row : embeddedTexts())
    if (row.module == image.name && row.target == made) return unpackedOnce(row);
  return {};
}

std::vector<std::string_view> ptxTargets(const ModuleImage& image) {
  std::vector<std::string_view> targets;
  for (const PtxImage& own : image.ptx) targets.push_back(own.target);
  if (image.ptx.empty())
    for (const EmbeddedText& row : embeddedTexts())
      if (row.module == image.name) targets.push_back(row.target);
  return targets;
}

}  // namespace shiftconv::device
