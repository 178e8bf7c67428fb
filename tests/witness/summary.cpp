#include "tests/witness/summary.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace shiftconv::witness {

void Summary::add(const CaseEntry& entry, const Judgement& judgement) {
  ++families_[entry.family][static_cast<size_t>(judgement.verdict)];
  if (judgement.verdict != Verdict::Match && judgement.verdict != Verdict::WithinError) remarkable_.push_back({entry.family, entry.name, judgement});
}

size_t Summary::count(Verdict verdict) const {
  size_t total = 0;
  for (const auto& [family, counts] : families_) total += counts[static_cast<size_t>(verdict)];
  return total;
}

std::string Summary::table() const {
  std::string text;
  for (const Line& line : remarkable_)
    text += fmt::format("{}: {} / {}: {}\n", kVerdictNames[static_cast<size_t>(line.judgement.verdict)], line.family, line.name, line.judgement.detail);
  text += fmt::format("{:<16}", "family");
  for (const std::string_view name : kVerdictNames) text += fmt::format(" {:>16.16}", name);
  text += '\n';
  const auto row = [&text](std::string_view name, const auto& counts) {
    text += fmt::format("{:<16}", name);
    for (const size_t count : counts) text += fmt::format(" {:>16}", count);
    text += '\n';
  };
  Counts total{};
  for (const auto& [family, counts] : families_) {
    row(family, counts);
    for (size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
  }
  row("all", total);
  return text;
}

std::string Summary::json() const {
  nlohmann::ordered_json out;
  out["recording"] = header_.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json::parse(header_);
  for (const auto& [family, counts] : families_)
    for (size_t i = 0; i < counts.size(); ++i) out["families"][family][std::string(kVerdictNames[i])] = counts[i];
  out["remarkable"] = nlohmann::ordered_json::array();
  for (const Line& line : remarkable_)
    out["remarkable"].push_back({{"verdict", kVerdictNames[static_cast<size_t>(line.judgement.verdict)]},
                                 {"family", line.family},
                                 {"case", line.name},
                                 {"detail", line.judgement.detail}});
  return out.dump(1) + "\n";
}

}  // namespace shiftconv::witness
