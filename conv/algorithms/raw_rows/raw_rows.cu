// raw_rows of f16 and bf16. See raw_rows.cuh.
#include "conv/algorithms/raw_rows/kernels.cuh"

namespace shiftconv::kernels::raw_rows {

SHIFTCONV_RAW_ROWS_KERNELS(f16, __half, 2)
SHIFTCONV_RAW_ROWS_KERNELS(bf16, __nv_bfloat16, 2)

}  // namespace shiftconv::kernels::raw_rows
