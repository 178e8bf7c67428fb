// tcgen05.ld, .st and .wait: which cells the registers hold, and when (PTX ISA 9.7.16.8).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::tensor_fragment_cases {
namespace {

using namespace emulator;

constexpr std::string_view kLoad =
    "tcgen05.ld.sync.aligned.(32x32b|16x64b|16x128b|16x256b).(x1|x2|x4|x8|x16|x32|x64|x128){.pack::16b}.b32";
constexpr std::string_view kLoadTwo = "tcgen05.ld.sync.aligned.16x32bx2.(x1|x2|x4|x8|x16|x32|x64|x128){.pack::16b}.b32";
constexpr std::string_view kStore =
    "tcgen05.st.sync.aligned.(32x32b|16x64b|16x128b|16x256b).(x1|x2|x4|x8|x16|x32|x64|x128){.unpack::16b}.b32";
constexpr std::string_view kStoreTwo = "tcgen05.st.sync.aligned.16x32bx2.(x1|x2|x4|x8|x16|x32|x64|x128){.unpack::16b}.b32";
constexpr std::string_view kWaitLoad = "tcgen05.wait::ld.sync.aligned";
constexpr std::string_view kWaitStore = "tcgen05.wait::st.sync.aligned";

struct Cell {
  uint32_t lane, column;
  bool second;
};
struct Shape {
  const char* name;
  uint32_t registersPerN, columnsPerN, largestN;
  Cell (*cell)(uint32_t t, uint32_t r);
};
const std::vector<Shape> kShapes{
    {"32x32b", 1, 1, 128,
     [](uint32_t t, uint32_t r) {
       return Cell{t, r, false};
     }},
    {"16x64b", 1, 2, 128,
     [](uint32_t t, uint32_t r) {
       return Cell{t / 4 + 8 * (t & 1), 2 * r + (t >> 1 & 1), false};
     }},
    {"16x128b", 2, 4, 64,
     [](uint32_t t, uint32_t r) {
       return Cell{t / 4 + 8 * (r & 1), (t & 3) + 4 * (r >> 1), false};
     }},
    {"16x256b", 4, 8, 32,
     [](uint32_t t, uint32_t r) {
       return Cell{t / 4 + 8 * (r >> 1 & 1), 2 * (t & 3) + (r & 1) + 8 * (r >> 2), false};
     }},
};
const Shape kTwoHalves{"16x32bx2", 1, 1, 128, [](uint32_t t, uint32_t r) { return Cell{t % 16, r, t >= 16}; }};

std::string registerList(uint32_t count) {
  std::string list;
  for (uint32_t i = 0; i < count; ++i) list += fmt::format("{}%r{}", i == 0 ? "" : ", ", 20 + i);
  return list;
}

/// Loads `count` registers a thread and compares each with the cell it must hold. `laneOffset` in the window, `half`: the
/// immediate of 16x32bx2.
void checkLoad(FormRun& form, const Shape& shape, uint32_t n, bool packed, uint32_t laneOffset, uint32_t half) {
  const uint32_t count = shape.registersPerN * n, column = 4;
  const bool two = &shape == &kTwoHalves;
  const uint32_t columns = column + (packed ? 2 : 1) * shape.columnsPerN * n + (two ? half : 0);
  std::string body = fillColumns(0, columns) + outputOfThread(count);
  body += fmt::format(
      "  add.u32 %r0, %tmem, {:#x};\n  tcgen05.ld.sync.aligned.{}.x{}{}.b32 {{{}}}, [%r0]{};\n  tcgen05.wait::ld.sync.aligned;\n",
      laneOffset << 16 | column, shape.name, n, packed ? ".pack::16b" : "", registerList(count),
      two ? fmt::format(", {}", half) : "");
  for (uint32_t r = 0; r < count; ++r) body += fmt::format("  st.global.u32 [%rd9+{}], %r{};\n", 4 * r, 20 + r);
  const std::vector<uint32_t> output = TensorKernel{.body = body, .outputWords = 128 * count}.runEverySchedule(form);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t r = 0; r < count; ++r) {
      const Cell cell = shape.cell(thread % 32, r);
      const uint32_t lane = thread / 32 * 32 + laneOffset + cell.lane;
      const uint32_t base = column + (cell.second ? half : 0);
      const uint32_t expected =
          packed ? (filledCell(lane, base + 2 * cell.column) & 0xffff) | filledCell(lane, base + 2 * cell.column + 1) << 16
                 : filledCell(lane, base + cell.column);
      ASSERT_EQ(output[thread * count + r], expected)
          << shape.name << ".x" << n << " packed " << packed << " thread " << thread << " register " << r;
    }
  }
}

