#include "tests/hardware_recordings/summary.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace shiftconv::recordings {

void Summary::add(const CaseEntry& entry, const Judgement& judgement, uint64_t bytes) {
  Counts& counts = families_[entry.family];
  ++counts.verdicts[static_cast<size_t>(judgement.verdict)];
  if (judgement.verdict != Verdict::Unjudged) counts.bytes += bytes;
  if (judgement.verdict != Verdict::Match) remarkable_.push_back({entry.family, entry.name, judgement});
}

size_t Summary::count(Verdict verdict) const { return rows().back().second.verdicts[static_cast<size_t>(verdict)]; }

std::vector<std::pair<std::string, Summary::Counts>> Summary::rows() const {
  std::vector<std::pair<std::string, Counts>> all(families_.begin(), families_.end());
  Counts total;
  for (const auto& [family, counts] : families_) {
    for (size_t i = 0; i < counts.verdicts.size(); ++i) total.verdicts[i] += counts.verdicts[i];
    total.bytes += counts.bytes;
  }
  all.emplace_back("all", total);
  return all;
}

std::string Summary::table() const {
  std::string text;
  for (const Line& line : remarkable_)
    if (line.judgement.verdict != Verdict::Unjudged && line.judgement.verdict != Verdict::WithinError)
      text += fmt::format("{}: {} / {}: {}\n", kVerdictNames[static_cast<size_t>(line.judgement.verdict)], line.family, line.name,
                          line.judgement.detail);
  text += fmt::format("{:<16}", "family");
  for (const std::string_view name : kVerdictNames) text += fmt::format(" {:>16.16}", name);
  for (const auto& [family, counts] : rows()) {
    text += fmt::format("\n{:<16}", family);
    for (const size_t count : counts.verdicts) text += fmt::format(" {:>16}", count);
  }
  return text + "\n";
}

std::string Summary::markdown() const {
  const auto header = nlohmann::json::parse(header_);
  std::string text = fmt::format(
      "# What the emulator and a Hopper GPU agree on\n\nMade by `hardware_recordings compare`; do not edit. Recorded on {} with "
      "one {} ({}).\n"
      "Every case ran on both; a match is one bit for bit, or the same refusal.\n\n| family |",
      header.at("date").get<std::string>(), header.at("device").get<std::string>(), header.at("driver").get<std::string>());
  for (const std::string_view name : kVerdictNames) text += fmt::format(" {} |", name);
  text += " bytes compared |\n|---|";
  for (size_t i = 0; i <= kVerdictNames.size(); ++i) text += "--:|";
  for (const auto& [family, counts] : rows()) {
    text += fmt::format("\n| {} |", family);
    for (const size_t count : counts.verdicts) text += fmt::format(" {} |", count);
    text += fmt::format(" {} |", counts.bytes);
  }
  std::map<std::string, std::vector<std::string>> unjudged;
  std::string approximations;
  for (const Line& line : remarkable_) {
    if (line.judgement.verdict == Verdict::Unjudged) unjudged[line.judgement.detail].push_back(line.name);
    if (line.judgement.verdict == Verdict::WithinError) approximations += fmt::format("- `{}`\n", line.name);
  }
  text += "\n\n## Within the documented error\n\nThe PTX ISA bounds the error of these and does not fix their bits.\n\n" +
          approximations;
  text += "\n## Not compared\n";
  for (const auto& [reason, names] : unjudged) {
    text += fmt::format("\n{}:\n\n", reason);
    for (const std::string& name : names) text += fmt::format("- {}\n", name);
  }
  return text;
}

}  // namespace shiftconv::recordings
