// hardware_recordings: the same PTX on a GPU and on the emulator, compared bit for bit. See FINDINGS.md beside this file.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "tests/hardware_recordings/backend.hpp"
#include "tests/hardware_recordings/comparison.hpp"
#include "tests/hardware_recordings/recorder.hpp"
#include "tests/hardware_recordings/recording.hpp"
#include "tests/hardware_recordings/summary.hpp"

namespace shiftconv::recordings {
namespace {

constexpr size_t kCompactPrefix = 192;
constexpr size_t kCompactPrefixLong = 16384;  ///< of cases with a finding or a tolerance, which need their numbers

struct Selection {
  std::string shard = "0/1";
  std::string filter;

  std::vector<const CaseEntry*> cases() const {
    const size_t slash = shard.find('/');
    if (slash == std::string::npos) throw command_line::Error("--shard", "takes i/n");
    const size_t part = std::stoul(shard.substr(0, slash)), parts = std::stoul(shard.substr(slash + 1));
    if (part >= parts) throw command_line::Error("--shard", "takes i/n with i from 0 to n-1");
    std::vector<const CaseEntry*> selected;
    size_t number = 0;
    for (const CaseEntry& entry : allCases()) {
      const std::string full = entry.family + "/" + entry.name;
      if (full.find(filter) != std::string::npos && number++ % parts == part) selected.push_back(&entry);
    }
    return selected;
  }
  void addTo(command_line::Command command) {
    command.option("--shard", shard, "i/n: only every n-th case, from i");
    command.option("--filter", filter, "only cases whose family/name contains this text");
  }
};

Recording mustRead(const std::string& path) {
  std::optional<Recording> recording = readRecording(path);
  if (!recording) throw std::runtime_error(fmt::format("cannot open {}", path));
  return std::move(*recording);
}

int list(const Selection& selection) {
  for (const CaseEntry* entry : selection.cases()) fmt::print("{}/{}\n", entry->family, entry->name);
  return 0;
}

/// One file per case, to be assembled with ptxas.
int writePtx(const Selection& selection, const std::string& directory) {
  std::filesystem::create_directories(directory);
  size_t number = 0;
  for (const CaseEntry* entry : selection.cases()) {
    std::ofstream file(fmt::format("{}/{:05}.ptx", directory, number++));
    file << "// " << entry->family << "/" << entry->name << "\n" << entry->make().ptx;
  }
  return 0;
}

int record(const Selection& selection, const std::string& path, bool worker) {
  if (worker) return recordMissing(selection.cases(), path);
  const std::vector<std::string> arguments{"record",  "--worker",      "--out",    path,
                                           "--shard", selection.shard, "--filter", selection.filter};
  const std::string error = superviseRecording(selection.cases(), path, arguments);
  if (!error.empty()) {
    fmt::print(stderr, "hardware_recordings: {}\n", error);
    return 1;
  }
  fmt::print("{}: {} cases, {}\n", path, mustRead(path).records.size(), mustRead(path).header);
  return 0;
}

/// Puts the recordings of shards together.
int merge(const std::vector<std::string>& inputs, const std::string& output) {
  startRecording(output, mustRead(inputs.front()).header);
  for (const std::string& input : inputs)
    for (const Record& one : mustRead(input).records) appendRecord(output, one);
  return 0;
}

/// The answer that an observation gives; empty without one.
std::string answerOf(const Case& made, const Record& one) { return made.finding({one.outcome, one.text, one.prefix}); }

/// Merges recordings into one that keeps prefixes, hashes and the answers to questions.
int compact(const std::vector<std::string>& inputs, const std::string& output) {
  std::map<std::string, const CaseEntry*> entries;
  for (const CaseEntry& entry : allCases()) entries[entry.name] = &entry;
  startRecording(output, mustRead(inputs.front()).header);
  for (const std::string& input : inputs)
    for (const Record& one : mustRead(input).records) {
      const auto entry = entries.find(one.name);
      if (entry == entries.end()) continue;
      const Case made = entry->second->make();
      Record small = compacted(one, made.tolerance.number != Tolerance::Number::None ? kCompactPrefixLong : kCompactPrefix);
      if (made.finding && one.outcome == Outcome::Ok) small.text = answerOf(made, one);
      appendRecord(output, small);
    }
  return 0;
}

int findings(const Selection& selection, const std::string& path) {
  const Recording recording = mustRead(path);
  fmt::print("{}\n", recording.header);
  for (const CaseEntry* entry : selection.cases()) {
    const Case made = entry->make();
    const auto found = recording.index.find(entry->name);
    if (!made.finding || found == recording.index.end()) continue;
    const Record& one = recording.records[found->second];
    fmt::print("{}/{}: {}\n", entry->family, entry->name, one.prefix.size() < one.totalBytes ? one.text : answerOf(made, one));
  }
  return 0;
}

int show(const Selection& selection, const std::string& path) {
  const Recording recording = mustRead(path);
  for (const CaseEntry* entry : selection.cases()) {
    const auto found = recording.index.find(entry->name);
    if (found == recording.index.end()) continue;
    const Record& one = recording.records[found->second];
    fmt::print("{}/{}: {} {} bytes {}", entry->family, entry->name, kOutcomeNames[static_cast<size_t>(one.outcome)], one.totalBytes,
               one.text);
    for (size_t i = 0; i < one.prefix.size(); ++i)
      fmt::print("{}{:02x}", i % 32 == 0 ? "\n  " : i % 4 == 0 ? " " : "", static_cast<unsigned>(one.prefix[i]));
    fmt::print("\n");
  }
  return 0;
}

struct CompareOptions {
  std::string recording, summary, check;
  bool progress = false;
};

/// Empty when the file holds exactly this text.
std::string differs(const std::string& path, const std::string& text) {
  std::ifstream file(path);
  const std::string present{std::istreambuf_iterator<char>(file), {}};
  return present == text ? std::string{} : fmt::format("{} is not what this comparison says; write it anew with --summary\n", path);
}

int compare(const Selection& selection, const CompareOptions& options) {
  std::string why;
  const std::unique_ptr<Backend> emulator = makeEmulatorBackend(why);
  if (!emulator) throw std::runtime_error(why);
  const Recording recording = mustRead(options.recording);
  Summary summary(recording.header);
  for (const CaseEntry* entry : selection.cases()) {
    if (options.progress) fmt::print(stderr, "{}/{}\n", entry->family, entry->name);
    const Case made = entry->make();
    const auto found = recording.index.find(entry->name);
    const Record* expected = found == recording.index.end() ? nullptr : &recording.records[found->second];
    const bool compared = made.unjudged.empty();
    summary.add(*entry, judge(made, compared ? emulator->run(made) : Observation{}, expected), expected ? expected->totalBytes : 0);
  }
  fmt::print("recorded: {}\n{}", recording.header, summary.table());
  if (!options.summary.empty()) std::ofstream(options.summary) << summary.markdown();
  const std::string stale = options.check.empty() ? std::string{} : differs(options.check, summary.markdown());
  fmt::print("{}", stale);
  const size_t agreeing = summary.count(Verdict::Match) + summary.count(Verdict::WithinError) + summary.count(Verdict::Unjudged);
  return agreeing == selection.cases().size() && stale.empty() ? 0 : 1;
}

int run(int argc, char** argv) {
  command_line::Parser parser("Differential suite: the same PTX on a GPU and on the emulator");
  parser.requireSubcommand();
  Selection selection;
  std::string path, directory;
  std::vector<std::string> inputs;
  CompareOptions comparison;
  bool worker = false;

  command_line::Command listing = parser.subcommand("list", "names of the cases");
  command_line::Command ptx = parser.subcommand("ptx", "write the PTX of every case");
  ptx.option("directory", directory).required();
  command_line::Command recording = parser.subcommand("record", "run on the GPU; continues an interrupted recording");
  recording.option("--out", path).required();
  recording.flag("--worker", worker).hidden();
  command_line::Command merging = parser.subcommand("merge", "put the recordings of shards together");
  command_line::Command compacting = parser.subcommand("compact", "merge recordings (of shards) and keep prefixes and hashes");
  for (command_line::Command command : {merging, compacting}) {
    command.option("inputs", inputs).required();
    command.option("--out", path).required();
  }
  command_line::Command comparing = parser.subcommand("compare", "run on the emulator and compare with a recording; needs no GPU");
  comparing.option("recording", comparison.recording).required();
  command_line::Command both = parser.subcommand("run", "record, then compare");
  both.option("--out", comparison.recording, "recording to make or continue").required();
  for (command_line::Command command : {comparing, both}) {
    command.flag("--progress", comparison.progress, "name each case on standard error before it runs");
    command.option("--summary", comparison.summary, "write the summary");
    command.option("--check", comparison.check, "fail unless this file holds the summary");
  }
  command_line::Command answers = parser.subcommand("findings", "what a recording says about open questions");
  answers.option("recording", path).required();
  command_line::Command showing = parser.subcommand("show", "recorded bytes");
  showing.option("recording", path).required();
  for (command_line::Command command : {listing, ptx, recording, comparing, both, answers, showing}) selection.addTo(command);

  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  if (listing.given()) return list(selection);
  if (ptx.given()) return writePtx(selection, directory);
  if (recording.given()) return record(selection, path, worker);
  if (merging.given()) return merge(inputs, path);
  if (compacting.given()) return compact(inputs, path);
  if (answers.given()) return findings(selection, path);
  if (showing.given()) return show(selection, path);
  if (both.given())
    if (const int status = record(selection, comparison.recording, false)) return status;
  return compare(selection, comparison);
}

}  // namespace
}  // namespace shiftconv::recordings

int main(int argc, char** argv) {
  try {
    return shiftconv::recordings::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hardware_recordings: %s\n", error.what());
    return 2;
  }
}