void loadShapes(FormRun& form) {
  for (const Shape& shape : kShapes) {
    for (const uint32_t n : {1u, 4u}) {
      checkLoad(form, shape, n, false, 0, 0);
      checkLoad(form, shape, n, true, shape.name == kShapes[0].name ? 0 : 16, 0);
    }
    checkLoad(form, shape, shape.largestN / 2, false, 0, 0);
  }
}
void loadTwoHalves(FormRun& form) {
  checkLoad(form, kTwoHalves, 1, false, 0, 9);
  checkLoad(form, kTwoHalves, 8, false, 16, 8);
  checkLoad(form, kTwoHalves, 4, true, 0, 8);
}

void loadRefusals(FormRun& form) {
  const auto kernel = [](const std::string& body) {
    return TensorKernel{.body = "  @!%firstwarp bra others;\n" + body + "others:\n", .columns = 64};
  };
  const auto load = [&](const std::string& text) { return kernel("  tcgen05.ld.sync.aligned." + text + ";\n"); };
  expectRefusal(form, load("32x32b.x1.b32 {%r20}, [%tmem+64]"), {"columns 64..64", "not allocated"});
  expectRefusal(form, load("16x256b.x64.b32 {%r20}, [%tmem]"), {".x64", "at most .x32"});
  expectRefusal(form, load("16x128b.x1.b32 {%r20}, [%tmem]"), {"1 registers given", "takes 2"});
  expectRefusal(form, load("32x32b.x1.b32 %r20, [%tmem]"), {"list in braces"});
  expectRefusal(form, load("32x32b.x1.b32 {%r20}, [%rd0]"), {"32-bit register"});
  expectRefusal(form, kernel("  add.u32 %r0, %tmem, 0x100000;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r0];\n"),
                {"multiple of 32"});
  const TensorKernel outside = kernel("  add.u32 %r0, %tmem, 0x400000;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r0];\n");
  Options watched;
  watched.hazards = HazardMode::Error;
  const std::string relies = form.error([&] { outside.run(form, watched); });
  EXPECT_NE(relies.find("use of Tensor Memory lane 64"), std::string::npos) << relies;
  EXPECT_NE(relies.find("a lane of the warp's own, 0..31"), std::string::npos) << relies;
  for (const uint8_t strict : {1, 2}) {
    Options options;
    options.semantics.choose(Unproven::U10, strict);
    const std::string message = form.error([&] { outside.run(form, options); });
    EXPECT_NE(message.find("lane 64 by warp 0, which reaches only lanes 0..31"), std::string::npos) << message;
  }
  expectRefusal(form, kernel("  add.u32 %r0, %tmem, %lane;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r0];\n"),
                {"Tensor Memory address", "same in the whole warp"});
  expectRefusal(form, kernel("  @%issuer tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem];\n"), {"tcgen05.ld"});
}

void loadTwoRefusals(FormRun& form) {
  const auto load = [&](const std::string& text) {
    return TensorKernel{.body = "  tcgen05.ld.sync.aligned.16x32bx2." + text + ";\n", .columns = 64};
  };
  expectRefusal(form, load("x2.b32 {%r20, %r21}, [%tmem], 63"), {"columns 63..64", "not allocated"});
  expectRefusal(form, load("x2.b32 {%r20, %r21}, [%tmem]"), {"2 operands given"});
  expectRefusal(form, load("x2.b32 {%r20, %r21}, [%tmem], %r1"), {"instruction"});
}

