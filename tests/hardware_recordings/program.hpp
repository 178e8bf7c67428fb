// Builds cases whose kernels need shared memory, barriers, copies or clusters.
#pragma once

#include <string>
#include <vector>

#include "tests/hardware_recordings/case.hpp"

namespace shiftconv::recordings {

/// Parameters become registers: %buf<i> (address of buffer i), %map<i> (generic address of map i). Declared besides:
/// %thread %lane %warp %threads %cta %rank (of the CTA in its cluster), %dyn (32-bit address of dynamic shared memory, 1024-byte
/// aligned), %r<64> .b32, %rd<32> .b64, %h<32> .b16, %p<16> .pred.
class Program {
 public:
  explicit Program(std::string target = "sm_90") : target_(std::move(target)) {}

  Launch launch{.grid = {}, .block = {128, 1, 1}, .cluster = {}, .dynamicShared = 0};
  std::string moduleText;
  std::string body;

  size_t input(std::vector<std::byte> bytes) { return add({std::move(bytes), false}); }
  /// Poisoned with 0xEE.
  size_t output(size_t bytes) { return add({std::vector<std::byte>(bytes, std::byte{0xEE}), true}); }
  size_t inputOutput(std::vector<std::byte> bytes) { return add({std::move(bytes), true}); }
  size_t map(const TensorMap& map);
  Case build() const;

 private:
  size_t add(Buffer buffer);
  std::string target_;
  std::vector<Buffer> buffers_;
  std::vector<TensorMap> maps_;
  std::vector<Argument> arguments_;
};

/// `bytes` of noise.
std::vector<std::byte> noise(size_t bytes, uint64_t seed);

// Pieces of kernel text. Offsets are relative to %dyn; they use registers from the end of the files (%r50 and up,
// %rd24 and up, %p12 and up).

/// All threads together write `word` over the range.
std::string fillShared(uint32_t offset, uint32_t bytes, uint32_t word = 0xEEEEEEEE);
/// All threads together copy between dynamic shared memory and a buffer.
std::string copyFromBuffer(uint32_t offset, uint32_t bytes, size_t buffer, uint64_t from = 0);
std::string copyToBuffer(uint32_t offset, uint32_t bytes, size_t buffer, uint64_t to = 0);
/// Ends with `predicate` true when the phase completes within some milliseconds.
std::string boundedWait(uint32_t barrier, const std::string& parity, const std::string& predicate);
/// Thread 0 of the CTA runs `text`.
std::string byThread0(const std::string& text);
/// One thread stores a 32-bit register to buffer[word].
std::string putWord(size_t buffer, uint32_t word, const std::string& reg);
/// The same, as 0 or 1.
std::string putPredicate(size_t buffer, uint32_t word, const std::string& predicate);
/// A label that no other piece uses.
std::string uniqueLabel();

}  // namespace shiftconv::recordings
