# cmake -P script: installs one component into an empty folder, builds a consumer project against it, and runs the
# consumer's programs. Arguments: COMPONENT PROGRAMS BUILD_TREE CONSUMER SCRATCH VERSION GENERATOR CC CXX SANITIZE; PLUGIN: a component
# that the first of the programs misses at run time as long as it is not installed, and LIBDIR, where that puts PLUGIN_FILE.

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

# refused(words): the first program fails, and says so with the path of the plug-in or its folder.
function(refused words)
  list(GET programs 0 program)
  execute_process(COMMAND ${SCRATCH}/build/${program} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(FIND "${text}" "${words}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${program} should have failed with '${words}', but ended with ${status}:\n${text}")
  endif()
endfunction()

if(PLUGIN)
  set(folder ${prefix}/${LIBDIR})
  set(file ${folder}/${PLUGIN_FILE})
  refused("there is no ${PLUGIN_FILE} in ${folder}")
  file(WRITE ${file} "no library")
  refused("the emulated device cannot be loaded: ${file}")
  file(WRITE ${SCRATCH}/other.c "int nothing;")
  run(${CC} -shared -fPIC -o ${file} ${SCRATCH}/other.c)
  refused("${file} is no emulated device of ShiftConv")
  file(WRITE ${SCRATCH}/other.c "const char* const shiftconv_emulated_plugin[2] = {\"ShiftConv 0.0.0, compiler x\", 0};")
  run(${CC} -shared -fPIC -o ${file} ${SCRATCH}/other.c)
  refused("${file} is of another build: of ShiftConv 0.0.0, compiler x, but this library is of ShiftConv ${VERSION}, compiler ")
  file(REMOVE ${file})
  run(${CMAKE_COMMAND} --install ${BUILD_TREE} --component ${PLUGIN} --prefix ${prefix})
endif()
foreach(program IN LISTS programs)
  run(${SCRATCH}/build/${program})
endforeach()

# The version file must refuse a release with another interface.
execute_process(COMMAND ${configure} -B ${SCRATCH}/refused -DSHIFTCONV_WANTED=99.0
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "99\\.0")
  message(FATAL_ERROR "find_package(ShiftConv 99.0) was not refused because of its version:\n${text}")
endif()
