#include "tests/published_layouts/kernel_parts.hpp"

#include <fmt/format.h>

#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {

namespace {

constexpr uint32_t kFirst = 20;  ///< registers %r20.. carry cells

std::string registers(uint32_t count) {
  std::string list;
  for (uint32_t i = 0; i < count; ++i) list += fmt::format("{}%r{}", i == 0 ? "" : ", ", kFirst + i);
  return list;
}

}  // namespace

std::string fillCells(uint32_t columns) {
  std::string text = "  mul.lo.u32 %r1, %thread, 1000;\n";
  for (uint32_t i = 0; i < 16; ++i) text += fmt::format("  add.u32 %r{}, %r1, {:#x};\n", kFirst + i, 0x5a000000 + i);
  for (uint32_t column = 0; column < columns; column += 16)
    text += fmt::format("  tcgen05.st.sync.aligned.32x32b.x16.b32 [%tmem+{}], {{{}}};\n", column, registers(16));
  return text + "  tcgen05.wait::st.sync.aligned;\n";
}

std::string loadCells(uint32_t start, uint32_t column, uint32_t count) {
  std::string text = fmt::format("  mad.lo.u32 %r1, %thread, {}, %tile;\n", 4 * count);
  for (uint32_t i = 0; i < count; ++i) text += fmt::format("  ld.shared.u32 %r{}, [%r1+{}];\n", kFirst + i, start + 4 * i);
  for (uint32_t i = 0; i < count; ++i)
    text += fmt::format("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r{}}};\n", column + i, kFirst + i);
  return text;
}

std::string dumpCells(uint32_t columns) {
  std::string text = outputOfThread(columns);
  for (uint32_t column = 0; column < columns; column += 16) {
    text += fmt::format("  tcgen05.ld.sync.aligned.32x32b.x16.b32 {{{}}}, [%tmem+{}];\n  tcgen05.wait::ld.sync.aligned;\n",
                        registers(16), column);
    for (uint32_t i = 0; i < 16; i += 4)
      text += fmt::format("  st.global.v4.u32 [%rd9+{}], {{%r{}, %r{}, %r{}, %r{}}};\n", 4 * (column + i), kFirst + i,
                          kFirst + i + 1, kFirst + i + 2, kFirst + i + 3);
  }
  return text;
}

std::string clusterBarrier() {
  return "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  barrier.cluster.arrive.aligned;\n"
         "  barrier.cluster.wait.aligned;\n  tcgen05.fence::after_thread_sync;\n";
}

std::string commitFromFirstCta(unsigned index, uint32_t ctaGroup) {
  return fmt::format(
             "  mov.u16 %h0, {};\n  @%p1 tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster"
             ".multicast::cluster.b64 [%bar+{}], %h0;\n",
             ctaGroup == 2 ? 3 : 1, ctaGroup, 8 * index) +
         waitForCommit(index);
}

}  // namespace shiftconv::tests::layouts
