# cmake -P script: one cubin from PTX or from CUDA source, refused when any kernel in it spills registers or has a
# stack frame. Arguments: CUDA_ROOT SOURCE ARCH OUTPUT FLAGS DEPFILE (the last two for CUDA source only), LINE_INFO. PTX of sm_100a serves
# its family, too: the target's name is replaced. Without LINE_INFO the code is the same, and a third as large with its tables.

cmake_minimum_required(VERSION 3.25)

if(SOURCE MATCHES "\\.sm_100a\\.ptx$" AND NOT ARCH STREQUAL sm_100a)
  file(READ ${SOURCE} text)
  string(REPLACE ".target sm_100a" ".target ${ARCH}" text "${text}")
  if(ARCH STREQUAL sm_103a)
    # It has no MMAs of kind I8. The planners refuse their types there, so nothing comes to these places.
    string(REGEX REPLACE "\n[^\n;]*kind::i8[^\n;]*;" "\n\ttrap;" text "${text}")
  endif()
  set(SOURCE ${OUTPUT}.ptx)
  file(WRITE ${SOURCE} "${text}")
endif()
set(tables)
if(NOT LINE_INFO)
  set(tables -suppress-debug-info)
endif()
if(SOURCE MATCHES "\\.ptx$")
  set(command ${CUDA_ROOT}/bin/ptxas -arch=${ARCH} -lineinfo ${tables} -v ${SOURCE} -o ${OUTPUT})
else()
  list(TRANSFORM tables PREPEND "-Xptxas=")
  set(command ${CUDA_ROOT}/bin/nvcc -cubin -arch=${ARCH} -Xptxas -v ${tables} ${FLAGS}
      -MD -MT ${OUTPUT} -MF ${DEPFILE} -o ${OUTPUT} ${SOURCE})
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${ARCH}: assembling ${SOURCE} failed:\n${text}")
endif()

string(REGEX MATCHALL "[0-9]+ bytes (stack frame|spill stores|spill loads)" figures "${text}")
if(NOT figures)
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "${ARCH}: the assembler reported no stack figures for ${SOURCE}:\n${text}")
endif()
foreach(figure IN LISTS figures)
  if(NOT figure MATCHES "^0 bytes")
    file(REMOVE ${OUTPUT})
    message(FATAL_ERROR "${ARCH}: ${SOURCE} has ${figure}; kernels must live in registers:\n${text}")
  endif()
endforeach()
