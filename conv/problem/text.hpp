// Problems as one line of text that reads back: the notation of logs, of the shape files of the tests, and of error messages.
//
//   1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> 1x56x56x64 f16 bias relu
//
//   problem  input "*" filter "->" output
//   input    shape type word...      NxHxWxC, or NxDxHxWxC in 3-D
//            split_c N | split_d N | pitch N | second_pitch N | zero N | scale TYPE/BLOCK | scale TYPE/BLOCK/interleaved |
//            upsample h,w | nchw            in 3-D: upsample d,h,w
//   filter   shape [type] word...    KxRxSx(C/groups), or KxTxRxSx(C/groups); the type is the input's when it is left out
//            groups N | pad top,bottom,left,right | stride h,w | dilation h,w | transposed | output_padding h,w |
//            flipped | compute tf32 | compute f16 | zero N | scale ...
//            in 3-D: pad front,back,top,bottom,left,right | stride d,h,w | dilation d,h,w |
//            output_padding d,h,w
//   output   [shape] type word...    NxPxQxK, or NxZxPxQxK; may be left out, and must be right when it is there
//            pitch N | alpha X | channel_scale | bias | bias TYPE | residual BETA | residual_type TYPE | residual_pitch N |
//            residual_last | relu | leaky_relu A | clamp A,B | gelu_erf | gelu_tanh | silu | hard_swish | sigmoid | tanh |
//            amax | out_scale X | zero N | scale ...
// Words of a part stand in any order, each at most once; what is left out has its usual value (pads 0, strides, dilations, groups
// and scales 1).
#pragma once

#include <string>
#include <string_view>

#include "common/device/status.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv {

/// Words in the order above. parse(describe(p)) == p for every valid problem.
std::string describe(const Problem& problem);

/// Reads and validates. On failure `problem` keeps its value and the sentence quotes the word that is wrong.
Status parse(std::string_view text, Problem& problem);

}  // namespace shiftconv
