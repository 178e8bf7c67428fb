# Installation as a CMake package and for pkg-config, in install components. Included once the targets exist.
#   ShiftConv                the convolution library: find_package(ShiftConv), pkg-config shiftconv
#   ShiftConvEmulatedDevice  what that loads when an emulated device is opened
#   ShiftConvEmulator        the PTX machine by itself: find_package(ShiftConv COMPONENTS emulator)
#   ShiftConvTools           ptxrun and emurun, with the libraries that they need
# All but the second stand alone.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(_shiftconv_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ShiftConv)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ShiftConvConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake INSTALL_DESTINATION ${_shiftconv_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# shiftconv_install_development(COMPONENT [EXCLUDE_FROM_ALL]): what programs are compiled with.
function(shiftconv_install_development component)
  install(EXPORT ShiftConvTargets-shiftconv NAMESPACE ShiftConv:: DESTINATION ${_shiftconv_package_dir} COMPONENT ${component} ${ARGN})
  install(FILES ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake ${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake
    DESTINATION ${_shiftconv_package_dir} COMPONENT ${component} ${ARGN})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/conv/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT ${component} ${ARGN} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  install(FILES ${PROJECT_BINARY_DIR}/shiftconv.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component} ${ARGN})
endfunction()

# _shiftconv_install_licence(COMPONENT [EXCLUDE_FROM_ALL])
function(_shiftconv_install_licence component)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${component} COMPONENT ${component} ${ARGN})
endfunction()

install(TARGETS shiftconv EXPORT ShiftConvTargets-shiftconv COMPONENT ShiftConv LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
shiftconv_install_development(ShiftConv)
_shiftconv_install_licence(ShiftConv)
file(RELATIVE_PATH _shiftconv_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/shiftconv.pc.in ${PROJECT_BINARY_DIR}/shiftconv.pc @ONLY)

if(TARGET shiftconv_emulated)
  install(TARGETS shiftconv_emulated COMPONENT ShiftConvEmulatedDevice LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  _shiftconv_install_licence(ShiftConvEmulatedDevice)
endif()

install(TARGETS shiftconv_emulator_library EXPORT ShiftConvTargets-emulator COMPONENT ShiftConvEmulator
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ShiftConvTargets-emulator NAMESPACE ShiftConv:: DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConvEmulator)
install(FILES ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake ${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake
  DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConvEmulator)
_shiftconv_install_licence(ShiftConvEmulator)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/emulator/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConvEmulator FILES_MATCHING PATTERN "*.hpp")

# Called once the programs exist, too.
function(shiftconv_install_tools)
  set_target_properties(ptxrun PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  set_target_properties(emulated_cudart PROPERTIES INSTALL_RPATH $ORIGIN)
  install(TARGETS ptxrun emurun COMPONENT ShiftConvTools RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS shiftconv_emulator_library COMPONENT ShiftConvTools LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
  install(TARGETS emulated_cuda emulated_cudart COMPONENT ShiftConvTools
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/emulated_cuda NAMELINK_SKIP)
  _shiftconv_install_licence(ShiftConvTools)
endfunction()
