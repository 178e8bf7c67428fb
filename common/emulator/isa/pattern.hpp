// The pattern language of the decoder's table (see form.hpp), precompiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {

class Pattern {
 public:
  /// Throws std::logic_error when `syntax` is not in the pattern language. `syntax` must outlive the pattern.
  explicit Pattern(std::string_view syntax);

  std::string_view opcode() const { return opcode_; }
  /// Fits the modifiers in the order given.
  bool matchOrdered(const std::vector<std::string>& modifiers, FormMatch& match) const;
  /// Fits the modifiers in whatever order.
  bool matchUnordered(const std::vector<std::string>& modifiers, FormMatch& match) const;

 private:
  struct Group {
    std::vector<std::string_view> alternatives;
    bool optional = false;
    /// The alternative equal to `modifier`, or an empty view.
    std::string_view find(std::string_view modifier) const;
  };
  bool matchFrom(size_t group, size_t modifier, const std::vector<std::string>& modifiers, FormMatch& match) const;
  std::string_view opcode_;
  std::vector<Group> groups_;
};

}  // namespace shiftconv::emulator::isa
