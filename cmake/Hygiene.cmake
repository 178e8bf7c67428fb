# Targets that look at the sources: `tidy` (clang-tidy on everything that is compiled), `format` and `format-check`.
# Not part of any build or test; they exist where the tools do.

set(_shiftconv_patterns)
foreach(directory common conv examples tests bench)
  foreach(extension c h cpp hpp cu cuh)
    list(APPEND _shiftconv_patterns ${PROJECT_SOURCE_DIR}/${directory}/*.${extension})
  endforeach()
endforeach()
file(GLOB_RECURSE _shiftconv_sources CONFIGURE_DEPENDS ${_shiftconv_patterns})

find_program(SHIFTCONV_CLANG_FORMAT clang-format)
if(SHIFTCONV_CLANG_FORMAT AND _shiftconv_sources)
  add_custom_target(format COMMAND ${SHIFTCONV_CLANG_FORMAT} -i ${_shiftconv_sources} VERBATIM)
  add_custom_target(format-check COMMAND ${SHIFTCONV_CLANG_FORMAT} --dry-run -Werror ${_shiftconv_sources} VERBATIM)
endif()

find_program(SHIFTCONV_RUN_CLANG_TIDY run-clang-tidy)
if(SHIFTCONV_RUN_CLANG_TIDY)
  add_custom_target(tidy COMMAND ${SHIFTCONV_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
    "^${PROJECT_SOURCE_DIR}/(common|conv|examples|tests|bench)/.*" VERBATIM)
endif()
