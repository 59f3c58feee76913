# Compiler, linker and flags. Everything here is a directory default, so it is included before the first target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()

  find_program(BRAZE_CCACHE ccache)
  if(BRAZE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # NOHASHDIR: the debug information names the build folder, and otherwise no two build folders would share an entry.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=1 "${BRAZE_CCACHE}")
  endif()

  # LLVM's archives link in 0.7 s with lld and in 3.5 s with bfd. Not --pack-dyn-relocs=relr: what lld 14 then writes
  # does not start on glibc 2.36.
  find_program(BRAZE_LLD ld.lld)
  if(BRAZE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# The interpreters are the oracles, and g++ would contract their x*y + z wherever the machine has fma.
add_compile_options(-ffp-contract=off)
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

if(BRAZE_SANITIZE)
  # -O1, as the sanitizers' manuals advise: -O2 compiles a third longer, and shows less of the stack.
  add_compile_options(-O1 -fsanitize=${BRAZE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BRAZE_SANITIZE})
endif()
if(BRAZE_CHECKED)
  # Assertions keep the layout of containers, which _GLIBCXX_DEBUG does not: LLVM's archives are built without either.
  add_compile_options(-UNDEBUG -D_GLIBCXX_ASSERTIONS)
endif()
if(BRAZE_PLAIN_THREADS)
  add_compile_definitions(BRAZE_PLAIN_THREADS=1)
endif()

# Designated initialisers leave fields out on purpose; the other two are false positives of g++ 12 at -O2.
set(braze_warnings -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND braze_warnings -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(BRAZE_WERROR)
  list(APPEND braze_warnings -Werror)
endif()
