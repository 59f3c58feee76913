# What Braze links. CUDA is not here: libcuda and libnvrtc are loaded at run time where they exist.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)  # which LLVM links, too
if(NOT BRAZE_PLAIN_THREADS)
  find_package(TBB REQUIRED)
endif()

# find_package(LLVM 22) refuses 22.1.8, and without a version it may take an older LLVM of the machine: so each major
# version is looked for where it is installed, newest first. LLVM_DIR overrides.
if(NOT LLVM_DIR)
  foreach(version 22 21 20 19)
    find_package(LLVM CONFIG QUIET PATHS /usr/lib/llvm-${version} /usr/local/opt/llvm@${version} NO_DEFAULT_PATH)
    if(LLVM_FOUND)
      break()
    endif()
  endforeach()
endif()
if(NOT LLVM_FOUND)
  find_package(LLVM CONFIG REQUIRED)
endif()
if(LLVM_VERSION_MAJOR LESS 19)
  message(FATAL_ERROR "Braze needs LLVM 19 or later, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}; "
                      "install llvm-22-dev (or 21, 20, 19) or set LLVM_DIR")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}")

# Archives, not libLLVM.so: a host may carry another LLVM, and these symbols stay hidden.
llvm_map_components_to_libnames(braze_llvm_archives
  core support passes x86codegen x86info x86desc x86asmparser orcjit jitlink)
add_library(braze_llvm INTERFACE)
target_include_directories(braze_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(braze_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(braze_llvm INTERFACE ${braze_llvm_definitions})
target_link_libraries(braze_llvm INTERFACE ${braze_llvm_archives})
