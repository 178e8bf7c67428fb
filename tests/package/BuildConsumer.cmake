# cmake -P script: installs one component into an empty folder, builds a consumer project against it, and runs the
# consumer's programs. Arguments: COMPONENT PROGRAMS BUILD_TREE CONSUMER SCRATCH VERSION GENERATOR CC CXX SANITIZE.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${text}")
  endif()
  message(STATUS "${text}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD_TREE} --component ${COMPONENT} --prefix ${prefix})

set(configure ${CMAKE_COMMAND} -S ${CONSUMER} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX})
if(SANITIZE)
  # A sanitized library can only be loaded by a sanitized program.
  list(APPEND configure -DCMAKE_C_FLAGS=-fsanitize=${SANITIZE} -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${configure} -B ${SCRATCH}/build -DSHIFTCONV_WANTED=${VERSION})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
string(REPLACE "," ";" programs "${PROGRAMS}")
foreach(program IN LISTS programs)
  run(${SCRATCH}/build/${program})
endforeach()

# The version file must refuse a release with another interface.
execute_process(COMMAND ${configure} -B ${SCRATCH}/refused -DSHIFTCONV_WANTED=99.0
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "99\\.0")
  message(FATAL_ERROR "find_package(ShiftConv 99.0) was not refused because of its version:\n${text}")
endif()
