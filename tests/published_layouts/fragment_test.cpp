// tcgen05.ld and .st: which register of which thread holds a cell (PTX ISA 9.0, 9.7.16.2.3 and 9.7.16.8, figures of the data
// movement shapes), stated here from the cell: (lane, column) -> (thread of the warp, register).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/published_layouts/single_mma.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {
namespace {

struct Holder {
  uint32_t thread, register_;
};

struct Shape {
  const char* name;
  uint32_t lanes, columns;  ///< of .x1
  uint32_t largest;         ///< N of .xN
  Holder (*holder)(uint32_t lane, uint32_t column);
  bool halves = false;  ///< 16x32bx2: threads 16..31 hold 16 lanes of a second range of columns
  uint32_t registers(uint32_t n) const { return (halves ? 1 : lanes * columns / 32) * n; }
};

const Shape kShapes[] = {
    // One lane a thread, one register a column.
    {"32x32b", 32, 1, 128,
     [](uint32_t lane, uint32_t column) {
       return Holder{lane, column};
     }},
    // Lanes 0..7 in even, 8..15 in odd threads; the two columns of a 64-bit row in pairs of threads.
    {"16x64b", 16, 2, 128,
     [](uint32_t lane, uint32_t column) {
       return Holder{lane % 8 * 4 + column % 2 * 2 + lane / 8, column / 2};
     }},
    // Four threads for the four columns of a 128-bit row; lanes 8..15 in the odd registers.
    {"16x128b", 16, 4, 64,
     [](uint32_t lane, uint32_t column) {
       return Holder{lane % 8 * 4 + column % 4, column / 4 * 2 + lane / 8};
     }},
    // Two neighbouring columns of a 256-bit row in a thread; lanes 8..15 two registers later.
    {"16x256b", 16, 8, 32,
     [](uint32_t lane, uint32_t column) {
       return Holder{lane % 8 * 4 + column % 8 / 2, column / 8 * 4 + lane / 8 * 2 + column % 2};
     }},
    {"16x32bx2", 16, 1, 128,
     [](uint32_t lane, uint32_t column) {
       return Holder{lane, column};
     },
     true},
};

constexpr uint32_t kFirstRegister = 20, kColumn = 8;

std::string registerList(uint32_t count) {
  std::string list;
  for (uint32_t i = 0; i < count; ++i) list += fmt::format("{}%r{}", i == 0 ? "" : ", ", kFirstRegister + i);
  return list;
}

struct Fragment {
  const Shape& shape;
  uint32_t n;
  bool packed;         ///< two 16-bit columns in a register
  uint32_t firstLane;  ///< in the window of the warp
  uint32_t half() const { return shape.halves ? 3 + columns() : 0; }
  uint32_t columns() const { return shape.columns * n * (packed ? 2 : 1); }
  uint32_t allColumns() const { return (kColumn + half() + columns() + 16) / 16 * 16; }
  std::string modifier(const char* packing) const {
    return fmt::format("sync.aligned.{}.x{}{}.b32", shape.name, n, packed ? packing : "");
  }
  std::string immediate() const { return shape.halves ? fmt::format(", {}", half()) : ""; }
  std::string name() const { return fmt::format("{}.x{}{} at lane {}", shape.name, n, packed ? " packed" : "", firstLane); }

