# cmake -P script: every kernel in a cubin of shift_window or shift_stream multiplies with operand A in Tensor Memory, never in
# shared memory; shifts it as its name says (shift_window: with .ashift on some MMAs and not on others, the last taps; shift_stream:
# by instructions of their own); fills Tensor Memory the way its name says; and keeps its variables in registers.
# Arguments: DISASSEMBLER CUBIN.

cmake_minimum_required(VERSION 3.25)

if(NOT DISASSEMBLER)
  message("SKIPPED: no nvdisasm on PATH, in the CUDA toolkit or in build/disassembler")
  return()
endif()
execute_process(COMMAND ${DISASSEMBLER} -c ${CUBIN} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
# Both are syntax of CMake lists.
string(REGEX REPLACE "[];[]" " " listing "${listing}")

function(require kernel code pattern meaning)
  if(NOT code MATCHES "${pattern}")
    message(SEND_ERROR "${kernel}: no ${meaning} (${pattern})")
  endif()
endfunction()

function(forbid kernel code pattern meaning)
  if(code MATCHES "${pattern}")
    message(SEND_ERROR "${kernel}: ${meaning}: ${CMAKE_MATCH_0}")
  endif()
endfunction()

set(kernels 0)
while(listing MATCHES "\\.section[ \t]+\\.text\\.([A-Za-z0-9_]+)")
  set(kernel ${CMAKE_MATCH_1})
  math(EXPR kernels "${kernels} + 1")
  string(FIND "${listing}" "${CMAKE_MATCH_0}" start)
  string(LENGTH "${CMAKE_MATCH_0}" length)
  math(EXPR start "${start} + ${length}")
  string(SUBSTRING "${listing}" ${start} -1 listing)
  string(FIND "${listing}" "//--------------------- .text." end)
  string(SUBSTRING "${listing}" 0 ${end} code)

  require(${kernel} "${code}" "UTC[A-Z]*MMA[.A-Z0-9]* tmem UR[0-9]+ , gdesc " "MMA without .ashift and A in Tensor Memory")
  forbid(${kernel} "${code}" "UTC[A-Z]*MMA[.A-Z0-9]* gdesc[^\n]*" "MMA with A in shared memory")
  if(kernel MATCHES "^shift_stream")
    require(${kernel} "${code}" "UTCSHIFT" "shift of Tensor Memory")
    forbid(${kernel} "${code}" "MMA[.A-Z0-9]*\\.ASHIFT[^\n]*" "MMA with .ashift")
  else()
    require(${kernel} "${code}" "UTCHMMA\\.ASHIFT tmem UR[0-9]+ , gdesc " "MMA with .ashift and A in Tensor Memory")
    require(${kernel} "${code}" "UTCHMMA tmem UR[0-9]+ , gdesc " "MMA without .ashift and A in Tensor Memory")
  endif()
  forbid(${kernel} "${code}" "(LDL|STL)[ .][^\n]*" "local memory")
  if(kernel MATCHES "_cp$|^shift_stream")
    require(${kernel} "${code}" "UTCCP[.A-Z0-9]* tmem" "copy from shared to Tensor Memory")
  else()
    require(${kernel} "${code}" "STTM[.a-z0-9]* tmem" "store of registers to Tensor Memory")
    forbid(${kernel} "${code}" "UTCCP[^\n]*" "copy from shared to Tensor Memory")
  endif()
endwhile()

if(kernels EQUAL 0)
  message(SEND_ERROR "found no kernel in ${CUBIN}")
endif()
message(STATUS "${kernels} kernels looked at")
