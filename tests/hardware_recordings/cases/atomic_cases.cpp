// atom and red (PTX ISA 9.0, 9.7.13.5 and 9.7.13.7): every thread on its own cell, and whole warps on one.
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings {
namespace {

/// Sixteen bytes for each thread of a block, or of the whole launch.
const std::string kCells =
    ".shared .align 16 .b8 sharedCells[4096];\n"
    ".global .align 16 .b8 globalCells[65536];\n";

/// Puts the address of the thread's own cell into %cell (and of the space's window).
std::string cellAddress(const std::string& space) {
  if (space == "shared")
    return ".reg .b64 %cell, %where;\n    .reg .b32 %slot;\n    mov.u64 %cell, sharedCells;\n    mov.u32 %slot, %tid.x;\n"
           "    mul.wide.u32 %where, %slot, 16;\n    add.u64 %cell, %cell, %where;\n    ";
  const std::string global =
      ".reg .b64 %cell, %where;\n    mov.u64 %cell, globalCells;\n    mul.wide.u32 %where, %i, 16;\n    add.u64 %cell, %cell, "
      "%where;\n    ";
  return space.empty() ? global + "cvta.global.u64 %cell, %cell;\n    " : global;
}

std::string dotted(const std::string& space) { return space.empty() ? "" : "." + space; }

/// x0 = value returned, x1 = cell afterwards; `operands` follow the address.
void addAtom(FormTable& table, const std::string& space, const std::string& operation, Kind kind, bool swap = false,
             const std::string& semantics = "") {
  const std::string bits = fmt::format("b{}", 8 * bytesOf(kind)), at = dotted(space);
  const std::string name = fmt::format("atom{}{}.{}", semantics, at, operation);
  std::vector<Kind> inputs{kind, kind};
  if (swap) inputs.push_back(kind);
  const std::string text =
      cellAddress(space) + fmt::format("st{0}.{1} [%cell], %a;\n    {2} %x0, [%cell], %b{3};\n    ld{0}.{1} %x1, [%cell];", at,
                                       bits, name, swap ? ", %c" : "");
  OperandFilter filter;
  // Every other comparison should succeed.
  if (swap)
    filter = [](OperandSet& set) {
      if (set[2] & 1) set[1] = set[0];
    };
  table.body(name, inputs, {kind, kind}, text, {.count = 1024, .filter = filter, .moduleText = kCells});
}

void addRed(FormTable& table, const std::string& space, const std::string& operation, Kind kind) {
  const std::string bits = fmt::format("b{}", 8 * bytesOf(kind)), at = dotted(space);
  const std::string name = fmt::format("red{}.{}", at, operation);
  table.body(
      name, {kind, kind}, {kind},
      cellAddress(space) + fmt::format("st{0}.{1} [%cell], %a;\n    {2} [%cell], %b;\n    ld{0}.{1} %x0, [%cell];", at, bits, name),
      {.count = 1024, .moduleText = kCells});
}

/// All lanes of a warp on the cell of their first lane; the sum of an order-independent operation is what is left.
void addContended(FormTable& table, const std::string& space, const std::string& operation) {
  const std::string type = operation.substr(operation.rfind('.') + 1);
  const Kind kind = kindNamed(type);
  const std::string bits = fmt::format("b{}", 8 * bytesOf(kind));
  const std::string text =
      cellAddress(space) +
      fmt::format(
          ".reg .pred %first;\n    .reg .{1} %old;\n    .reg .b64 %shift;\n    mul.wide.u32 %shift, %lane, 16;\n"
          "    sub.u64 %cell, %cell, %shift;\n    setp.eq.u32 %first, %lane, 0;\n    @%first st.{0}.{1} [%cell], %a;\n"
          "    bar.sync 0;\n    atom.{0}.{2} %old, [%cell], %b;\n    bar.sync 0;\n    ld.{0}.{1} %x0, [%cell];",
          space, bits, operation);
  table.body(fmt::format("atom.{}.{} contended", space, operation), {kind, kind}, {kind}, text,
             {.count = 512, .moduleText = kCells});
}

void addVector(FormTable& table, const std::string& operation, unsigned elements, Kind kind) {
  const std::string bits = fmt::format("b{}", 8 * bytesOf(kind));
  std::string values, olds;
  std::string stores, loads, copies;
  std::vector<Kind> outputs(2 * elements, kind);
  for (unsigned k = 0; k < elements; ++k) {
    values += fmt::format("{}{}", k ? ", " : "", k % 2 ? "%c" : "%b");
    olds += fmt::format("{}%x{}", k ? ", " : "", k);
    stores += fmt::format("st.global.{} [%cell+{}], {};\n    ", bits, k * bytesOf(kind), k % 3 ? "%e" : "%a");
    loads += fmt::format("ld.global.{} %x{}, [%cell+{}];\n    ", bits, elements + k, k * bytesOf(kind));
  }
  table.body("atom.global." + operation, {kind, kind, kind, kind}, outputs,
             cellAddress("global") + stores +
                 fmt::format("atom.global.{} {{{}}}, [%cell], {{{}}};\n    ", operation, olds, values) + loads,
             {.count = 512, .moduleText = kCells});
}

}  // namespace

void addAtomicCases(CaseList& cases) {
  FormTable table(cases, "atomic");
  for (const std::string space : {"global", "shared", ""}) {
    for (const std::string& operation :
         expandBraces("{add.u32,add.s32,add.u64,add.f32,add.f64,min.u32,max.u32,min.s32,max.s32,min.u64,max.u64,"
                      "min.s64,max.s64,inc.u32,dec.u32,and.b32,or.b32,xor.b32,and.b64,or.b64,xor.b64,"
                      "add.noftz.f16,add.noftz.f16x2,add.noftz.bf16,add.noftz.bf16x2}")) {
      const Kind kind = kindNamed(operation.substr(operation.rfind('.') + 1));
      addAtom(table, space, operation, kind);
      addRed(table, space, operation, kind);
    }
    for (const char* type : {"b32", "b64"}) addAtom(table, space, std::string("exch.") + type, kindNamed(type));
    for (const char* type : {"b16", "b32", "b64"}) addAtom(table, space, std::string("cas.") + type, kindNamed(type), true);
  }
  for (const char* semantics : {".relaxed.gpu", ".acquire.cta", ".release.sys", ".acq_rel.cluster"})
    addAtom(table, "global", "add.u32", Kind::I32, false, semantics);
  for (const char* space : {"global", "shared"})
    for (const std::string& operation : expandBraces("{add.u32,add.u64,min.s32,max.u64,inc.u32,dec.u32,and.b32,or.b64,xor.b32}"))
      addContended(table, space, operation);
  addVector(table, "add.v2.f32", 2, Kind::F32);
  addVector(table, "add.v4.f32", 4, Kind::F32);
  for (const std::string op : {"add", "min", "max"}) {
    addVector(table, op + ".noftz.v4.f16", 4, Kind::F16);
    addVector(table, op + ".noftz.v2.f16x2", 2, Kind::F16x2);
    addVector(table, op + ".noftz.v4.bf16x2", 4, Kind::BF16x2);
  }
  const std::string wide = cellAddress("global") +
                           ".reg .b128 %q, %r, %o;\n    mov.b128 %q, {%a, %b};\n    st.global.b128 [%cell], %q;\n    "
                           "mov.b128 %r, {%c, %e};\n    ";
  const std::string after = "\n    mov.b128 {%x0, %x1}, %o;\n    ld.global.v2.b64 {%x2, %x3}, [%cell];";
  const std::vector<Kind> four(4, Kind::I64);
  table.body("atom.global.exch.b128", four, four, wide + "atom.global.exch.b128 %o, [%cell], %r;" + after,
             {.count = 256, .moduleText = kCells, .target = "sm_90"});
  table.body("atom.global.cas.b128", four, four, wide + "atom.global.cas.b128 %o, [%cell], %q, %r;" + after,
             {.count = 256, .moduleText = kCells, .target = "sm_90"});
}

}  // namespace shiftconv::recordings
