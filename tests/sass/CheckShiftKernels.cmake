# cmake -P script: every kernel in a cubin of shift_window or shift_stream multiplies with operand A in Tensor Memory, never in
# shared memory; shifts it as its name says (shift_window: with .ashift on some MMAs and not on others, the last taps; shift_stream:
# by instructions of their own); fills Tensor Memory by copies, and zeroes shift_window's accumulators by stores of registers; stores
# staged outputs by bulk tensor copies; and keeps its variables in registers.
# Arguments: DISASSEMBLER CUBIN ARCH.

cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/Listing.cmake)
shiftconv_list_kernels()

foreach(kernel IN LISTS kernels)
  require(${kernel} "UTC[A-Z]*MMA[.A-Z0-9]* tmem UR[0-9]+ , gdesc " "MMA without .ashift and A in Tensor Memory")
  forbid(${kernel} "UTC[A-Z]*MMA[.A-Z0-9]* gdesc[^\n]*" "MMA with A in shared memory")
  if(kernel MATCHES "^shift_stream")
    require(${kernel} "UTCSHIFT" "shift of Tensor Memory")
    require(${kernel} "UTCCP\\.T\\.S\\.[.A-Z0-9]*4dp256bit" "refill of the last lanes of windows")
    forbid(${kernel} "MMA[.A-Z0-9]*\\.ASHIFT[^\n]*" "MMA with .ashift")
  else()
    expect_cta_group(${kernel})
    foreach(letter H Q I)
      set(mma "UTC${letter}MMA${pair}")
      if(letter STREQUAL "I" AND ARCH STREQUAL "sm_103a")
        forbid(${kernel} "UTCIMMA[^\n]*" "MMA of integers, which ${ARCH} has not")
        continue()
      endif()
      require(${kernel} "${mma}\\.ASHIFT tmem UR[0-9]+ , gdesc " "MMA (H: f16 and tf32, Q: 8-bit floats, I: integers) with .ashift")
      require(${kernel} "${mma} tmem UR[0-9]+ , gdesc " "MMA (H: f16 and tf32, Q: 8-bit floats, I: integers) without .ashift")
    endforeach()
  endif()
  require(${kernel} "UTMASTG\\.3D" "bulk store of outputs")
  forbid_local_memory(${kernel})
  require(${kernel} "UTCCP[.A-Z0-9]* tmem" "copy from shared to Tensor Memory")
  if(kernel MATCHES "^shift_window")
    require(${kernel} "STTM[.a-z0-9]* tmem" "store of registers to Tensor Memory")
  endif()
endforeach()
list(LENGTH kernels count)
message(STATUS "${count} kernels looked at")
