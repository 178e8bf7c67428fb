// Kernel arguments from the command line.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "common/emulator/tools/ptxrun/buffers.hpp"

namespace ptxrun {

/// The values of a kernel's parameters, in order, as a launch takes them.
class Arguments {
 public:
  /// `texts` are the --arg values: buffers (also added to `buffers`), "ref:NAME[+BYTES]", "tmap:FILE or {JSON}",
  /// "struct:FILE or [JSON]", "bytes:FILE", and scalars "TYPE:VALUE" with TYPE i8..i64, u8..u64, b8..b64, f32, f64.
  /// Throws UserError naming the argument, also when number or sizes do not fit the kernel's parameters.
  Arguments(const std::vector<std::string>& texts, const shiftconv::emu::Kernel& kernel, Buffers& buffers);

  std::vector<const void*> pointers() const;

 private:
  struct alignas(128) Block {  ///< tensor maps need the alignment
    std::byte bytes[128];
  };
  std::deque<std::vector<Block>> values_;
};

}  // namespace ptxrun
