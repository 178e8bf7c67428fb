// mma.sync of tiles held in the registers of a warp (PTX ISA 9.0, 9.7.14.5): f16, bf16, tf32, fp8, f64, integers of 8 and 4 bits,
// and bits.
#include "common/emulator/forms/wgmma/tile_product.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;

/// The types are D, A, B, C from group `first` on.
TileWords wordsOf(const FormMatch& match, size_t shape, size_t first) {
  return {.instruction = "mma.sync",
          .shape = match.group(shape),
          .d = match.group(first),
          .a = match.group(first + 1),
          .b = match.group(first + 2),
          .c = match.group(first + 3)};
}

void decodeMma(DecodeContext& context, const FormMatch& match) { decodeTileProduct(context, wordsOf(match, 2, 5)); }

void decodeIntegerProduct(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match, 2, 6);
  words.saturate = match.has("satfinite");
  decodeTileProduct(context, words);
}

void decodeDoubleProduct(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match, 2, 6);
  words.rounding = match.group(5);
  decodeTileProduct(context, words);
}

void decodeBitMma(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match, 2, 5);
  words.logic = match.group(9);
  decodeTileProduct(context, words);
}

void decodeSparse(DecodeContext& context, const FormMatch& match, TileWords words) {
  words.instruction = "mma.sp.sync";
  words.sparse = match.has("sp") ? TileWords::Sparse::Yes : TileWords::Sparse::Ordered;
  decodeTileProduct(context, words);
}

void decodeSparseProduct(DecodeContext& context, const FormMatch& match) { decodeSparse(context, match, wordsOf(match, 3, 6)); }

void decodeSparseIntegerProduct(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match, 3, 7);
  words.saturate = match.has("satfinite");
  decodeSparse(context, match, words);
}

}  // namespace
}  // namespace shiftconv::emulator::wgmma

namespace shiftconv::emulator::isa {

FormFamily tileProductForms() {
  using namespace wgmma;
  return {
      {"mma.sync.aligned.(m16n8k8|m16n8k16).row.col.(f32|f16).f16.f16.(f32|f16)", decodeMma},
      {"mma.sync.aligned.m8n8k4.(row|col).(row|col).(f32|f16).f16.f16.(f32|f16)", decodeQuadPairProduct},
      {"mma.sync.aligned.(m16n8k8|m16n8k16).row.col.f32.bf16.bf16.f32", decodeMma},
      {"mma.sync.aligned.(m16n8k4|m16n8k8).row.col.f32.tf32.tf32.f32", decodeMma},
      {"mma.sync.aligned.(m16n8k16|m16n8k32).row.col.f32.(e4m3|e5m2).(e4m3|e5m2).f32", decodeMma},
      {"mma.sync.aligned.(m16n8k16|m16n8k32).row.col.f16.(e4m3|e5m2).(e4m3|e5m2).f16", decodeMma},
      {"mma.sync.aligned.(m8n8k4|m16n8k4|m16n8k8|m16n8k16).row.col{.(rn|rz|rm|rp)}.f64.f64.f64.f64", decodeDoubleProduct},
      {"mma.sync.aligned.(m8n8k16|m16n8k16|m16n8k32).row.col{.satfinite}.s32.(s8|u8).(s8|u8).s32", decodeIntegerProduct},
      {"mma.sync.aligned.(m8n8k32|m16n8k32|m16n8k64).row.col{.satfinite}.s32.(s4|u4).(s4|u4).s32", decodeIntegerProduct},
      {"mma.sync.aligned.(m8n8k128|m16n8k128|m16n8k256).row.col.s32.b1.b1.s32.(xor|and).popc", decodeBitMma},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.(m16n8k16|m16n8k32).row.col.(f32|f16).f16.f16.(f32|f16)", decodeSparseProduct},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.(m16n8k16|m16n8k32).row.col.f32.bf16.bf16.f32", decodeSparseProduct},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.(m16n8k8|m16n8k16).row.col.f32.tf32.tf32.f32", decodeSparseProduct},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.m16n8k64.row.col.f32.(e4m3|e5m2).(e4m3|e5m2).f32", decodeSparseProduct},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.(m16n8k32|m16n8k64).row.col{.satfinite}.s32.(s8|u8).(s8|u8).s32",
       decodeSparseIntegerProduct},
      {"mma.(sp|sp::ordered_metadata).sync.aligned.(m16n8k64|m16n8k128).row.col{.satfinite}.s32.(s4|u4).(s4|u4).s32",
       decodeSparseIntegerProduct},
  };
}

}  // namespace shiftconv::emulator::isa
