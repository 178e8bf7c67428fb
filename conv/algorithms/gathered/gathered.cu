// gathered of f16 and bf16. See gathered.cuh.
#include "conv/algorithms/gathered/gathered.cuh"

namespace shiftconv::kernels::gathered {

SHIFTCONV_GATHERED_KERNELS(f16, Half<__half>)
SHIFTCONV_GATHERED_KERNEL(f16, Half<__half>, 128x128, 16)
SHIFTCONV_GATHERED_KERNEL(f16, Half<__half>, 128x64, 8)
SHIFTCONV_GATHERED_KERNEL(f16, Half<__half>, 128x64, 2)
SHIFTCONV_GATHERED_KERNELS(bf16, Half<__nv_bfloat16>)
SHIFTCONV_GATHERED_KERNEL(bf16, Half<__nv_bfloat16>, 128x128, 16)
SHIFTCONV_GATHERED_KERNEL(bf16, Half<__nv_bfloat16>, 128x64, 8)
SHIFTCONV_GATHERED_KERNEL(bf16, Half<__nv_bfloat16>, 128x64, 2)

}  // namespace shiftconv::kernels::gathered
