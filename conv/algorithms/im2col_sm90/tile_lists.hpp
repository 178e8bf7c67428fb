// The tiles that im2col_sm90 has kernels for, as the planner sees them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

namespace shiftconv::plan::sm90::im2col {

using namespace kernels::im2col;

struct Tile {
  std::string_view name;
  int32_t pixels, channels;
  int32_t ctas;  ///< of a multiprocessor at once, as the kernels are compiled

  int32_t groups() const { return pixels / kGroupPixels; }
  constexpr bool isAsLargeAs(const Tile& other) const { return pixels == other.pixels && channels == other.channels; }
};
#define SHIFTCONV_TILE(PIXELS, CHANNELS, CTAS) Tile{#PIXELS "x" #CHANNELS, PIXELS, CHANNELS, CTAS},
inline constexpr std::array kPlainTiles{SHIFTCONV_IM2COL_TILES(SHIFTCONV_TILE)};
inline constexpr std::array kBytesTiles{SHIFTCONV_IM2COL_BYTES_TILES(SHIFTCONV_TILE)};
inline constexpr std::array kSplitTiles{SHIFTCONV_IM2COL_SPLIT_TILES(SHIFTCONV_TILE)};
inline constexpr std::array kSharedTiles{SHIFTCONV_IM2COL_SHARED_TILES(SHIFTCONV_TILE)};
inline constexpr std::array kPhasesTiles{SHIFTCONV_IM2COL_PHASES_TILES(SHIFTCONV_TILE)};
#undef SHIFTCONV_TILE
#define SHIFTCONV_TILE(PIXELS, CHANNELS, CTAS, SHIFTED_CTAS) Tile{#PIXELS "x" #CHANNELS, PIXELS, CHANNELS, CTAS},
inline constexpr std::array kPiecesTiles{SHIFTCONV_IM2COL_PIECES_TILES(SHIFTCONV_TILE)};
#undef SHIFTCONV_TILE
#define SHIFTCONV_TILE(PIXELS, CHANNELS, CTAS, SHIFTED_CTAS) Tile{#PIXELS "x" #CHANNELS, PIXELS, CHANNELS, SHIFTED_CTAS},
inline constexpr std::array kShiftedTiles{SHIFTCONV_IM2COL_PIECES_TILES(SHIFTCONV_TILE)};  // the same where rows begin anywhere
#undef SHIFTCONV_TILE
constexpr bool isAmong(std::span<const Tile> tiles, const Tile& tile) {
  return std::any_of(tiles.begin(), tiles.end(), [&](const Tile& other) { return other.isAsLargeAs(tile); });
}
inline constexpr size_t kOnlyShared =
    std::count_if(kSharedTiles.begin(), kSharedTiles.end(), [](const Tile& tile) { return !isAmong(kPlainTiles, tile); });
/// The plain ones, and those that only have kernels that share operands, which also run where nothing is shared.
inline constexpr auto kTiles = [] {
  std::array<Tile, kPlainTiles.size() + kOnlyShared> all;
  std::copy_if(kSharedTiles.begin(), kSharedTiles.end(), std::copy(kPlainTiles.begin(), kPlainTiles.end(), all.begin()),
               [](const Tile& tile) { return !isAmong(kPlainTiles, tile); });
  return all;
}();
constexpr bool areAmongPlain(std::span<const Tile> some) {
  return std::all_of(some.begin(), some.end(), [](const Tile& one) {
    return std::any_of(kPlainTiles.begin(), kPlainTiles.end(), [&](const Tile& tile) { return tile.isAsLargeAs(one); });
  });
}
static_assert(areAmongPlain(kBytesTiles) && areAmongPlain(kPiecesTiles), "their names are among those of plain 16-bit operands");
static_assert(std::all_of(kSplitTiles.begin(), kSplitTiles.end(), [](const Tile& tile) { return tile.pixels <= 2 * kGroupPixels; }),
              "a CTA of the cluster, two at least, finishes one warpgroup's sums at most (ownerOf)");
inline constexpr std::array<std::string_view, kTiles.size()> kTileNames = [] {
  std::array<std::string_view, kTiles.size()> names;
  for (size_t i = 0; i < kTiles.size(); ++i) names[i] = kTiles[i].name;
  return names;
}();

}  // namespace shiftconv::plan::sm90::im2col
