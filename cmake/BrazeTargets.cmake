# How a folder becomes a library and a handful of sources an executable. Sources are globbed, so that adding a file is
# all it takes; CONFIGURE_DEPENDS makes the build notice.

file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp" CONTENT "// A folder without sources still makes a library.\n")
set(braze_empty "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")

# braze_folder(<name> LINKS <target>... EXCLUDES <regex>...): the static library braze_<name> of this folder's sources.
function(braze_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "LINKS;HIDES;EXCLUDES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(pattern ${folder_EXCLUDES})
    list(FILTER sources EXCLUDE REGEX "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
  endforeach()
  if(NOT sources)
    set(sources "${braze_empty}")
  endif()
  add_library(braze_${name} STATIC ${sources})
  target_include_directories(braze_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  target_compile_options(braze_${name} PRIVATE ${braze_warnings})
  target_link_libraries(braze_${name} PUBLIC ${folder_LINKS} PRIVATE ${folder_HIDES})
endfunction()

# braze_executable(<name> SOURCES <file>... LINKS <target>... [FOLDER <output folder>]); no sources, no target.
function(braze_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 exe "" "FOLDER" "SOURCES;LINKS")
  if(NOT exe_SOURCES)
    return()
  endif()
  add_executable(${name} ${exe_SOURCES})
  target_compile_options(${name} PRIVATE ${braze_warnings})
  target_link_libraries(${name} PRIVATE ${exe_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${exe_FOLDER}")
endfunction()
