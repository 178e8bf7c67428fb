// What an emulated device has and a GPU has not.
#pragma once

#include <string>
#include <string_view>

#include "common/device/status.hpp"

namespace shiftconv::device {

class Emulation {
 public:
  virtual ~Emulation() = default;
  /// See emulated_options.hpp. Applies to later launches.
  virtual Status setOption(std::string_view name, std::string_view value) = 0;
  /// A table for each kernel, or a line that says that nothing ran.
  virtual std::string countersTable() const = 0;
  /// The JSON object that shiftconv_device_counters documents, without line breaks.
  virtual std::string countersJson() const = 0;
  virtual void resetCounters() = 0;
};

}  // namespace shiftconv::device
