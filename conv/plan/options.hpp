// Options of an algorithm as a text, "tile_n=64,group=pair": what it offers, and reading it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/device/status.hpp"

namespace shiftconv::plan {

struct OptionDescription {
  std::string_view name;
  std::string_view range;    ///< "multiples of 16 from 16 to 192", "yes, no"
  std::string_view meaning;  ///< "output channels of a pass"
};

/// Of engines whose kernels wait with griddepcontrol.wait before they read, and that have no other option.
inline constexpr OptionDescription kDependentOption{
    "dependent", "yes, no",
    "start while the kernel before it in the stream still runs, and wait for it (programmatic dependent launch); yes"};

/// When a run starts, next to the end of the one before it in the stream.
enum class Dependence : uint8_t {
  None,    ///< after it
  Launch,  ///< while it ends; tensors are read after it (LaunchConfig::programmaticDependent)
  Filter,  ///< the same, and the filter, a constant one, is read before it has ended
};

/// kDependentOption of engines that can read a constant filter ahead.
inline constexpr OptionDescription kFilterDependentOption{
    kDependentOption.name, "yes, no, filter",
    "start while the kernel before it in the stream still runs, and wait for it (programmatic dependent launch); filter: read the "
    "filter before that, which has to be constant (constant_filter); yes"};

/// Lines "name  range  meaning".
std::string describe(std::span<const OptionDescription> options);

/// A text split at its commas and checked against what exists: every name known, none twice, none without a value. Blanks around
/// names and values are allowed.
class OptionValues {
 public:
  static Status parse(std::string_view text, std::span<const OptionDescription> known, OptionValues& values);

  /// The value's text; nothing when the option is not set.
  std::optional<std::string_view> find(std::string_view name) const;
  /// Leaves `value` alone when the option is not set; fails unless it is a number from `low` to `high` and a multiple of `step`.
  Status number(std::string_view name, uint32_t low, uint32_t high, uint32_t step, std::optional<uint32_t>& value) const;
  /// The same for one of `choices`; `value` becomes its index.
  Status choice(std::string_view name, std::span<const std::string_view> choices, std::optional<size_t>& value) const;
  /// "yes" or "no".
  Status flag(std::string_view name, std::optional<bool>& value) const;
  /// Of kDependentOption; yes where it is not set.
  Status dependent(bool& value) const;
  /// Of kFilterDependentOption; Launch where it is not set.
  Status dependent(Dependence& value) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Writes what OptionValues reads: add("tile_n", 64).add("group", "pair").text() is "tile_n=64,group=pair".
class OptionText {
 public:
  OptionText() { text_.reserve(96); }
  OptionText& add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text_.append(name).append(1, '=').append(value);
    return *this;
  }
  OptionText& add(std::string_view name, int64_t value);
  /// Options that are left out where they are not set.
  OptionText& addIf(bool isSet, std::string_view name, std::string_view value) { return isSet ? add(name, value) : *this; }
  std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

/// The value of kFilterDependentOption that says it.
constexpr std::string_view toString(Dependence dependence) {
  return dependence == Dependence::None ? "no" : dependence == Dependence::Launch ? "yes" : "filter";
}

/// The value of kDependentOption in a text that has no other option.
Status readDependent(std::string_view text, bool& dependent);
/// The text that says it of a plan with a `launch`.
template <class Made>
std::string dependentOption(const Made& made) {
  return made.launch.programmaticDependent ? "" : "dependent=no";
}

}  // namespace shiftconv::plan
