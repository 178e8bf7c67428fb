// Loads, stores, address spaces and non-bulk asynchronous copies (PTX ISA 9.0, 9.7.9).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings::memory_cases {
namespace {

constexpr Kind I16 = Kind::I16, I32 = Kind::I32, I64 = Kind::I64, Pred = Kind::Pred;

const std::string kCells = ".shared .align 16 .b8 sharedCells[8192];\n.global .align 16 .b8 globalCells[32768];\n";

/// %cell = 32 bytes of the thread's own in that space. Launches have 1024 threads.
std::string cellAddress(const std::string& space) {
  const std::string declare = ".reg .b64 %cell, %where;\n    .reg .b32 %slot;\n    mov.u32 %slot, %tid.x;\n    ";
  if (space == "local") return ".reg .b64 %cell;\n    .local .align 16 .b8 own[32];\n    mov.u64 %cell, own;\n    ";
  if (space == "shared")
    return declare + "mul.wide.u32 %where, %slot, 32;\n    mov.u64 %cell, sharedCells;\n    add.u64 %cell, %cell, %where;\n    ";
  return declare + "mul.wide.u32 %where, %i, 32;\n    mov.u64 %cell, globalCells;\n    add.u64 %cell, %cell, %where;\n    ";
}

FormOptions few() { return {.count = 1024, .moduleText = kCells}; }

/// Every width with extension into a 32-bit or 64-bit register.
void addLoads(FormTable& table, const std::string& space) {
  const std::string prepare =
      cellAddress(space) + fmt::format("st.{0}.b64 [%cell], %a;\n    st.{0}.b64 [%cell+8], %b;\n    ", space);
  for (const std::string type : {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32"})
    table.body(fmt::format("ld.{}.{} extended", space, type), {I64, I64}, {I64, I32},
               prepare + fmt::format("ld.{0}.{1} %x1, [%cell+4];\n    ", space, type) +
                   (type == "f32" ? "mov.b64 %x0, %b;" : fmt::format("ld.{0}.{1} %x0, [%cell+12];", space, type)),
               few());
  table.body(fmt::format("ld.{}.v2.b64", space), {I64, I64}, {I64, I64},
             prepare + fmt::format("ld.{}.v2.b64 {{%x1, %x0}}, [%cell];", space), few());
  table.body(fmt::format("ld.{}.v4.u8", space), {I64, I64}, {I32, I32, I32, I32},
             prepare + fmt::format("ld.{}.v4.u8 {{%x0, %x1, %x2, %x3}}, [%cell+8];", space), few());
  table.body(fmt::format("ld.{}.v4.s16", space), {I64, I64}, {I32, I32, I32, I32},
             prepare + fmt::format("ld.{}.v4.s16 {{%x0, %x1, %x2, %x3}}, [%cell+8];", space), few());
}

void addStores(FormTable& table, const std::string& space) {
  const std::string prepare =
      cellAddress(space) +
      fmt::format(
          ".reg .b64 %z;\n    mov.u64 %z, 0x1122334455667788;\n    st.{0}.b64 [%cell], %z;\n    st.{0}.b64 [%cell+8], %z;\n    ",
          space);
  const std::string read = fmt::format("ld.{}.v2.b64 {{%x0, %x1}}, [%cell];", space);
  for (const std::string type : {"b8", "u16", "s32"})
    table.body(fmt::format("st.{}.{} truncated", space, type), {I64, I64}, {I64, I64},
               prepare + fmt::format("st.{0}.{1} [%cell+4], %a;\n    st.{0}.{1} [%cell+8], %b;\n    ", space, type) + read, few());
  table.body(fmt::format("st.{}.v4.b8", space), {I32, I32}, {I64, I64},
             prepare + fmt::format("st.{}.v4.b8 [%cell+4], {{%a, %b, %b, %a}};\n    ", space) + read, few());
  table.body(fmt::format("st.{}.v4.b32", space), {I32, I32}, {I64, I64},
             prepare + fmt::format("st.{}.v4.b32 [%cell], {{%a, %b, %b, %a}};\n    ", space) + read, few());
  table.body(fmt::format("st.{}.v2.f64", space), {I64, I64}, {I64, I64},
             prepare + fmt::format("st.{}.v2.f64 [%cell], {{%b, %a}};\n    ", space) + read, few());
}

void addQualified(FormTable& table) {
  for (const std::string& load : expandBraces("ld.{volatile.global,relaxed.gpu.global,acquire.sys.global,global.nc,global.ca,"
                                              "global.cg,global.cv,global.L1::no_allocate,global.L2::128B}.b64")) {
    // The read-only path must not see a cell that the same kernel wrote.
    const bool readOnly = load.find(".nc") != std::string::npos;
    table.body(
        load, {I64}, {I64},
        readOnly ? load + " %x0, [%in];" : cellAddress("global") + "st.global.b64 [%cell], %a;\n    " + load + " %x0, [%cell];",
        few());
  }
  for (const std::string& store : expandBraces(
           "st.{volatile.global,relaxed.cta.global,release.gpu.global,global.wb,global.cg,global.wt,global.L1::no_allocate}.b64"))
    table.body(store, {I64}, {I64}, cellAddress("global") + store + " [%cell], %a;\n    ld.global.b64 %x0, [%cell];", few());
}

/// Generic addresses of every space, and the way back.
void addGeneric(FormTable& table) {
  for (const std::string space : {"global", "shared", "local"}) {
    std::string text =
        cellAddress(space) +
        fmt::format(
            ".reg .b64 %g, %back, %d;\n    cvta.{0}.u64 %g, %cell;\n    cvta.to.{0}.u64 %back, %g;\n    "
            "st.u64 [%g], %a;\n    ld.{0}.u64 %x0, [%back];\n    st.{0}.u64 [%back+8], %b;\n    ld.u64 %x1, [%g+8];\n    ",
            space);
    unsigned k = 2;
    for (const char* other : {"global", "shared", "local", "const"}) text += fmt::format("isspacep.{} %x{}, %g;\n    ", other, k++);
    table.body("generic " + space, {I64, I64}, {I64, I64, Pred, Pred, Pred, Pred}, text, few());
  }
  table.body(
      "const bank", {Kind::Amount}, {I32, I32},
      ".reg .b64 %c0, %o;\n    .reg .b32 %k;\n    and.b32 %k, %a, 15;\n    mul.wide.u32 %o, %k, 4;\n    mov.u64 %c0, bank;\n    "
      "add.u64 %c0, %c0, %o;\n    "
      "ld.const.u32 %x0, [%c0];\n    cvta.const.u64 %c0, %c0;\n    ld.u32 %x1, [%c0];",
      {.count = 256, .moduleText = ".const .align 4 .u32 bank[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 0xFFFFFFFF};\n"});
  table.body("initialised globals", {Kind::Amount}, {I32, I64, I16},
             ".reg .b64 %g, %o;\n    .reg .b32 %k;\n    and.b32 %k, %a, 3;\n    mul.wide.u32 %o, %k, 4;\n    mov.u64 %g, words;\n  "
             "  add.u64 %g, %g, %o;\n    ld.global.u32 %x0, [%g];\n    "
             "ld.global.u64 %g, [pointer];\n    ld.u64 %x1, [%g];\n    mov.u64 %g, halves;\n    ld.global.b16 %x2, [%g+2];",
             {.count = 64,
              .moduleText = ".global .align 4 .u32 words[4] = {7, 0x80000000, 5};\n.global .align 8 .f64 real = 1.5;\n"
                            ".global .align 8 .u64 pointer = generic(real);\n.global .align 2 .u16 halves[2] = {1, 0xBEEF};\n"});
}

/// cp.async with source sizes below the copy size: the rest is zero-filled.
void addAsynchronousCopies(FormTable& table) {
  const std::string addresses = cellAddress("shared") +
                                ".reg .b64 %g, %o;\n    .reg .b32 %n;\n    .reg .b64 %z;\n    mov.u64 %g, globalCells;\n    "
                                "mul.wide.u32 %o, %i, 32;\n    add.u64 %g, %g, %o;\n    "
                                "st.global.b64 [%g], %a;\n    st.global.b64 [%g+8], %b;\n    mov.u64 %z, 0xEEEEEEEEEEEEEEEE;\n    "
                                "st.shared.b64 [%cell], %z;\n    st.shared.b64 [%cell+8], %z;\n    ";
  const std::string finish = "\n    ld.shared.v2.b64 {%x0, %x1}, [%cell];";
  for (const unsigned bytes : {4u, 8u, 16u}) {
    const std::string cache = bytes == 16 ? "cg" : "ca";
    const std::string copy = fmt::format("cp.async.{}.shared.global [%cell], [%g], {}", cache, bytes);
    table.body(fmt::format("cp.async {} wait_all", bytes), {I64, I64}, {I64, I64},
               addresses + copy + ";\n    cp.async.wait_all;" + finish, few());
    table.body(fmt::format("cp.async {} src-size", bytes), {I64, I64, Kind::Amount}, {I64, I64},
               addresses +
                   fmt::format("rem.u32 %n, %c, {};\n    {}, %n;\n    cp.async.commit_group;\n    cp.async.wait_group 0;",
                               bytes + 1, copy) +
                   finish,
               few());
    table.body(fmt::format("cp.async {} ignore-src", bytes), {I64, I64, Pred}, {I64, I64},
               addresses + copy + ", %c;\n    cp.async.commit_group;\n    cp.async.wait_group 0;" + finish, few());
  }
}

}  // namespace

void addAll(CaseList& cases) {
  FormTable table(cases, "memory");
  for (const char* space : {"global", "shared", "local"}) {
    addLoads(table, space);
    addStores(table, space);
  }
  addQualified(table);
  addGeneric(table);
  addAsynchronousCopies(table);
}

}  // namespace shiftconv::recordings::memory_cases

namespace shiftconv::recordings {
void addMemoryCases(CaseList& cases) { memory_cases::addAll(cases); }
}  // namespace shiftconv::recordings
