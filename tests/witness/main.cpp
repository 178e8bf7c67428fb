// witness: the same PTX on a GPU and on the emulator, compared bit for bit. See README.md beside this file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/witness/backend.hpp"
#include "tests/witness/comparison.hpp"
#include "tests/witness/recorder.hpp"
#include "tests/witness/recording.hpp"
#include "tests/witness/summary.hpp"

namespace shiftconv::witness {
namespace {

constexpr size_t kCompactPrefix = 192;
constexpr size_t kCompactPrefixLong = 4096;  ///< of cases with a finding or a tolerance, which need their numbers

struct Selection {
  std::string shard = "0/1";
  std::string filter;

  std::vector<const CaseEntry*> cases() const {
    const size_t slash = shard.find('/');
    if (slash == std::string::npos) throw CLI::ValidationError("--shard", "takes i/n");
    const size_t part = std::stoul(shard.substr(0, slash)), parts = std::stoul(shard.substr(slash + 1));
    if (part >= parts) throw CLI::ValidationError("--shard", "takes i/n with i from 0 to n-1");
    std::vector<const CaseEntry*> selected;
    size_t number = 0;
    for (const CaseEntry& entry : allCases()) {
      const std::string full = entry.family + "/" + entry.name;
      if (full.find(filter) != std::string::npos && number++ % parts == part) selected.push_back(&entry);
    }
    return selected;
  }
  void addTo(CLI::App* command) {
    command->add_option("--shard", shard, "i/n: only every n-th case, from i");
    command->add_option("--filter", filter, "only cases whose family/name contains this text");
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
  const std::vector<std::string> arguments{"record", "--worker", "--out", path, "--shard", selection.shard, "--filter", selection.filter};
  const std::string error = superviseRecording(selection.cases(), path, arguments);
  if (!error.empty()) {
    fmt::print(stderr, "witness: {}\n", error);
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

/// Merges recordings into one that keeps a prefix and hashes.
int compact(const std::vector<std::string>& inputs, const std::string& output) {
  std::set<std::string> needNumbers;
  for (const CaseEntry& entry : allCases())
    if (const Case made = entry.make(); made.finding || made.tolerance.number != Tolerance::Number::None) needNumbers.insert(entry.name);
  startRecording(output, mustRead(inputs.front()).header);
  for (const std::string& input : inputs)
    for (const Record& one : mustRead(input).records)
      appendRecord(output, compacted(one, needNumbers.contains(one.name) ? kCompactPrefixLong : kCompactPrefix));
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
    std::string answer;
    if (one.prefix.size() < one.totalBytes)
      answer = "(needs the full recording)";
    else
      answer = made.finding({one.outcome, one.text, one.prefix});
    fmt::print("{}/{}: {}\n", entry->family, entry->name, answer);
  }
  return 0;
}

int show(const Selection& selection, const std::string& path) {
  const Recording recording = mustRead(path);
  for (const CaseEntry* entry : selection.cases()) {
    const auto found = recording.index.find(entry->name);
    if (found == recording.index.end()) continue;
    const Record& one = recording.records[found->second];
    fmt::print("{}/{}: {} {} bytes {}", entry->family, entry->name, kOutcomeNames[static_cast<size_t>(one.outcome)], one.totalBytes, one.text);
    for (size_t i = 0; i < one.prefix.size(); ++i) fmt::print("{}{:02x}", i % 32 == 0 ? "\n  " : i % 4 == 0 ? " " : "", static_cast<unsigned>(one.prefix[i]));
    fmt::print("\n");
  }
  return 0;
}

/// Names that may be missing from the emulator, one per line; '#' starts a comment.
std::set<std::string> readNames(const std::string& path) {
  std::set<std::string> names;
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot open {}", path));
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.insert(line);
  return names;
}

struct CompareOptions {
  std::string recording, json, allowMissing;
  bool progress = false;
};

int compare(const Selection& selection, const CompareOptions& options) {
  std::string why;
  const std::unique_ptr<Backend> emulator = makeEmulatorBackend(why);
  if (!emulator) throw std::runtime_error(why);
  const Recording recording = mustRead(options.recording);
  const std::set<std::string> allowed = options.allowMissing.empty() ? std::set<std::string>{} : readNames(options.allowMissing);
  Summary summary(recording.header);
  size_t unexpected = 0;
  for (const CaseEntry* entry : selection.cases()) {
    if (options.progress) fmt::print(stderr, "{}/{}\n", entry->family, entry->name);
    const Case made = entry->make();
    const auto found = recording.index.find(entry->name);
    const Record* expected = found == recording.index.end() ? nullptr : &recording.records[found->second];
    const Judgement judgement = judge(made, emulator->run(made), expected);
    summary.add(*entry, judgement);
    if (judgement.verdict == Verdict::NotImplemented && !options.allowMissing.empty() && !allowed.contains(entry->family + "/" + entry->name)) {
      fmt::print("{}/{} is not in {}\n", entry->family, entry->name, options.allowMissing);
      ++unexpected;
    }
  }
  fmt::print("recorded: {}\n{}", recording.header, summary.table());
  if (!options.json.empty()) std::ofstream(options.json) << summary.json();
  return summary.count(Verdict::Mismatch) + summary.count(Verdict::NotRecorded) + unexpected == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  CLI::App app{"Differential suite: the same PTX on a GPU and on the emulator"};
  app.require_subcommand(1);
  Selection selection;
  std::string path, directory;
  std::vector<std::string> inputs;
  CompareOptions comparison;
  bool worker = false;

  CLI::App* listing = app.add_subcommand("list", "names of the cases");
  CLI::App* ptx = app.add_subcommand("ptx", "write the PTX of every case");
  ptx->add_option("directory", directory)->required();
  CLI::App* recording = app.add_subcommand("record", "run on the GPU; continues an interrupted recording");
  recording->add_option("--out", path)->required();
  recording->add_flag("--worker", worker)->group("");
  CLI::App* merging = app.add_subcommand("merge", "put the recordings of shards together");
  CLI::App* compacting = app.add_subcommand("compact", "merge recordings (of shards) and keep prefixes and hashes");
  for (CLI::App* command : {merging, compacting}) {
    command->add_option("inputs", inputs)->required();
    command->add_option("--out", path)->required();
  }
  CLI::App* comparing = app.add_subcommand("compare", "run on the emulator and compare with a recording; needs no GPU");
  comparing->add_option("recording", comparison.recording)->required();
  CLI::App* both = app.add_subcommand("run", "record, then compare");
  both->add_option("--out", comparison.recording, "recording to make or continue")->required();
  for (CLI::App* command : {comparing, both}) {
    command->add_flag("--progress", comparison.progress, "name each case on standard error before it runs");
    command->add_option("--json", comparison.json, "write a summary");
    command->add_option("--allow-missing", comparison.allowMissing, "file of family/name lines that the emulator may not implement; others count as errors");
  }
  CLI::App* answers = app.add_subcommand("findings", "what a recording says about open questions");
  answers->add_option("recording", path)->required();
  CLI::App* showing = app.add_subcommand("show", "recorded bytes");
  showing->add_option("recording", path)->required();
  for (CLI::App* command : {listing, ptx, recording, comparing, both, answers, showing}) selection.addTo(command);

  CLI11_PARSE(app, argc, argv);
  if (*listing) return list(selection);
  if (*ptx) return writePtx(selection, directory);
  if (*recording) return record(selection, path, worker);
  if (*merging) return merge(inputs, path);
  if (*compacting) return compact(inputs, path);
  if (*answers) return findings(selection, path);
  if (*showing) return show(selection, path);
  if (*both)
    if (const int status = record(selection, comparison.recording, false)) return status;
  return compare(selection, comparison);
}

}  // namespace
}  // namespace shiftconv::witness

int main(int argc, char** argv) {
  try {
    return shiftconv::witness::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "witness: %s\n", error.what());
    return 2;
  }
}
