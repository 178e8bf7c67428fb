// Device buffers that the command line describes.
#pragma once

#include <shiftconv/emulator.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/tools/ptxrun/npy.hpp"

namespace ptxrun {

/// What a buffer holds before a launch, and where it goes afterwards.
struct Buffer {
  enum class Content : uint8_t { File, Poison, Zeros };
  Content content = Content::Poison;
  Array array;             ///< type and shape; the data too when it comes from a file
  std::string outputPath;  ///< empty: not saved
  uint64_t address = 0;    ///< device address, 256-byte aligned
};

/// Parses "buf:FILE", "out:FILE:TYPE:SHAPE", "inout:FILE:OUTPUT" or "zeros:TYPE:SHAPE[:OUTPUT]".
/// Throws UserError for anything else.
Buffer parseBuffer(std::string_view text);
bool isBuffer(std::string_view text);

/// The buffers of one run, by name. The buffer of the i-th --arg is called "i".
class Buffers {
 public:
  explicit Buffers(shiftconv::emu::Machine& machine) : machine_(machine) {}
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Allocates the buffer; throws UserError when the name is taken, or there is no memory for it.
  const Buffer& add(const std::string& name, Buffer buffer);
  /// Throws UserError listing the known names.
  const Buffer& find(const std::string& name) const;

  /// Puts every buffer into its state before a launch.
  void reset();
  /// Device contents of every buffer that will be saved, one after the other.
  std::vector<std::byte> outputs() const;
  /// Writes the output files; returns one line per file.
  std::vector<std::string> save() const;

 private:
  std::vector<std::byte> deviceBytes(const Buffer& buffer) const;

  shiftconv::emu::Machine& machine_;
  std::map<std::string, Buffer> buffers_;
};

}  // namespace ptxrun
