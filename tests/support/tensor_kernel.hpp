// A kernel around a few tcgen05 instructions, for the cases of the tensor family and for the ordering tests.
//
// A cluster of `ctas` CTAs of 128 threads. Each CTA fills its 64 KiB of shared memory `tile` at %tile (1024-byte aligned)
// with the input, followed by fence.proxy.async, and has four mbarriers of count 1 at %bar, %bar+8, ...; warp 0 allocates
// `columns` Tensor Memory columns at %tmem and frees them at the end. Registers: %thread, %warp, %lane, %rank, %out (words of
// this CTA, 64 bits), %desc (64 bits: the start field of a descriptor that points at %tile), %issuer (predicate: thread
// 0), %second (predicate: thread 32), and free ones %r0-299 (.b32), %rd0-9 (.b64), %h0-3 (.b16), %p0-7 (.pred).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "tests/support/form_run.hpp"

namespace shiftconv::tests {

struct TensorKernel {
  std::string body;
  std::vector<std::byte> input = {};  ///< at most 64 KiB for each CTA; the same for every CTA unless inputPerCta
  uint32_t outputWords = 0;           ///< 32-bit words of each CTA, poisoned with 0xCB bytes
  uint32_t columns = 512;             ///< 0: the body allocates itself
  uint32_t ctas = 1;
  uint32_t ctaGroup = 1;
  bool inputPerCta = false;  ///< `input` holds one image per CTA, of equal sizes, in order of rank

  /// Runs on `emulator`; throws EmulatorError.
  std::vector<uint32_t> run(emulator::Emulator& emulator, const emulator::Options& options,
                            emulator::LaunchReport* report = nullptr) const;
  /// The same in a form case.
  std::vector<uint32_t> run(FormRun& form, const emulator::Options& options = {}, emulator::LaunchReport* report = nullptr) const;
  /// Runs under all three policies and several seeds, expects the same output every time, and returns it.
  std::vector<uint32_t> runEverySchedule(FormRun& form, emulator::LaunchReport* report = nullptr) const;

 private:
  using Launch = std::function<emulator::LaunchReport(const std::string&, const emulator::machine::LaunchConfig&,
                                                      std::span<const void* const>, const emulator::Options&)>;
  std::vector<uint32_t> run(emulator::Emulator& emulator, const emulator::Options& options, emulator::LaunchReport* report,
                            const Launch& launch) const;
};

// --- pieces of bodies -------------------------------------------------------------------------------------------

/// Every thread waits for phase `parity` of mbarrier `index`, then executes fence::after_thread_sync.
std::string waitForCommit(unsigned index, unsigned parity = 0);
/// Thread 0: commit on mbarrier `index`; then everybody waits.
std::string commitAndWait(unsigned index, unsigned parity = 0, unsigned ctaGroup = 1);
/// Every thread stores columns [column, column + count) of its lane to out[(lane * count) + offset ...], through
/// tcgen05.ld.32x32b.x1 and wait::ld.
std::string dumpColumns(uint32_t column, uint32_t count, uint32_t offset = 0);
/// All threads: columns [column, column + count) of lane l become l * 1000 + column + base; waits for completion and syncs.
std::string fillColumns(uint32_t column, uint32_t count, uint32_t base = 0);
/// fence::before_thread_sync, bar.sync, fence::after_thread_sync.
std::string fencedBarrier();

/// Descriptor constant without its start address, to be added to %desc: offsets in bytes, swizzle code.
uint64_t descriptorBits(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle = 0);

/// %rd9 = where the output of this thread starts when every thread has `words` words.
std::string outputOfThread(uint32_t words);

/// Expects an EmulatorError whose text holds every part.
void expectRefusal(FormRun& form, const TensorKernel& kernel, const std::vector<std::string>& parts);

std::vector<std::byte> randomInput(FormRun& form, size_t count);
/// 32-bit word `word` of row `row` of a source without swizzle whose 16-byte chunk c of row i lies at
/// i % 8 * 16 + i / 8 * 256 + c * 128.
uint32_t sourceWord(const std::vector<std::byte>& input, uint32_t row, uint32_t word);

/// What fillColumns puts into a cell.
inline uint32_t filledCell(uint32_t lane, uint32_t column, uint32_t base = 0) { return lane * 1000 + column + base; }

}  // namespace shiftconv::tests
