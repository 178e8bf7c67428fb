#include "tests/hazards/mutation/source_positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace shiftconv::tests {
namespace {

/// The unsigned numbers of `text` up to the first thing that is neither a number nor a blank.
std::vector<uint32_t> leadingNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

SourcePositions::SourcePositions(std::string_view ptx) {
  const std::string_view kInlinedAt = "inlined_at ";
  uint32_t number = 0;
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    ++number;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(".file")) {
      const auto index = leadingNumbers(line.substr(5));
      const size_t quote = line.find('"');
      if (!index.empty() && quote != std::string_view::npos) files_[index[0]] = line.substr(quote + 1, line.rfind('"') - quote - 1);
    } else if (line.starts_with(".loc")) {
      const auto place = leadingNumbers(line.substr(4));
      if (place.size() != 3) continue;
      Frame frame{number, {place[0], place[1], place[2]}, {}};
      if (const size_t at = line.find(kInlinedAt); at != std::string_view::npos) {
        const auto outer = leadingNumbers(line.substr(at + kInlinedAt.size()));
        if (outer.size() == 3) frame.inlinedAt = {outer[0], outer[1], outer[2]};
      }
      frames_.push_back(frame);
    }
  }
}

bool SourcePositions::isWrapper(uint32_t file) const {
  const auto found = files_.find(file);
  return found != files_.end() &&
         (found->second.find("common/ptx/") != std::string::npos || found->second.ends_with("_intrinsics.hpp"));
}

const SourcePositions::Frame* SourcePositions::frameOf(const Place& place, uint32_t beforePtxLine) const {
  const Frame* found = nullptr;
  for (const Frame& frame : frames_) {
    if (frame.ptxLine >= beforePtxLine) break;
    if (frame.place == place) found = &frame;
  }
  return found;
}

std::string SourcePositions::at(uint32_t ptxLine) const {
  const auto next = std::upper_bound(frames_.begin(), frames_.end(), ptxLine,
                                     [](uint32_t line, const Frame& frame) { return line < frame.ptxLine; });
  if (next == frames_.begin()) return {};
  const Frame* frame = &*(next - 1);
  while (frame != nullptr && isWrapper(std::get<0>(frame->place))) frame = frameOf(frame->inlinedAt, frame->ptxLine);
  if (frame == nullptr) return {};
  const auto [file, line, column] = frame->place;
  const auto name = files_.find(file);
  if (name == files_.end()) return {};
  std::string lines = std::to_string(line);
  for (int calls = 0; calls < 2 && frame != nullptr && std::get<0>(frame->inlinedAt) != 0; ++calls) {
    lines = fmt::format("{}/{}", std::get<1>(frame->inlinedAt), lines);
    frame = frameOf(frame->inlinedAt, frame->ptxLine);
  }
  return fmt::format("{}:{}", name->second.substr(name->second.rfind('/') + 1), lines);
}

}  // namespace shiftconv::tests
