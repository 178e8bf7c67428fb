// gathered of tf32, 8-bit floats and 8-bit integers: fewer tiles and vectors, because other engines take most of their layers. See
// gathered.cuh.
#include "conv/algorithms/gathered/gathered.cuh"

namespace shiftconv::kernels::gathered {

SHIFTCONV_GATHERED_KERNELS(tf32, Tf32)
SHIFTCONV_GATHERED_KERNELS(f8, Float8)
SHIFTCONV_GATHERED_KERNEL(f8, Float8, 128x64, 1)
SHIFTCONV_GATHERED_KERNELS(i8, Integer8)
SHIFTCONV_GATHERED_KERNEL(i8, Integer8, 128x64, 1)

}  // namespace shiftconv::kernels::gathered
