#include "conv/planner/autotune_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "conv/planner/cache_file.hpp"
#include "conv/planner/checksum.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kFirstLine = "ShiftConv autotune cache 1";
constexpr size_t kFields = 8;     // after the checksum: five of the key, three of the entry
constexpr size_t kMostNotes = 4;  // about the lines of one file

std::string oneField(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

AutotuneKey cleaned(const AutotuneKey& key) {
  return {oneField(key.problem), oneField(key.device), oneField(key.driver), oneField(key.version), oneField(key.asked)};
}

struct Line {
  AutotuneKey key;
  AutotuneEntry entry;
};

std::string write(const Line& line) {
  const std::string text =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", line.key.problem, line.key.device, line.key.driver, line.key.version,
                  line.key.asked, oneField(line.entry.algorithm), oneField(line.entry.options), line.entry.microseconds);
  return fmt::format("{:016x}\t{}\n", checksum(text), text);
}

/// Why the line is not one of ours, or nothing.
std::string read(std::string_view text, Line& line) {
  const size_t end = text.find('\t');
  uint64_t expected = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + std::min(end, text.size()), expected, 16);
  if (end != 16 || error != std::errc() || stop != text.data() + end) return "it begins with no checksum";
  const std::string_view rest = text.substr(end + 1);
  if (checksum(rest) != expected) return "its checksum is wrong";
  std::array<std::string, kFields> fields;
  size_t at = 0;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t tab = rest.find('\t', at);
    if ((tab == std::string_view::npos) != (i + 1 == kFields)) return fmt::format("it has not {} fields", kFields);
    fields[i] = rest.substr(at, tab - at);
    at = tab + 1;
  }
  const std::string& time = fields[7];
  double& microseconds = line.entry.microseconds;
  const auto number = std::from_chars(time.data(), time.data() + time.size(), microseconds);
  if (number.ec != std::errc() || number.ptr != time.data() + time.size() || !std::isfinite(microseconds) || microseconds <= 0)
    return fmt::format("\"{}\" is no time", time);
  line.key = {fields[0], fields[1], fields[2], fields[3], fields[4]};
  line.entry.algorithm = fields[5], line.entry.options = fields[6];
  return {};
}

/// Lines of an absent file are none; a file of others is an error. `notes` gets a sentence for each damaged line, up to kMostNotes.
Status readLines(const CacheFile& file, std::vector<Line>& lines, std::vector<std::string>& notes) {
  std::optional<std::string> all;
  if (Status status = file.read(all); !status.ok()) return status;
  if (!all || all->empty()) return {};
  size_t damaged = 0;
  std::string_view rest = *all;
  for (size_t number = 1; !rest.empty(); ++number) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    if (number == 1) {
      if (text == kFirstLine) continue;
      return {StatusCode::InvalidArgument,
              fmt::format("{} belongs to something else: its first line is not \"{}\"", file.path(), kFirstLine)};
    }
    Line line;
    const std::string reason = read(text, line);
    if (reason.empty())
      lines.push_back(std::move(line));
    else if (++damaged <= kMostNotes)
      notes.push_back(fmt::format("line {} of {} is ignored: {}", number, file.path(), reason));
  }
  if (damaged > kMostNotes) notes.push_back(fmt::format("{} more lines of {} are ignored", damaged - kMostNotes, file.path()));
  return {};
}

}  // namespace

Status AutotuneCache::find(const AutotuneKey& key, std::optional<AutotuneEntry>& entry, std::vector<std::string>& notes) const {
  entry.reset();
  CacheFile file;
  if (Status status = CacheFile::resolve(path_, file); !status.ok()) return status;
  std::vector<Line> lines;
  if (Status status = readLines(file, lines, notes); !status.ok()) return status;
  const AutotuneKey wanted = cleaned(key);
  for (const Line& line : lines)
    if (line.key == wanted) {
      entry = line.entry;
      break;
    }
  return {};
}

Status AutotuneCache::remember(const AutotuneKey& key, const AutotuneEntry& entry) const {
  CacheFile file;
  if (Status status = CacheFile::resolve(path_, file); !status.ok()) return status;
  FileLock lock;  // of the file that the links lead to, whichever way others come to it
  if (Status status = lock.take(file.path() + ".lock", patience_); !status.ok()) return status;

  std::vector<std::string> ignored;  // damaged lines go with the rewriting; whoever looked something up has been told
  std::vector<Line> lines;
  if (Status status = readLines(file, lines, ignored); !status.ok()) return status;
  const AutotuneKey wanted = cleaned(key);
  std::string text = std::string(kFirstLine) + "\n";
  for (const Line& line : lines)
    if (!(line.key == wanted)) text += write(line);
  return file.replace(text + write({wanted, entry}));
}

}  // namespace shiftconv::plan
