# cmake -P script: the kernels of halo_sm100 in a cubin are one for a CTA and one for a pair, of patches and of row streams; each multiplies in
# every kind of matrix instruction that its architecture has (row streams: in every dense kind), with both operands in shared memory, in the
# cta_group of its name; loads patches and filters by bulk tensor copies, and stores outputs of patches by them; copies nothing but scale
# factors to Tensor Memory; and keeps its variables in registers.
# Arguments: DISASSEMBLER CUBIN ARCH.

cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/Listing.cmake)
shiftconv_list_kernels()

expect_kernels("halo_sm100_pair;halo_sm100_rows_pair;halo_sm100_rows_single;halo_sm100_single")

foreach(kernel IN LISTS kernels)
  expect_cta_group(${kernel})
  set(operands "gdesc UR[0-9]+ , gdesc UR[0-9]+ , tmem UR[0-9]+ , tmem UR[0-9]+ , idesc UR[0-9]+ , ")
  require_dense_kinds(${kernel} "${operands}" "")
  if(NOT kernel MATCHES "_rows_")
    set(scaled "${operands}tmem UR[0-9]+ , UP")
    require(${kernel} "UTCQMMA${pair} ${scaled}" "block-scaled MMA of 8-bit floats")
    require(${kernel} "UTCOMMA${pair} ${scaled}" "block-scaled MMA of 4-bit floats")
    require(${kernel} "UTCOMMA${pair}\\.(4X|BLOCK16) ${scaled}" "the same with blocks of 16")
    require(${kernel} "UTCCP\\.T\\.S${pair}\\.4" "copy of scale factors to all windows")
    require(${kernel} "UTMASTG\\.5D" "bulk store of outputs")
  endif()
  forbid(${kernel} "UTCCP\\.T\\.S${pair} tmem" "copy of an operand to Tensor Memory")
  require(${kernel} "LDTM\\.x16" "load of 16 columns of Tensor Memory")
  require(${kernel} "UTMALDG\\.5D" "bulk load of patches")
  require(${kernel} "UTMALDG\\.3D" "bulk load of filters")
  forbid_local_memory(${kernel})
endforeach()
list(LENGTH kernels count)
message(STATUS "${count} kernels looked at")
