// thin of 8-bit floats and integers, which are multiplied as f16, in vectors of 8, 4 and 2 elements, or singly. See thin.cuh.
#include "conv/algorithms/thin/kernels.cuh"

namespace shiftconv::kernels::thin {

SHIFTCONV_THIN_KERNEL(bytes, __half, 8, 16, 8, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 8, 16, 16, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 8, 16, 32, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 8, 32, 32, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 4, 16, 8, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 4, 16, 32, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 2, 16, 8, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 2, 16, 32, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 1, 16, 8, 1)
SHIFTCONV_THIN_KERNEL(bytes, __half, 1, 16, 32, 1)

}  // namespace shiftconv::kernels::thin
