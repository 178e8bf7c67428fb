// The behaviours of tcgen05 that no public document or observation settles completely. Defaults follow the
// strongest public evidence: vendor examples whose text says what was observed on a B200, third-party read-backs
// of Tensor Memory on B200 and GB200, and the wording of PTX ISA 9.0, 9.7.16.
#include "common/emulator/options.hpp"

namespace shiftconv::emulator {

std::optional<uint8_t> UnprovenQuestion::find(std::string_view alternative) const {
  for (size_t i = 0; i < alternatives.size(); ++i)
    if (alternative == alternatives[i] || alternative == std::to_string(i)) return static_cast<uint8_t>(i);
  return std::nullopt;
}

const std::vector<UnprovenQuestion>& unprovenQuestions() {
  static const std::vector<UnprovenQuestion> questions = {
      {Unproven::U1, "U1", "which 32-lane windows one tcgen05.shift moves", {"all four", "only the window of the address lane"}},
      {Unproven::U2,
       "U2",
       "tcgen05.shift with lane 32, 64 or 96 in its address",
       {"all four windows, as with lane 0", "fault", "that window and the ones above it"}},
      {Unproven::U3,
       "U3",
       "columns moved by .ashift, and its reach with cta_group::2",
       {"the 8 columns that the MMA reads; all windows of both CTAs", "the 32 columns from the first one read"}},
      {Unproven::U4,
       "U4",
       "tcgen05.cp.4x256b: legal first rows, and the source of the second 16 bytes of a row",
       {"rows 0..31; second chunk at +LBO without swizzle, at +16 before the XOR with one", "first row only 0",
        "first row only 28..31", "second chunk always at +16"}},
      {Unproven::U5, "U5", "tcgen05.cp.4x256b with decompression", {"each row as 128x256b does it", "unsupported"}},
      {Unproven::U6,
       "U6",
       "order of mma then cp, shift then shift, cp then shift, and transitivity",
       {"unordered: a race", "in issue order"}},
      {Unproven::U7,
       "U7",
       "lane-mask words 4..7 of a cta_group::2 MMA",
       {"the odd CTA, bit = Tensor Memory lane of that CTA", "the peer of the issuing CTA", "layout B: bit = row index"}},
      {Unproven::U8, "U8", "where a 6-bit element sits in its byte in Tensor Memory", {"bits 6:1", "bits 5:0"}},
      {Unproven::U9,
       "U9",
       "high 16 bits of f16 accumulator cells and of cells written by st.unpack",
       {"zero", "unchanged", "garbage"}},
      {Unproven::U10,
       "U10",
       "lane field of tcgen05.ld/st outside the window of the warp",
       {"below 32 (relative) or in the window; otherwise a fault", "always taken modulo 32", "in the window; otherwise a fault"}},
      {Unproven::U11,
       "U11",
       "base offset of a shared-memory descriptor in the swizzle",
       {"phase = ((address >> 7) - base_offset) & 7", "phase = ((address >> 7) + base_offset) & 7", "ignored"}},
      {Unproven::U12,
       "U12",
       "A in Tensor Memory for .ws with M = 64 or 32",
       {"every window group reads its own copy", "only window 0 is read"}},
      {Unproven::U13,
       "U13",
       "overflow of kind::i8 accumulators",
       {"wraps; with the saturate bit each instruction clamps its result to s32", "always wraps"}},
      {Unproven::U14, "U14", "numerics of .ws, cta_group::2, 6-bit and i8 MMAs", {"the same model as the dense kinds"}},
      {Unproven::U15,
       "U15",
       "rounding of scale-input-d",
       {"exact power-of-two scaling before alignment", "subnormal results flushed"}},
      {Unproven::U16,
       "U16",
       "contents of newly allocated columns, and the address returned",
       {"undefined contents; lowest free aligned run, lane 0", "zero"}},
      {Unproven::U17,
       "U17",
       ".ashift against MMAs with another accumulator on the same A",
       {"unordered: a race", "in issue order"}},
      {Unproven::U18, "U18", "K-major operands without swizzle", {"the core-matrix formula", "not usable"}},
      {Unproven::U19,
       "U19",
       "column shift and mask of .ws beyond N",
       {"columns s..s+N-1, mask indexed before the shift", "mask indexed after the shift"}},
      {Unproven::U20, "U20", "collector use/lastuse after A changed", {"reads memory", "reads the stale fill"}},
      {Unproven::U21, "U21", "bits 31:30 of scale-factor addresses", {"ignored", "must be zero", "override the scale-factor id"}},
      {Unproven::U22, "U22", "scale-input-d with kind::i8", {"fault", "ignored", "arithmetic shift"}},
      {Unproven::U23,
       "U23",
       "column alignment of accumulators, A in Tensor Memory and copy targets",
       {"copies: multiple of 4; accumulators and A: any column", "accumulators: multiple of 4", "accumulators: multiple of 32"}},
      {Unproven::U24, "U24", ".ashift with M = 64", {"fault", "shifts 16-lane halves", "ignored"}},
      {Unproven::U25,
       "U25",
       "does the lane mask hold back .ashift",
       {"the shift ignores the mask", "masked lanes are not shifted"}},
      {Unproven::U26,
       "U26",
       "enable-input-d = false with masked lanes",
       {"masked lanes keep their old value", "masked lanes become zero"}},
      {Unproven::U27, "U27", "scale factors of B for N not a multiple of 32", {"column n/32, the last one partly used", "refused"}},
      {Unproven::U28, "U28", "operand addresses in shared memory beyond 18 bits", {"fault", "wraps at 18 bits"}},
      {Unproven::U29,
       "U29",
       "tcgen05.cp from a swizzled K-major tile",
       {"rows as the descriptor addresses them", "the swizzle is not applied"}},
  };
  return questions;
}

}  // namespace shiftconv::emulator
