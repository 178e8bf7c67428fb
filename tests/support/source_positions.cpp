#include "tests/support/source_positions.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace shiftconv::tests {
namespace {

/// The unsigned numbers of `text` up to the first thing that is neither a number nor a blank or a comma.
std::vector<uint32_t> leadingNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t,"), text.size()));
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

/// What follows `keyword` in `line` up to a comma; "" without it.
std::string_view wordAfter(std::string_view line, std::string_view keyword) {
  const size_t at = line.find(keyword);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + keyword.size());
  return line.substr(0, line.find(','));
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // would be read as the name of a type
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

/// Names at the labels of a `.debug_str` section, whose characters are ".b8 95" or ".b8 95,90" lines that end with a zero.
class NameReader {
 public:
  explicit NameReader(std::map<std::string, std::string>& names) : names_(names) {}

  void read(std::string_view line) {
    if (line.starts_with(".section")) {
      inside_ = line.find(".debug_str") != std::string_view::npos;
    } else if (!inside_) {
      return;
    } else if (line.ends_with(':')) {
      label_ = line.substr(0, line.size() - 1);
      text_.clear();
    } else if (line.starts_with(".b8")) {
      for (const uint32_t byte : leadingNumbers(line.substr(3))) {
        if (byte == 0) names_[label_] = shortFunctionName(demangled(text_));
        text_ += static_cast<char>(byte);
      }
    }
  }

 private:
  std::map<std::string, std::string>& names_;
  bool inside_ = false;
  std::string label_, text_;
};

}  // namespace

std::string shortFunctionName(std::string_view demangled) {
  // Names up to the first lambda, without anything in brackets of any kind.
  demangled = demangled.substr(0, demangled.find("::{lambda"));
  std::string plain;
  int depth = 0;
  for (const char c : demangled) {
    if (c == '(' || c == '<') ++depth;
    if (depth == 0) plain += c;
    if (c == ')' || c == '>') --depth;
  }
  if (plain.ends_with(" const")) plain.resize(plain.size() - std::string_view(" const").size());
  const size_t last = plain.rfind("::");
  plain = last == std::string::npos ? plain : plain.substr(last + 2);
  return plain.substr(plain.rfind(' ') + 1);  // a result type stands in front of templates
}

SourcePositions::SourcePositions(std::string_view ptx) {
  NameReader names(functions_);
  uint32_t number = 0;
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    ++number;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    names.read(line);
    if (line.starts_with(".file")) {
      const auto index = leadingNumbers(line.substr(5));
      const size_t quote = line.find('"');
      if (!index.empty() && quote != std::string_view::npos) files_[index[0]] = line.substr(quote + 1, line.rfind('"') - quote - 1);
    } else if (line.starts_with(".loc")) {
      const auto place = leadingNumbers(line.substr(4));
      if (place.size() != 3) continue;
      Frame frame{number, {place[0], place[1], place[2]}, {}, {}};
      const auto outer = leadingNumbers(wordAfter(line, "inlined_at "));
      if (outer.size() == 3) frame.inlinedAt = {outer[0], outer[1], outer[2]};
      frame.function = wordAfter(line, "function_name ");
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

const SourcePositions::Frame* SourcePositions::innermostAt(uint32_t ptxLine) const {
  const auto next = std::upper_bound(frames_.begin(), frames_.end(), ptxLine,
                                     [](uint32_t line, const Frame& frame) { return line < frame.ptxLine; });
  if (next == frames_.begin()) return nullptr;
  const Frame* frame = &*(next - 1);
  while (frame != nullptr && isWrapper(std::get<0>(frame->place))) frame = frameOf(frame->inlinedAt, frame->ptxLine);
  return frame;
}

std::string SourcePositions::at(uint32_t ptxLine) const {
  const Frame* frame = innermostAt(ptxLine);
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

std::string SourcePositions::functionsAt(uint32_t ptxLine) const {
  std::string functions;
  for (const Frame* frame = innermostAt(ptxLine); frame != nullptr && !frame->function.empty();
       frame = frameOf(frame->inlinedAt, frame->ptxLine)) {
    const auto name = functions_.find(frame->function);
    if (name == functions_.end()) break;
    functions = functions.empty() ? name->second : fmt::format("{}/{}", name->second, functions);
  }
  return functions;
}

std::vector<SourcePositions::SourceLine> SourcePositions::linesAt(uint32_t ptxLine) const {
  std::vector<SourceLine> lines;
  for (const Frame* frame = innermostAt(ptxLine); frame != nullptr; frame = frameOf(frame->inlinedAt, frame->ptxLine)) {
    const auto [file, line, column] = frame->place;
    if (const auto path = files_.find(file); path != files_.end()) lines.insert(lines.begin(), {path->second, line});
  }
  return lines;
}

}  // namespace shiftconv::tests
