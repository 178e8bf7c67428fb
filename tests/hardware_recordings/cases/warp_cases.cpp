// shfl, vote, match, redux, elect, activemask, with and without divergence (PTX ISA 9.0, 9.7.9.6, 9.7.13.9-13).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings::warp_cases {
namespace {

constexpr Kind Pred = Kind::Pred, I32 = Kind::I32, I64 = Kind::I64, Amount = Kind::Amount;

/// Runs `odd` in lanes with an odd number of set bits and `even` in the others; %mask holds the lanes of the own side.
std::string diverged(const std::string& odd, const std::string& even) {
  return ".reg .b32 %ones, %mask;\n    .reg .pred %side;\n    popc.b32 %ones, %lane;\n    and.b32 %ones, %ones, 1;\n    "
         "setp.eq.u32 %side, %ones, 1;\n"
         "    @%side bra oddSide;\n    mov.u32 %mask, 0x69969669;\n    " +
         even + "\n    bra joined;\n  oddSide:\n    mov.u32 %mask, 0x96696996;\n    " + odd +
         "\n  joined:\n    bar.warp.sync 0xffffffff;";
}

void addShuffles(FormTable& table) {
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    // Lane deltas and clamps beyond 5 bits: only the documented bits count. Segments come from the clamp operand.
    table.body("shfl.sync." + mode + ".b32", {I32, Amount, Amount}, {I32, Pred},
               "shfl.sync." + mode + ".b32 %x0|%x1, %a, %b, %c, 0xffffffff;");
    table.body("shfl.sync." + mode + ".b32 segments", {I32, Amount, I32}, {I32, Pred},
               ".reg .b32 %seg;\n    and.b32 %seg, %c, 0x1f1f;\n    shfl.sync." + mode + ".b32 %x0|%x1, %a, %b, %seg, -1;");
    for (const auto& [width, clamp] : {std::pair{32, mode == "up" ? 0 : 0x1f}, std::pair{8, mode == "up" ? 0x1800 : 0x181f},
                                       std::pair{2, mode == "up" ? 0x1e00 : 0x1e1f}})
      table.body(fmt::format("shfl.sync.{}.b32 width {}", mode, width), {I32}, {I32, I32, I32},
                 fmt::format("shfl.sync.{0}.b32 %x0, %a, 1, {1}, -1;\n    shfl.sync.{0}.b32 %x1, %a, 3, {1}, -1;\n    "
                             "shfl.sync.{0}.b32 %x2, %a, 16, {1}, -1;",
                             mode, clamp),
                 {.count = 256});
  }
  // Partners that differ in an even number of bits stay on the same side.
  const std::string exchange = "shfl.sync.bfly.b32 %x0, %a, 3, 0x1f, %mask;";
  table.body("shfl.sync.bfly.b32 divergent", {I32}, {I32}, diverged(exchange, "shfl.sync.bfly.b32 %x0, %a, 12, 0x1f, %mask;"),
             {.count = 512});
  table.body("shfl.sync.idx.b32 quarter masks", {I32}, {I32, Pred},
             ".reg .b32 %mask, %base;\n    .reg .pred %low;\n    setp.lt.u32 %low, %lane, 16;\n    @%low bra lowHalf;\n    "
             "shfl.sync.idx.b32 %x0|%x1, %a, 21, 0x1f, 0xffff0000;\n    bra joined;\n"
             "  lowHalf:\n    shfl.sync.idx.b32 %x0|%x1, %a, 2, 0x1f, 0x0000ffff;\n  joined:",
             {.count = 512});
}

