// The tiles that im2col_sm90 has kernels for. Included by host and device code.
#pragma once

/// X(output pixels, output channels, CTAs that a multiprocessor has registers for at once). Pixels are a multiple of 64, M of a
/// wgmma; channels of 16.
#define SHIFTCONV_IM2COL_TILES(X) \
  X(64, 16, 8)                    \
  X(64, 32, 8)                    \
  X(64, 48, 6)                    \
  X(64, 64, 6)                    \
  X(64, 80, 4)                    \
  X(64, 96, 4)                    \
  X(64, 128, 3)                   \
  X(64, 256, 1)                   \
  X(128, 48, 3)                   \
  X(128, 64, 3)                   \
  X(128, 128, 2)                  \
  X(128, 256, 1)                  \
  X(192, 64, 2)                   \
  X(192, 80, 1)                   \
  X(192, 128, 1)

/// Of these the ones for 8-bit operands, whose wgmma is instantiated for fewer widths.
#define SHIFTCONV_IM2COL_BYTES_TILES(X) \
  X(64, 16, 8)                          \
  X(64, 32, 8)                          \
  X(64, 48, 6)                          \
  X(64, 64, 6)                          \
  X(64, 80, 4)                          \
  X(64, 96, 4)                          \
  X(64, 128, 3)                         \
  X(64, 256, 1)                         \
  X(128, 48, 3)                         \
  X(128, 64, 3)                         \
  X(128, 128, 2)                        \
  X(128, 256, 1)                        \
  X(192, 64, 2)                         \
  X(192, 128, 1)

/// Of these the ones that may be split over the CTAs of a cluster, and then there are kernels of f16 and bf16.
#define SHIFTCONV_IM2COL_SPLIT_TILES(X) \
  X(64, 64, 4)                          \
  X(64, 128, 3)                         \
  X(128, 64, 2)                         \
  X(128, 128, 2)

/// The ones for clusters whose CTAs share operands, and for single CTAs where the list above lacks them. Kernels of f16 and bf16.
#define SHIFTCONV_IM2COL_SHARED_TILES(X) \
  X(64, 32, 6)                           \
  X(64, 48, 5)                           \
  X(64, 64, 5)                           \
  X(64, 80, 4)                           \
  X(64, 96, 4)                           \
  X(64, 112, 3)                          \
  X(64, 128, 3)                          \
  X(64, 256, 1)                          \
  X(128, 48, 3)                          \
  X(128, 64, 3)                          \
  X(128, 80, 2)                          \
  X(128, 96, 2)                          \
  X(128, 112, 2)                         \
  X(128, 128, 2)                         \
  X(128, 160, 1)                         \
  X(128, 192, 1)                         \
  X(128, 256, 1)                         \
  X(192, 64, 2)                          \
  X(192, 80, 1)                          \
  X(192, 96, 1)                          \
  X(192, 128, 1)                         \
  X(192, 160, 1)

/// The ones for phases of transposed convolutions, whose CTAs may share operands. Kernels of f16 and bf16.
#define SHIFTCONV_IM2COL_PHASES_TILES(X) \
  X(64, 16, 8)                           \
  X(64, 32, 6)                           \
  X(64, 64, 5)                           \
  X(64, 128, 3)                          \
  X(128, 64, 3)                          \
  X(128, 128, 2)                         \
  X(128, 192, 1)                         \
  X(128, 256, 1)                         \
  X(192, 64, 2)                          \
  X(192, 128, 1)

/// The ones of every type for matrices that threads copy: X(output pixels, output channels, CTAs where rows come in pieces, CTAs
/// where they begin anywhere).
#define SHIFTCONV_IM2COL_PIECES_TILES(X) \
  X(64, 16, 8, 8)                        \
  X(64, 32, 8, 7)                        \
  X(64, 48, 5, 4)                        \
  X(64, 80, 4, 4)                        \
  X(64, 128, 3, 3)                       \
  X(128, 64, 3, 3)                       \
  X(128, 128, 2, 2)                      \
  X(192, 64, 2, 2)
