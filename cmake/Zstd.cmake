# shiftconv_zstd: the zstd library, as a static part where there is one, so that nothing needs libzstd.so at run time.
# shiftconv_compress: a program of the build, which compresses a file.
find_library(SHIFTCONV_ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED DOC "Fat binaries and embedded PTX are compressed with it")
add_library(shiftconv_zstd INTERFACE)
target_link_libraries(shiftconv_zstd INTERFACE ${SHIFTCONV_ZSTD_LIBRARY})

add_executable(shiftconv_compress ${CMAKE_CURRENT_LIST_DIR}/compress.cpp)
target_link_libraries(shiftconv_compress PRIVATE shiftconv_zstd)
