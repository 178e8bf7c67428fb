# cmake -P script: a C program compiled and linked with nothing but what pkg-config says of the installed library.
# Arguments: PKG_CONFIG BUILD_TREE CONSUMER SCRATCH LIBDIR VERSION CC SANITIZE.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
foreach(component ShiftConv ShiftConvEmulatedDevice)
  run(${CMAKE_COMMAND} --install ${BUILD_TREE} --component ${component} --prefix ${SCRATCH}/installed)
endforeach()
file(RENAME ${SCRATCH}/installed ${SCRATCH}/prefix)  # wherever it was installed, it may be moved
set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/prefix/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --modversion shiftconv)
if(NOT text STREQUAL VERSION)
  message(FATAL_ERROR "pkg-config says version ${text}, not ${VERSION}")
endif()
run(${PKG_CONFIG} --cflags --libs shiftconv)
separate_arguments(flags UNIX_COMMAND "${text}")
if(SANITIZE)
  list(APPEND flags -fsanitize=${SANITIZE})
endif()
run(${CC} -std=c99 -Wall -Wextra -Werror -o ${SCRATCH}/consumer ${CONSUMER} ${flags})
set(ENV{LD_LIBRARY_PATH} ${SCRATCH}/prefix/${LIBDIR})
run(${SCRATCH}/consumer)
message(STATUS "${flags}: ${text}")