void addVotes(FormTable& table) {
  const std::string votes =
      "vote.sync.all.pred %x0, {0}, {1};\n    vote.sync.any.pred %x1, {0}, {1};\n    vote.sync.uni.pred %x2, {0}, {1};\n    "
      "vote.sync.ballot.b32 %x3, {0}, {1};";
  const std::vector<Kind> outputs{Pred, Pred, Pred, I32};
  const auto with = [&](const char* predicate, const char* mask) { return fmt::format(fmt::runtime(votes), predicate, mask); };
  table.body("vote.sync", {Pred}, outputs, with("%a", "0xffffffff"));
  table.body("vote.sync negated", {Pred}, outputs, with("!%a", "-1"));
  // Sets that agree in a whole warp.
  table.body("vote.sync agreeing", {Amount}, outputs,
             ".reg .pred %p;\n    .reg .b32 %w;\n    shfl.sync.idx.b32 %w, %a, 0, 0x1f, -1;\n    setp.gt.u32 %p, %w, 16;\n    " +
                 with("%p", "0xffffffff"));
  table.body("vote.sync divergent", {Pred}, outputs, diverged(with("%a", "%mask"), with("!%a", "%mask")), {.count = 1024});
}

void addMatches(FormTable& table) {
  const std::string few = ".reg .b32 %few;\n    and.b32 %few, %a, 3;\n    ";
  table.body("match.any.sync.b32", {I32}, {I32, I32},
             few + "match.any.sync.b32 %x0, %a, -1;\n    match.any.sync.b32 %x1, %few, -1;", {.count = 1024});
  table.body(
      "match.any.sync.b64", {I64}, {I32, I32},
      ".reg .b64 %few;\n    and.b64 %few, %a, 3;\n    match.any.sync.b64 %x0, %a, -1;\n    match.any.sync.b64 %x1, %few, -1;",
      {.count = 1024});
  table.body("match.all.sync.b32", {I32}, {I32, Pred, I32, Pred},
             ".reg .b32 %same;\n    shfl.sync.idx.b32 %same, %a, 7, 0x1f, -1;\n    match.all.sync.b32 %x0|%x1, %a, -1;\n    "
             "match.all.sync.b32 %x2|%x3, %same, -1;",
             {.count = 1024});
  table.body("match.any.sync.b32 divergent", {I32}, {I32},
             few + diverged("match.any.sync.b32 %x0, %few, %mask;", "match.any.sync.b32 %x0, %few, %mask;"), {.count = 1024});
}

void addReductions(FormTable& table) {
  for (const std::string& form :
       expandBraces("redux.sync.{add.u32,add.s32,min.u32,min.s32,max.u32,max.s32,and.b32,or.b32,xor.b32}")) {
    table.body(form, {I32}, {I32}, form + " %x0, %a, 0xffffffff;", {.count = 1024});
    table.body(form + " divergent", {I32}, {I32}, diverged(form + " %x0, %a, %mask;", form + " %x0, %a, %mask;"), {.count = 512});
  }
}

