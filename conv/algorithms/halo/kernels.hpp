// Which kernels of `halo` there are on sm_90a: tiles, operand kinds and the modules that hold them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conv/algorithms/halo/params.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Which module has the kernel.
enum class HaloModule : uint8_t {
  Plain,
  Pixels,
  Shared,
  Activated,
  Converted,
  ConvertedFloat,
  ConvertedInteger,
  ActivatedPixels,
  ActivatedFloat,
  ActivatedInteger,
  Residual,
  ResidualPixels,
  ResidualFloat,
  ResidualInteger,
  Half,
  Float,
  Integer
};

namespace sm90::halo {

using namespace kernels::halo;

/// As in the kernels: warpgroups that multiply the same pixels, or own pixels each.
enum class PixelShare : uint8_t { Common, Separate };

/// A line of conv/algorithms/halo/shapes.hpp.
struct ShapeEntry {
  std::string_view name;
  int first, second, tileN;  ///< blocks of operand A of each warpgroup: of channels or, with pixelChannels, of pixels; pixels
  PixelShare share;
  bool overBox;
  int tail;                  ///< pixels that some taps leave out, in tiles of whole images; 0: none
  std::string_view kind{};   ///< "input_filter"; empty: f16 and bf16, with outputs of the same type
  bool residual = false;     ///< with a residual, but not the whole epilogue
  bool activated = false;    ///< with an activation, but not the whole epilogue; of those that convert, too
  int pixelChannels = 0;     ///< output channels of a tile where pixels are operand A; 0: weights are
  int mostConsumers = 2;     ///< multiplying warpgroups, unless the first is the only one; third.. as the second
  bool sharesBoxes = false;  ///< with the CTA of the neighbouring tile of channels
  bool converts = false;     ///< to outputs of any staged type

  /// With the whole epilogue.
  bool isFull() const { return !kind.empty() && !activated && !residual; }
  int consumers() const { return second == 0 ? 1 : mostConsumers; }
  /// Blocks of operand A of all of them.
  int blocks() const { return first + (consumers() - 1) * second; }
  /// Whether there may be SiLU before or after a residual: where channel blocks are five, ptxas spills.
  bool mayHaveSilu() const { return residual && (pixelsAreA() || blocks() < 5); }
  /// Whether outputs and a residual may have so many bytes where operands have fewer.
  bool takesOutputsOf(int64_t outputBytes) const {
    if (pixelsAreA()) return pixelOutputBytes() == outputBytes;
    if (converts) return outputBytes <= 2 || !overBox;
    return !residual || kind.empty() || outputBytes == 1 || mayAddHalves(tileN, overBox);
  }
  /// With outputs that the copy engine alone stores.
  bool needsWholeRows() const { return !isFull() && !pixelsAreA(); }
  bool separate() const { return share == PixelShare::Separate; }
  bool pixelsAreA() const { return pixelChannels != 0; }
  int members() const { return separate() ? 2 : 1; }
  int channels() const { return pixelsAreA() ? pixelChannels : (separate() ? first : blocks()) * kBlockChannels; }
  /// Rows of operand B of a product, whose operand A has 64.
  int width() const { return pixelsAreA() ? pixelChannels : tileN; }
  /// In which a warpgroup stages its tile, at most, and their channels.
  int pieces() const { return pixelsAreA() ? pixelPieces(pixelChannels) : std::max(first, second); }
  int pieceChannels() const { return pixelsAreA() ? pixelPieceChannels(pixelChannels) : kBlockChannels; }
  /// Of a piece with a residual, from pixel to pixel, where outputs have outputBytes.
  int64_t pieceRowBytes(int64_t outputBytes) const {
    if (pixelsAreA()) return pixelRowBytes(pixelChannels, pixelOutputBytes());
    const uint32_t staged = stagedRowBytes(static_cast<int32_t>(outputBytes));
    return residual ? staged : converts ? std::max(kRowBytes, staged) : kRowBytes;
  }
  /// With pixels as operand A, of 8-bit operands, outputs have 8 bits, too.
  int32_t pixelOutputBytes() const { return kind.empty() ? 2 : 1; }
  int64_t stageBytes() const { return int64_t{channels()} * kRowBytes; }
  /// Those that there are at least: with a residual, a buffer for each multiplying warpgroup.
  int64_t stagingBytes(int64_t outputBytes) const {
    if (isFull()) return int64_t{4} * consumers() * kTurningBytes;
    if (pixelsAreA() && !residual) return int64_t{consumers()} * pixelStagingBytes(tileN, pixelChannels, pixelOutputBytes());
    return overBox ? 0 : consumers() * tileN * pieceRowBytes(outputBytes);
  }
};

/// "f16_f16", "e4m3_e5m2", ...: input and filter, as ShapeEntry::kind.
std::string kindOf(const Problem& problem);
/// Whether rows of the output are multiples of 16 bytes, which the copy engine can store.
bool hasWholeRows(const Problem& problem);
/// Of kernels of 16-bit operands with a residual.
ResidualOrder residualOrder(const Problem& problem);
/// What a kernel with an activation has in one piece, of the problem's epilogue.
kernels::Lean leanActivated(const Problem& problem, const ShapeEntry& shape);
/// Those with kernels for the problem: more than one where the first has only some of the tiles.
std::vector<HaloModule> modulesOf(const Problem& problem);
std::span<const ShapeEntry> shapesOf(HaloModule module);
std::string kernelNameOf(const Problem& problem, const ShapeEntry& shape);
/// Whether any kernel multiplies the problem's types.
bool hasKind(const Problem& problem);

}  // namespace sm90::halo
}  // namespace shiftconv::plan
