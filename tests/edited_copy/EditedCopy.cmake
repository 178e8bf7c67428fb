# shiftconv_edited_copy(<source> <copy> <site> <replacement> [<site> <replacement>]...)
#
# A copy of a source file in which marked statements, or pieces of them, are replaced (edited_copy.py), made when it is built. Headers with
# sites among these have copies below <copy>.include, for the compiler to search first (shiftconv_add_ptx, INCLUDE). Test
# edited_sources says which sites a source no longer has.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
function(shiftconv_edited_copy source copy)
  set(description "${source}\n${copy}\n")
  set(index 2)
  while(index LESS ARGC)
    math(EXPR next "${index} + 1")
    string(APPEND description "@@ ${ARGV${index}}\n${ARGV${next}}\n")
    math(EXPR index "${index} + 2")
  endwhile()
  set(present)
  if(EXISTS ${copy}.edits)
    file(READ ${copy}.edits present)
  endif()
  if(NOT present STREQUAL description)
    file(WRITE ${copy}.edits "${description}")
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tests/edited_copy/edited_copy.py)
  set_property(GLOBAL APPEND PROPERTY SHIFTCONV_EDITED_COPIES ${copy}.edits)
  add_custom_command(
    OUTPUT ${copy}
    COMMAND ${Python3_EXECUTABLE} ${script} ${copy}.edits
    DEPENDS ${source} ${copy}.edits ${script}
    DEPFILE ${copy}.d
    COMMENT "Edited copy ${copy}"
    VERBATIM)
endfunction()
