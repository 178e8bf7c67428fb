# cmake -P script: a library, debug information included, is at most as large as users were promised. Arguments: LIBRARY LIMIT.

cmake_minimum_required(VERSION 3.25)

file(SIZE ${LIBRARY} bytes)
if(bytes GREATER LIMIT)
  message(SEND_ERROR "${LIBRARY} has ${bytes} bytes; at most ${LIMIT} are allowed. Which kernels does it carry, and must each be "
    "instantiated apart?")
endif()
message(STATUS "${bytes} bytes of at most ${LIMIT}")
