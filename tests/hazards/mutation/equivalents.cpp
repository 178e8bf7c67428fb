#include "tests/hazards/mutation/equivalents.hpp"

#include <fmt/format.h>

#include "tests/hazards/mutation/table_file.hpp"

namespace shiftconv::tests {
namespace {

/// '*' in the pattern stands for any text, '?' for one character.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*')
    return !text.empty() && (text[0] == pattern[0] || pattern[0] == '?') && matches(pattern.substr(1), text.substr(1));
  for (size_t skip = 0; skip <= text.size(); ++skip)
    if (matches(pattern.substr(1), text.substr(skip))) return true;
  return false;
}

/// Whether these are the sites, or the last of them: the kernel's own line may be marked, too.
bool endsWith(std::string_view sites, std::string_view pattern) {
  if (matches(pattern, sites)) return true;
  const size_t end = sites.find('/');
  return end != std::string_view::npos && endsWith(sites.substr(end + 1), pattern);
}

bool isAt(const Equivalent& entry, const Mutation& mutation) {
  constexpr std::string_view kSite = "site: ";
  if (!entry.place.starts_with(kSite))
    return matches(entry.place, mutation.functions) && matches(entry.occurrence, std::to_string(mutation.occurrence));
  return endsWith(mutation.sites, std::string_view(entry.place).substr(kSite.size())) &&
         matches(entry.occurrence, std::to_string(mutation.siteOccurrence));
}

}  // namespace

void Equivalents::read(const std::string& path, bool ofAnyKernel) {
  for (TableRow& row : readTable(path, {6})) {
    auto& f = row.fields;
    entries_.push_back({std::move(f[0]), std::move(f[1]), std::move(f[2]), std::move(f[3]), std::move(f[4]), std::move(f[5]),
                        fmt::format("{}:{}", path, row.line), ofAnyKernel});
  }
}

bool Equivalents::isAbout(const Equivalent& entry, std::string_view kernel) { return matches(entry.kernel, kernel); }

const Equivalent* Equivalents::find(const Mutation& mutation) const {
  for (const Equivalent& entry : entries_)
    if (isAbout(entry, mutation.kernel) && isAt(entry, mutation) && matches(entry.instruction, mutation.form) &&
        matches(entry.change, toString(mutation.change)))
      return &entry;
  return nullptr;
}

}  // namespace shiftconv::tests
