# cmake -P script: the library, debug information included, is at most as large as users were promised. Arguments: LIBRARY.

cmake_minimum_required(VERSION 3.25)

set(limit 62000000)
file(SIZE ${LIBRARY} bytes)
if(bytes GREATER limit)
  message(SEND_ERROR "${LIBRARY} has ${bytes} bytes; at most ${limit} are allowed. Which kernels does it carry, and must each be "
    "instantiated apart?")
endif()
message(STATUS "${bytes} bytes of at most ${limit}")