/// Lanes leave loops and the kernel's text at different times; those that stay talk to each other.
void addDepartures(FormTable& table) {
  // In round k the lanes whose number has no bit below k take part: 32, 16, 8, 4, 2, 1 of them.
  table.body("shuffles among ever fewer lanes", {I32}, {I32},
             ".reg .b32 %k, %bit, %members, %got, %seen;\n    .reg .pred %out, %last;\n    mov.u32 %x0, %a;\n    mov.u32 %k, 0;\n  "
             "  mov.u32 %members, 0xffffffff;\n"
             "  again:\n    shfl.sync.bfly.b32 %got, %x0, 16, 0x1f, %members;\n    mad.lo.u32 %x0, %got, 3, %k;\n    "
             "redux.sync.xor.b32 %seen, %x0, %members;\n    xor.b32 %x0, %x0, %seen;\n"
             "    shr.u32 %bit, %lane, %k;\n    and.b32 %bit, %bit, 1;\n    setp.ne.u32 %out, %bit, 0;\n    @%out bra done;\n"
             "    mov.u32 %bit, 1;\n    shl.b32 %bit, %bit, %k;\n    mov.u32 %got, 1;\n    shl.b32 %got, %got, %bit;\n    add.u32 "
             "%got, %got, 1;\n    mov.u32 %seen, 0xffffffff;\n"
             "    div.u32 %got, %seen, %got;\n    and.b32 %members, %members, %got;\n"
             "    add.u32 %k, %k, 1;\n    setp.lt.u32 %last, %k, 4;\n    @%last bra again;\n  done:",
             {.count = 512});
  table.body("nested loops with breaks", {I32, Amount}, {I32, I32},
             ".reg .b32 %i1, %j1, %n, %t;\n    .reg .pred %p, %q;\n    and.b32 %n, %b, 7;\n    mov.u32 %x0, %a;\n    mov.u32 %x1, "
             "0;\n    mov.u32 %i1, 0;\n"
             "  outer:\n    setp.gt.u32 %p, %i1, %n;\n    @%p bra end;\n    mov.u32 %j1, 0;\n  inner:\n    mad.lo.u32 %x0, %x0, "
             "69069, %j1;\n    shr.u32 %t, %x0, 29;\n    setp.eq.u32 %q, %t, 3;\n    @%q bra next;\n"
             "    setp.eq.u32 %q, %t, 5;\n    @%q bra end;\n    add.u32 %x1, %x1, 1;\n    add.u32 %j1, %j1, 1;\n    setp.lt.u32 "
             "%q, %j1, %lane;\n    @%q bra inner;\n  next:\n    add.u32 %i1, %i1, 1;\n    bra outer;\n"
             "  end:\n    bar.warp.sync -1;\n    shfl.sync.idx.b32 %t, %x0, 9, 0x1f, -1;\n    add.u32 %x1, %x1, %t;");
  const std::string lower =
      ".reg .pred %low;\n    setp.lt.u32 %low, %lane, 20;\n    mov.u32 %x0, 77;\n    mov.u32 %x1, 78;\n    @!%low bra gone;\n    ";
  table.body("vote and match without the upper lanes", {I32}, {I32, I32},
             lower +
                 ".reg .pred %odd;\n    .reg .b32 %few;\n    and.b32 %few, %a, 1;\n    setp.ne.u32 %odd, %few, 0;\n    "
                 "vote.sync.ballot.b32 %x0, %odd, 0x000fffff;\n    match.any.sync.b32 %x1, %few, 0x000fffff;\n  gone:",
             {.count = 512});
  table.body("shuffle down without the upper lanes", {I32}, {I32, I32},
             lower +
                 "shfl.sync.down.b32 %x0, %a, 3, 0x1f, 0x000fffff;\n    setp.lt.u32 %low, %lane, 17;\n    selp.b32 %x0, %x0, 0, "
                 "%low;\n    shfl.sync.up.b32 %x1, %a, 5, 0, 0x000fffff;\n  gone:",
             {.count = 512});
}

void addElections(FormTable& table) {
  table.body("elect.sync", {I32}, {I32, Pred}, "elect.sync %x0|%x1, 0xffffffff;", {.count = 256});
  table.body("elect.sync divergent", {I32}, {I32, Pred}, diverged("elect.sync %x0|%x1, %mask;", "elect.sync %x0|%x1, %mask;"),
             {.count = 256});
  table.body("elect.sync high half", {I32}, {I32, Pred},
             ".reg .pred %low;\n    mov.u32 %x0, 99;\n    mov.pred %x1, 0;\n    setp.lt.u32 %low, %lane, 16;\n    @%low bra "
             "joined;\n    elect.sync %x0|%x1, 0xffff0000;\n  joined:",
             {.count = 256});
  table.body("activemask convergent", {}, {I32}, "activemask.b32 %x0;", {.count = 256});
  table.body("bar.warp.sync", {I32}, {I32}, "bar.warp.sync -1;\n    mov.u32 %x0, %a;", {.count = 256});
}

}  // namespace

void addAll(CaseList& cases) {
  FormTable table(cases, "warp");
  addShuffles(table);
  addVotes(table);
  addMatches(table);
  addReductions(table);
  addElections(table);
  addDepartures(table);
}

}  // namespace shiftconv::recordings::warp_cases

namespace shiftconv::recordings {
void addWarpCases(CaseList& cases) { warp_cases::addAll(cases); }
}  // namespace shiftconv::recordings
