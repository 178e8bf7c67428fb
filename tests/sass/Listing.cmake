# Included by cmake -P scripts that look at machine code. Arguments: DISASSEMBLER CUBIN. Sets `kernels` to the names of the kernels
# in the cubin and code_<kernel> to the listing of each; ends the script when there is no disassembler.

macro(shiftconv_list_kernels)
  if(NOT DISASSEMBLER)
    message("SKIPPED: no nvdisasm on PATH, in the CUDA toolkit or in build/disassembler")
    return()
  endif()
  execute_process(COMMAND ${DISASSEMBLER} -c ${CUBIN} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  # Both are syntax of CMake lists.
  string(REGEX REPLACE "[];[]" " " listing "${listing}")
  set(kernels)
  while(listing MATCHES "\\.section[ \t]+\\.text\\.([A-Za-z0-9_]+)")
    set(kernel ${CMAKE_MATCH_1})
    list(APPEND kernels ${kernel})
    string(FIND "${listing}" "${CMAKE_MATCH_0}" start)
    string(LENGTH "${CMAKE_MATCH_0}" length)
    math(EXPR start "${start} + ${length}")
    string(SUBSTRING "${listing}" ${start} -1 listing)
    string(FIND "${listing}" "//--------------------- .text." end)
    string(SUBSTRING "${listing}" 0 ${end} code_${kernel})
  endwhile()
  if(NOT kernels)
    message(SEND_ERROR "found no kernel in ${CUBIN}")
  endif()
endmacro()

# The kernels of a cubin, sorted.
function(expect_kernels names)
  list(SORT kernels)
  if(NOT kernels STREQUAL "${names}")
    message(SEND_ERROR "the kernels are ${kernels}")
  endif()
endfunction()

# Sets `pair` to what instructions of a CTA pair have in their names when the kernel's name ends in _pair, and forbids the others'.
macro(expect_cta_group kernel)
  set(pair "")
  if(${kernel} MATCHES "_pair$")
    set(pair "\\.2CTA")
    forbid(${kernel} "UTC[HQIO]MMA( |\\.[^2])[^\n]*" "MMA of a CTA on its own")
  else()
    forbid(${kernel} "UTC[A-Z]*\\.(T\\.S\\.)?2CTA[^\n]*" "instruction of a CTA pair")
  endif()
endmacro()

function(require kernel pattern meaning)
  if(NOT code_${kernel} MATCHES "${pattern}")
    message(SEND_ERROR "${kernel}: no ${meaning} (${pattern})")
  endif()
endfunction()

function(forbid kernel pattern meaning)
  if(code_${kernel} MATCHES "${pattern}")
    message(SEND_ERROR "${kernel}: ${meaning}: ${CMAKE_MATCH_0}")
  endif()
endfunction()

# Dense MMAs of every kind that the architecture has, with these operands.
function(require_dense_kinds kernel operands where)
  require(${kernel} "UTCHMMA${pair} ${operands}UP" "MMA of f16 and tf32${where}")
  require(${kernel} "UTCQMMA${pair} ${operands}UP" "MMA of 8-bit floats${where}")
  if(ARCH STREQUAL sm_103a)
    forbid(${kernel} "UTCIMMA[^\n]*" "MMA of integers, which ${ARCH} has not")
  else()
    require(${kernel} "UTCIMMA${pair} ${operands}UP" "MMA of integers${where}")
  endif()
endfunction()

# Variables that do not fit into registers: spills, arrays with run-time indices.
function(forbid_local_memory kernel)
  forbid(${kernel} "(LDL|STL)[ .][^\n]*" "local memory")
endfunction()
