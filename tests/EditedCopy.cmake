# shiftconv_edited_copy(<source> <copy> <original text> <replacement> [<original text> <replacement>]...)
#
# A copy of a source file with pieces of its text replaced, made when it is built (ApplyEdits.cmake), so that no change of a source can break
# the configuration. Test edited_sources says which texts a source no longer has.
function(shiftconv_edited_copy source copy)
  set(edits)
  set(index 2)
  while(index LESS ARGC)
    string(APPEND edits "\n [==[\n${ARGV${index}}]==]")
    math(EXPR index "${index} + 1")
  endwhile()
  set(call "edited_copy([==[${source}]==] [==[${copy}]==]${edits})\n")
  set(present)
  if(EXISTS ${copy}.edits)
    file(READ ${copy}.edits present)
  endif()
  if(NOT present STREQUAL call)
    file(WRITE ${copy}.edits "${call}")
  endif()
  set_property(GLOBAL APPEND PROPERTY SHIFTCONV_EDITED_COPIES ${copy}.edits)
  add_custom_command(
    OUTPUT ${copy}
    COMMAND ${CMAKE_COMMAND} -DEDITS=${copy}.edits -P ${PROJECT_SOURCE_DIR}/tests/ApplyEdits.cmake
    DEPENDS ${source} ${copy}.edits ${PROJECT_SOURCE_DIR}/tests/ApplyEdits.cmake
    COMMENT "Edited copy ${copy}"
    VERBATIM)
endfunction()