/// Stores registers thread * 100 + index and reads the cells back; other cells keep what they held.
void checkStore(FormRun& form, const Shape& shape, uint32_t n, bool packed, uint32_t laneOffset, uint32_t half) {
  const uint32_t count = shape.registersPerN * n, column = 2;
  const bool two = &shape == &kTwoHalves;
  const uint32_t columns = column + (packed ? 2 : 1) * shape.columnsPerN * n + (two ? half : 0);
  std::string body = fillColumns(0, columns) + "  mul.lo.u32 %r1, %thread, 100;\n";
  for (uint32_t r = 0; r < count; ++r) body += fmt::format("  add.u32 %r{}, %r1, {:#x};\n", 20 + r, 0x70000 * r + r);
  body += fmt::format(
      "  add.u32 %r0, %tmem, {:#x};\n  tcgen05.st.sync.aligned.{}.x{}{}.b32 [%r0], {}{{{}}};\n  tcgen05.wait::st.sync.aligned;\n",
      laneOffset << 16 | column, shape.name, n, packed ? ".unpack::16b" : "", two ? fmt::format("{}, ", half) : "",
      registerList(count));
  body += fencedBarrier() + dumpColumns(0, columns);
  std::vector<uint32_t> expected;
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t c = 0; c < columns; ++c) expected.push_back(filledCell(lane, c));
  }
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t r = 0; r < count; ++r) {
      const Cell cell = shape.cell(thread % 32, r);
      const uint32_t at = (thread / 32 * 32 + laneOffset + cell.lane) * columns + column + (cell.second ? half : 0);
      const uint32_t value = thread * 100 + 0x70000 * r + r;
      if (packed) {
        expected[at + 2 * cell.column] = value & 0xffff;
        expected[at + 2 * cell.column + 1] = value >> 16;
      } else {
        expected[at + cell.column] = value;
      }
    }
  }
  EXPECT_EQ((TensorKernel{.body = body, .outputWords = 128 * columns}.runEverySchedule(form)), expected)
      << shape.name << ".x" << n << " packed " << packed;
}

void storeShapes(FormRun& form) {
  for (const Shape& shape : kShapes) {
    checkStore(form, shape, 1, false, 0, 0);
    checkStore(form, shape, 2, false, shape.name == kShapes[0].name ? 0 : 16, 0);
    checkStore(form, shape, 2, true, 0, 0);
  }
}
void storeTwoHalves(FormRun& form) {
  checkStore(form, kTwoHalves, 2, false, 0, 5);
  checkStore(form, kTwoHalves, 2, true, 16, 4);
}

void storeRefusals(FormRun& form) {
  const auto store = [&](const std::string& text) {
    return TensorKernel{.body = "  tcgen05.st.sync.aligned." + text + ";\n", .columns = 32};
  };
  expectRefusal(form, store("32x32b.x1.b32 [%tmem], {5}"), {"registers only"});
  expectRefusal(form, store("32x32b.x2.b32 [%tmem+31], {%r20, %r21}"), {"columns 31..32"});
  expectRefusal(form, store("32x32b.x2.b32 [%tmem], {%r20}"), {"1 registers given", "takes 2"});
}

void storeTwoRefusals(FormRun& form) {
  expectRefusal(form, {.body = "  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%tmem], 40, {%r20};\n", .columns = 32},
                {"columns 40..40"});
}

/// What high halves become is an open question: zero, unchanged, or undefined.
void unpackHighHalves(FormRun& form) {
  const std::string body = fillColumns(0, 2, 0x50000) +
                           "  mov.u32 %r20, 0x22221111;\n  tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%tmem], {%r20};\n"
                           "  tcgen05.wait::st.sync.aligned;\n" +
                           dumpColumns(0, 1);
  const TensorKernel kernel{.body = body, .outputWords = 128};
  Options options;
  EXPECT_EQ(kernel.run(form, options)[0], 0x1111u);
  options.semantics.choose(Unproven::U9, 1);
  EXPECT_EQ(kernel.run(form, options)[0], 0x51111u);
  options.semantics.choose(Unproven::U9, 2);
  options.hazards = HazardMode::Error;
  EXPECT_NE(form.error([&] { kernel.run(form, options); }).find("hazard (undefined data)"), std::string::npos);
}

