# cmake -P script: ptxrun and emurun run from an installation of nothing but their component.
# Arguments: BUILD_TREE SCRATCH BINDIR LIBDIR CC SANITIZE.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${text}")
  endif()
endfunction()

set(FLAGS)
if(SANITIZE)
  set(FLAGS -fsanitize=${SANITIZE})
endif()
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD_TREE} --component ShiftConvTools --prefix ${SCRATCH}/installed)
file(RENAME ${SCRATCH}/installed ${SCRATCH}/prefix)
file(WRITE ${SCRATCH}/nothing.ptx ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n")
set(ENV{LD_LIBRARY_PATH})
run(${SCRATCH}/prefix/${BINDIR}/ptxrun ${SCRATCH}/nothing.ptx --list)
file(WRITE ${SCRATCH}/program.c
  "int cuInit(unsigned);\nint cuDeviceGetCount(int*);\n"
  "int main(void) { int count = 0; return cuInit(0) != 0 || cuDeviceGetCount(&count) != 0 || count != 1; }\n")
run(${CC} -o ${SCRATCH}/program ${SCRATCH}/program.c ${SCRATCH}/prefix/${LIBDIR}/emulated_cuda/libcuda.so.1 ${FLAGS})
run(${SCRATCH}/prefix/${BINDIR}/emurun ${SCRATCH}/program)
