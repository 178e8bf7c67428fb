// Tensor maps described in JSON, the arguments of cuTensorMapEncodeTiled / cuTensorMapEncodeIm2col by name:
//
//   {
//     "buffer": 0,                  position of the --arg, or name of the --buffer, that the map views
//     "offset": 0,                  bytes into it (optional)
//     "type": "f16",                u8 u16 u32 i32 u64 i64 f16 bf16 f32 f64 f32_ftz tf32 tf32_ftz, and packed:
//                                   16u4_align8b 16u4_align16b 16u6_align16b
//     "dims": [64, 128],            innermost first
//     "strides": [128],             bytes, of dimension 1 on (optional: dense)
//     "box": [64, 32],              or "im2col": {"lowerCorner": [-1, -1], "upperCorner": [-1, -1],
//                                                 "channelsPerPixel": 64, "pixelsPerColumn": 128}
//     "elementStrides": [1, 1],     optional
//     "swizzle": "128B",            none 32B 64B 128B 128B_ATOM_32B 128B_ATOM_32B_FLIP_8B 128B_ATOM_64B (optional)
//     "interleave": "none",         none 16B 32B (optional)
//     "fill": "zero"                zero nan (optional)
//   }
#pragma once

#include <shiftconv/emulator.hpp>

#include <functional>
#include <string>

namespace ptxrun {

/// `addressOf` gives the device address of a buffer by name; `origin` names the description in errors.
/// Throws UserError for malformed JSON, unknown or missing keys, and arguments that the encoder refuses.
shiftconv::emu::TensorMapImage tensorMapFromJson(const std::string& text, const std::string& origin,
                                                 const std::function<uint64_t(const std::string&)>& addressOf);

}  // namespace ptxrun