  /// Calls visit(TMEM lane, TMEM column, thread of the CTA, register, half of the register or -1).
  template <class Visit>
  void forEachCell(Visit&& visit) const {
    for (uint32_t warp = 0; warp < 4; ++warp) {
      for (uint32_t range = 0; range < (shape.halves ? 2u : 1u); ++range) {
        for (uint32_t lane = 0; lane < shape.lanes; ++lane) {
          for (uint32_t column = 0; column < columns(); ++column) {
            const Holder holder = shape.holder(lane, packed ? column / 2 : column);
            visit(32 * warp + firstLane + lane, kColumn + range * half() + column, 32 * warp + 16 * range + holder.thread,
                  holder.register_, packed ? static_cast<int>(column % 2) : -1);
          }
        }
      }
    }
  }
};

template <class Check>
void forEachFragment(Check&& check) {
  for (const Shape& shape : kShapes) {
    for (uint32_t n = 1; n <= shape.largest; n *= 2) {
      for (const bool packed : {false, true}) {
        for (uint32_t lane = 0; lane + shape.lanes <= 32; lane += 16) {
          const Fragment fragment{shape, n, packed, lane};
          if (kColumn + fragment.half() + fragment.columns() > 512) continue;
          check(fragment);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Both halves of a cell identify it.
uint32_t cellOf(uint32_t lane, uint32_t column) { return (lane << 9 | column) | (~(lane << 9 | column) & 0xffff) << 16; }

std::string fillDistinctCells(uint32_t columns) {
  std::string text = "  shl.b32 %r1, %thread, 9;\n";
  for (uint32_t column = 0; column < columns; ++column) {
    text += fmt::format(
        "  or.b32 %r2, %r1, {};\n  not.b32 %r3, %r2;\n  shl.b32 %r3, %r3, 16;\n  or.b32 %r2, %r2, %r3;\n"
        "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r2}};\n",
        column, column);
  }
  return text + "  tcgen05.wait::st.sync.aligned;\n" + fencedBarrier();
}

TEST(Fragments, LoadsPutEveryCellIntoItsRegister) {
  uint32_t checked = 0;
  emulator::Emulator machine;
  forEachFragment([&](const Fragment& fragment) {
    const uint32_t count = fragment.shape.registers(fragment.n);
    std::string body = fillDistinctCells(fragment.allColumns()) + outputOfThread(count) +
                       fmt::format("  add.u32 %r0, %tmem, {:#x};\n", fragment.firstLane << 16 | kColumn) +
                       fmt::format("  tcgen05.ld.{} {{{}}}, [%r0]{};\n  tcgen05.wait::ld.sync.aligned;\n",
                                   fragment.modifier(".pack::16b"), registerList(count), fragment.immediate());
    for (uint32_t r = 0; r < count; ++r) body += fmt::format("  st.global.u32 [%rd9+{}], %r{};\n", 4 * r, kFirstRegister + r);
    const std::vector<uint32_t> output = TensorKernel{.body = body, .outputWords = 128 * count}.run(machine, withHazardChecks());
    std::vector<uint32_t> expected(output.size(), 0);
    fragment.forEachCell([&](uint32_t lane, uint32_t column, uint32_t thread, uint32_t r, int half) {
      const uint32_t cell = cellOf(lane, column);
      expected[thread * count + r] |= half < 0 ? cell : (cell & 0xffff) << 16 * half;
    });
    ASSERT_EQ(output, expected) << fragment.name();
    ++checked;
  });
  EXPECT_GE(checked, 120u);
}

TEST(Fragments, StoresPutEveryRegisterIntoItsCell) {
  uint32_t checked = 0;
  emulator::Emulator machine;
  forEachFragment([&](const Fragment& fragment) {
    const uint32_t count = fragment.shape.registers(fragment.n), columns = fragment.allColumns();
    // Register r of thread t: both halves identify them.
    const auto registerOf = [](uint32_t thread, uint32_t r) { return (thread << 7 | r) | (0x8000 | (thread << 7 | r)) << 16; };
    std::string body = fillCells(columns) + fencedBarrier() + "  shl.b32 %r1, %thread, 7;\n";
    for (uint32_t r = 0; r < count; ++r) {
      const uint32_t target = kFirstRegister + r;
      body += fmt::format(
          "  or.b32 %r{0}, %r1, {1};\n  shl.b32 %r2, %r{0}, 16;\n  or.b32 %r2, %r2, 0x80000000;\n"
          "  or.b32 %r{0}, %r{0}, %r2;\n",
          target, r);
    }
    body += fmt::format("  add.u32 %r0, %tmem, {:#x};\n", fragment.firstLane << 16 | kColumn) +
            fmt::format("  tcgen05.st.{} [%r0]{}, {{{}}};\n  tcgen05.wait::st.sync.aligned;\n", fragment.modifier(".unpack::16b"),
                        fragment.immediate(), registerList(count)) +
            fencedBarrier() + dumpCells(columns);
    std::vector<uint32_t> output = TensorKernel{.body = body, .outputWords = 128 * columns}.run(machine, withHazardChecks());
    std::vector<uint32_t> expected;
    for (uint32_t lane = 0; lane < 128; ++lane) {
      for (uint32_t column = 0; column < columns; ++column) expected.push_back(cellBefore(lane, column));
    }
    fragment.forEachCell([&](uint32_t lane, uint32_t column, uint32_t thread, uint32_t r, int half) {
      const uint32_t value = registerOf(thread, r);
      expected[lane * columns + column] = half < 0 ? value : value >> 16 * half & 0xffff;
      // What unpacking leaves in the high half is not documented.
      if (half >= 0) output[lane * columns + column] &= 0xffff;
    });
    ASSERT_EQ(output, expected) << fragment.name();
    ++checked;
  });
  EXPECT_GE(checked, 120u);
}

}  // namespace
}  // namespace shiftconv::tests::layouts
