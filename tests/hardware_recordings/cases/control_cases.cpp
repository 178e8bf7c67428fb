// Control flow, calls, barriers and special registers (PTX ISA 9.0, 9.7.12, 9.7.13.1, section 10).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings {
namespace {

constexpr Kind I32 = Kind::I32, Amount = Kind::Amount, Pred = Kind::Pred;

void addBranches(FormTable& table) {
  table.body("loop with different trip counts", {I32, Amount}, {I32},
             ".reg .b32 %k, %n;\n    .reg .pred %p;\n    and.b32 %n, %b, 31;\n    mov.u32 %k, 0;\n    mov.u32 %x0, %a;\n"
             "  again:\n    setp.ge.u32 %p, %k, %n;\n    @%p bra done;\n    mad.lo.u32 %x0, %x0, 1664525, %k;\n    add.u32 %k, %k, "
             "1;\n    bra again;\n  done:");
  table.body("nested divergence", {I32, I32}, {I32},
             ".reg .pred %p, %q;\n    setp.lt.s32 %p, %a, %b;\n    @%p bra less;\n    setp.gt.s32 %q, %a, 100;\n    @%q bra big;\n "
             "   sub.s32 %x0, %a, %b;\n    bra join;\n"
             "  big:\n    xor.b32 %x0, %a, %b;\n    bra join;\n  less:\n    setp.eq.s32 %q, %lane, 5;\n    @!%q bra other;\n    "
             "mov.u32 %x0, 5;\n    bra join;\n"
             "  other:\n    add.s32 %x0, %a, %b;\n  join:\n    add.s32 %x0, %x0, 1;");
  table.body("brx.idx", {I32, I32}, {I32},
             ".reg .b32 %k;\n    and.b32 %k, %a, 3;\n    targets: .branchtargets zero, one, two, three;\n    brx.idx %k, targets;\n"
             "  zero:\n    add.u32 %x0, %b, 10;\n    bra end;\n  one:\n    sub.u32 %x0, %b, 10;\n    bra end;\n  two:\n    shl.b32 "
             "%x0, %b, 2;\n    bra end;\n"
             "  three:\n    not.b32 %x0, %b;\n  end:");
  table.body("predicated instructions", {I32, I32, Pred}, {I32, I32},
             "mov.u32 %x0, %a;\n    mov.u32 %x1, 17;\n    @%c add.u32 %x0, %x0, %b;\n    @!%c sub.u32 %x1, %x1, %b;");
}

void addCalls(FormTable& table) {
  const std::string functions =
      ".func (.param .b32 r) scaled(.param .b32 x, .param .b32 y)\n{\n  .reg .b32 %a<4>;\n  ld.param.b32 %a0, [x];\n  ld.param.b32 "
      "%a1, [y];\n"
      "  mad.lo.u32 %a2, %a0, 3, %a1;\n  st.param.b32 [r], %a2;\n  ret;\n}\n"
      ".func (.param .b32 r) other(.param .b32 x, .param .b32 y)\n{\n  .reg .b32 %a<4>;\n  ld.param.b32 %a0, [x];\n  ld.param.b32 "
      "%a1, [y];\n"
      "  xor.b32 %a2, %a0, %a1;\n  st.param.b32 [r], %a2;\n  ret;\n}\n"
      ".func (.param .b32 r) fibonacci(.param .b32 n)\n{\n  .reg .b32 %n, %x, %y, %m;\n  .reg .pred %p;\n  ld.param.b32 %n, [n];\n"
      "  setp.lt.u32 %p, %n, 2;\n  mov.u32 %x, %n;\n  @%p bra out;\n  sub.u32 %m, %n, 1;\n"
      "  {\n    .param .b32 arg;\n    .param .b32 res;\n    st.param.b32 [arg], %m;\n    call (res), fibonacci, (arg);\n    "
      "ld.param.b32 %x, [res];\n  }\n  sub.u32 %m, %n, 2;\n"
      "  {\n    .param .b32 arg;\n    .param .b32 res;\n    st.param.b32 [arg], %m;\n    call (res), fibonacci, (arg);\n    "
      "ld.param.b32 %y, [res];\n  }\n  add.u32 %x, %x, %y;\n"
      "out:\n  st.param.b32 [r], %x;\n  ret;\n}\n"
      ".func (.param .align 8 .b8 r[16]) swapped(.param .align 8 .b8 x[16])\n{\n  .reg .b64 %d<2>;\n  ld.param.b64 %d0, [x];\n  "
      "ld.param.b64 %d1, [x+8];\n"
      "  st.param.b64 [r], %d1;\n  st.param.b64 [r+8], %d0;\n  ret;\n}\n";
  const auto call = [](const std::string& how) {
    return ".param .b32 p0;\n    .param .b32 p1;\n    .param .b32 res;\n    st.param.b32 [p0], %a;\n    st.param.b32 [p1], %b;\n   "
           " " +
           how + "\n    ld.param.b32 %x0, [res];";
  };
  table.body("call", {I32, I32}, {I32}, call("call.uni (res), scaled, (p0, p1);"), {.count = 512, .moduleText = functions});
  table.body("call recursive", {Amount}, {I32},
             ".param .b32 p0;\n    .param .b32 res;\n    .reg .b32 %n;\n    rem.u32 %n, %a, 9;\n    st.param.b32 [p0], %n;\n    "
             "call (res), fibonacci, (p0);\n    ld.param.b32 %x0, [res];",
             {.count = 64, .moduleText = functions});
  table.body("call of an aggregate", {Kind::I64, Kind::I64}, {Kind::I64, Kind::I64},
             ".param .align 8 .b8 p0[16];\n    .param .align 8 .b8 res[16];\n    st.param.b64 [p0], %a;\n    st.param.b64 [p0+8], "
             "%b;\n    call (res), swapped, (p0);\n"
             "    ld.param.b64 %x0, [res];\n    ld.param.b64 %x1, [res+8];",
             {.count = 256, .moduleText = functions});
  table.body("call indirect", {I32, I32, Pred}, {I32},
             ".reg .b64 %f0, %f1, %fp;\n    mov.u64 %f0, scaled;\n    mov.u64 %f1, other;\n    selp.b64 %fp, %f0, %f1, %c;\n    "
             "shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n    " +
                 call("call (res), %fp, (p0, p1), shape;"),
             {.count = 256, .moduleText = functions});
}

void addBarriers(FormTable& table) {
  const std::string exchange = ".shared .align 4 .b32 exchange[256];\n";
  table.body("bar.sync exchange", {I32}, {I32, I32},
             ".reg .b32 %t, %o;\n    .reg .b64 %s, %d;\n    mov.u32 %t, %tid.x;\n    mov.u64 %s, exchange;\n    mul.wide.u32 %d, "
             "%t, 4;\n    add.u64 %d, %d, %s;\n    st.shared.b32 [%d], %a;\n"
             "    bar.sync 0;\n    xor.b32 %o, %t, 0xA7;\n    mul.wide.u32 %d, %o, 4;\n    add.u64 %d, %d, %s;\n    ld.shared.b32 "
             "%x0, [%d];\n    barrier.sync 3;\n    st.shared.b32 [%d], %x0;\n"
             "    barrier.cta.sync 0, 256;\n    ld.shared.b32 %x1, [%d];",
             {.count = 512, .moduleText = exchange});
  for (const char* reduction : {"and", "or"})
    table.body(fmt::format("bar.red.{}.pred", reduction), {Pred}, {Pred, Pred},
               fmt::format("bar.red.{0}.pred %x0, 0, %a;\n    .reg .pred %odd;\n    .reg .b32 %w;\n    and.b32 %w, %lane, 1;\n    "
                           "setp.eq.u32 %odd, %w, 1;\n    bar.red.{0}.pred %x1, 1, 256, !%odd;",
                           reduction),
               {.count = 512});
  table.body("bar.red.popc.u32", {Pred}, {I32, I32}, "bar.red.popc.u32 %x0, 0, %a;\n    barrier.cta.red.popc.u32 %x1, 2, !%a;",
             {.count = 512});
  table.body("bar.arrive", {I32}, {I32},
             ".reg .b32 %t, %o;\n    .reg .b64 %s, %d;\n    .reg .pred %p;\n    mov.u32 %t, %tid.x;\n    mov.u64 %s, exchange;\n   "
             " mul.wide.u32 %d, %t, 4;\n    add.u64 %d, %d, %s;\n"
             "    mov.u32 %x0, 1;\n    setp.lt.u32 %p, %t, 128;\n    @%p bra producer;\n    bar.sync 5, 256;\n    ld.shared.b32 "
             "%x0, [%d+-512];\n    bra end;\n"
             "  producer:\n    st.shared.b32 [%d], %a;\n    membar.cta;\n    bar.arrive 5, 256;\n  end:",
             {.count = 512, .moduleText = exchange});
}

void addSpecialRegisters(FormTable& table) {
  std::string text;
  unsigned k = 0;
  for (const char* name : {"tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "nctaid.x", "nctaid.z",
                           "laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"})
    text += fmt::format("mov.u32 %x{}, %{};\n    ", k++, name);
  table.body("special registers", {}, std::vector<Kind>(k, I32), text, {.count = 512});
  text.clear();
  k = 0;
  for (const char* name : {"cluster_ctaid.x", "cluster_nctaid.x", "cluster_ctarank", "cluster_nctarank", "clusterid.x",
                           "nclusterid.x", "total_smem_size", "dynamic_smem_size", "aggr_smem_size"})
    text += fmt::format("mov.u32 %x{}, %{};\n    ", k++, name);
  text += fmt::format("mov.pred %x{}, %is_explicit_cluster;\n    st.shared.b32 [used], %i;", k);
  std::vector<Kind> outputs(k, I32);
  outputs.push_back(Pred);
  table.body("cluster special registers without a cluster", {}, outputs, text,
             {.count = 512, .moduleText = ".shared .align 16 .b8 used[48];\n"});
  table.body("mov.u16 of a special register", {}, {Kind::I16, Kind::I64}, "mov.u16 %x0, %tid.x;\n    cvt.u64.u32 %x1, %ctaid.x;",
             {.count = 512});
}

}  // namespace

void addControlCases(CaseList& cases) {
  FormTable table(cases, "control");
  addBranches(table);
  addCalls(table);
  addBarriers(table);
  addSpecialRegisters(table);
}

}  // namespace shiftconv::recordings