/// A lane field outside of the window counts modulo 32, whatever is above the seven bits of a lane, as published kernels pass it.
void loadAnyLaneField(FormRun& form) {
  const std::string body = fillColumns(0, 2) + outputOfThread(2) + R"(
  mul.lo.u32 %r1, %rank, 128;
  add.u32 %r1, %r1, 128;
  and.b32 %r2, %thread, 96;
  add.u32 %r1, %r1, %r2;
  shl.b32 %r1, %r1, 16;
  add.u32 %r1, %r1, %tmem;
  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r1];
  tcgen05.wait::ld.sync.aligned;
  st.global.v2.u32 [%rd9], {%r20, %r21};
)";
  LaunchReport report;
  const std::vector<uint32_t> out = TensorKernel{.body = body, .outputWords = 256}.runEverySchedule(form, &report);
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t column = 0; column < 2; ++column) EXPECT_EQ(out[2 * lane + column], filledCell(lane, column)) << lane;
  EXPECT_EQ(report.counters.unprovenUses[static_cast<size_t>(Unproven::U10)], 10u)
      << "four warps, and three that fill two columns at lane 0";
}

/// Without what question U30 adds, under the latest schedule a load that nobody waits for has not happened, and a store neither.
void waitLoadForces(FormRun& form) {
  Options options;
  options.semantics.choose(Unproven::U30, 1);
  options.policy = SchedulePolicy::Latest;
  const std::string load = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem];\n",
                    wait = "  tcgen05.wait::ld.sync.aligned;\n";
  const std::string store = "  st.global.u32 [%rd9], %r20;\n";
  const auto run = [&](const std::string& text) {
    return TensorKernel{.body = fillColumns(0, 1) + outputOfThread(1) + text, .outputWords = 128}.run(form, options);
  };
  EXPECT_EQ(run(load + wait + store)[77], filledCell(77, 0));
  EXPECT_NE(run(load + store + wait)[77], filledCell(77, 0));
}

void waitStoreForces(FormRun& form) {
  Options options;
  options.semantics.choose(Unproven::U30, 1);
  options.policy = SchedulePolicy::Latest;
  const std::string store = "  mov.u32 %r20, 7;\n  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem], {%r20};\n";
  const std::string wait = "  tcgen05.wait::st.sync.aligned;\n";
  const auto run = [&](const std::string& text) {
    return TensorKernel{.body = fillColumns(0, 1) + text, .outputWords = 128}.run(form, options);
  };
  EXPECT_EQ(run(store + wait + dumpColumns(0, 1))[77], 7u);
  EXPECT_EQ(run(store + dumpColumns(0, 1) + wait)[77], filledCell(77, 0));
}

}  // namespace

FormCases all() {
  return {
      {kLoad, "shapes", loadShapes},
      {kLoad, "refusals", loadRefusals},
      {kLoad, "any_lane_field", loadAnyLaneField},
      {kLoadTwo, "shapes", loadTwoHalves},
      {kLoadTwo, "refusals", loadTwoRefusals},
      {kStore, "shapes", storeShapes},
      {kStore, "high_halves", unpackHighHalves},
      {kStore, "refusals", storeRefusals},
      {kStoreTwo, "shapes", storeTwoHalves},
      {kStoreTwo, "refusals", storeTwoRefusals},
      {kWaitLoad, "forces_loads", waitLoadForces},
      {kWaitStore, "forces_stores", waitStoreForces},
  };
}

}  // namespace shiftconv::tests::tensor_fragment_cases

namespace shiftconv::tests {
FormCases tensorFragmentCases() { return tensor_fragment_cases::all(); }
}  // namespace shiftconv::tests
