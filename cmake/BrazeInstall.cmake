# `cmake --install` and find_package(Braze): the shared library, its public headers and the command line.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A folder of Braze's own, since public headers include a few of ir's by their path from the root.
set(braze_headers "${CMAKE_INSTALL_INCLUDEDIR}/braze")
install(DIRECTORY frontend/include/ DESTINATION ${braze_headers})
file(GLOB open CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" frontend/include/braze/*.h)
set(seen "")
while(open)
  list(POP_FRONT open header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(STRINGS "${header}" lines REGEX "^#include \"(ir|runtime)/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST seen)
      list(APPEND seen "${included}")
      list(APPEND open "${included}")
      cmake_path(GET included PARENT_PATH folder)
      install(FILES "${included}" DESTINATION ${braze_headers}/${folder})
    endif()
  endforeach()
endwhile()

install(TARGETS braze EXPORT BrazeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${braze_headers})
if(TARGET braze_cli)
  install(TARGETS braze_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The library keeps its dependencies to itself, so the exported targets are the whole package.
set(braze_package "${CMAKE_INSTALL_LIBDIR}/cmake/Braze")
install(EXPORT BrazeTargets NAMESPACE Braze:: DESTINATION ${braze_package} FILE BrazeConfig.cmake)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/BrazeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/BrazeConfigVersion.cmake" DESTINATION ${braze_package})
