// What the cases of the machine's own families (memory, control, warp, mbarrier, fence) share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/isa/form.hpp"
#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {

/// The row whose syntax starts with `prefix` (the shortest one when several do).
std::string_view formStarting(std::string_view prefix);
/// The row with this exact opcode and modifiers, as the decoder finds it: "atom.global.add.f32".
std::string_view formOf(std::string_view opcodeAndModifiers);

/// Runs kernel `k` of the module with one array parameter that starts with `initial` (poison when shorter than `words`).
std::vector<uint32_t> runModule(FormRun& run, const std::string& ptx, const LaunchConfig& config, size_t words,
                                const std::vector<uint32_t>& initial = {}, const Options& options = {});

/// A kernel with the declarations and prologue most cases want: %r1 = %tid.x, %rd1 = the array, %rd2 = its word of the
/// thread; %p, %h (.b16), %r, %rd, %f and %fd registers 0..19 are declared.
std::string kernel(std::string_view body, std::string_view moduleScope = "");

/// Runs one instruction sequence in a full warp; `expected(lane)` is what it must leave in %r9.
template <class Expected>
void expectWords(FormRun& run, const std::string& body, Expected&& expected, const std::string& moduleScope = "") {
  const auto out = runModule(run, kernel(body + "\n  st.global.u32 [%rd2], %r9;", moduleScope), threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    ASSERT_EQ(out[lane], static_cast<uint32_t>(expected(lane))) << "lane " << lane << " of\n" << body;
}

/// The kernel must be refused or stopped with a message that contains `part`.
void expectRefused(FormRun& run, const std::string& body, std::string_view part, const std::string& moduleScope = "",
                   const LaunchConfig& config = threads(32));

}  // namespace shiftconv::tests
