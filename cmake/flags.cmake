# SPDX-License-Identifier: MIT
# How our own code is compiled. Nothing here reaches the programs that use the library.

if(PROJECT_IS_TOP_LEVEL)
  find_program(INTERLOCK_CCACHE ccache)
  mark_as_advanced(INTERLOCK_CCACHE)
  if(INTERLOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${INTERLOCK_CCACHE})
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
  endif()
endif()

# ccache is the better way to save the same time, and the two do not go together: it would have to keep every copy.
set(precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT PROJECT_IS_TOP_LEVEL)
  set(precompile OFF)
endif()
option(INTERLOCK_PRECOMPILE "Read the headers that nearly every source includes once per target" ${precompile})

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(INTERLOCK_SANITIZE)
  add_compile_options(-fsanitize=${INTERLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${INTERLOCK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND INTERLOCK_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan) # Asio's atomic_thread_fence, which g++ warns about
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND INTERLOCK_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=function) # clang 14 misreads coroutines
  endif()
endif()

function(interlock_flags target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
    -Wold-style-cast -Wextra-semi -Wimplicit-fallthrough
    -Wno-missing-field-initializers # a designated initializer names what it sets, and only that
    -ffunction-sections -fdata-sections
    $<$<BOOL:${INTERLOCK_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>)
  if(NOT INTERLOCK_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection>)
    target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-Wl,-z,relro>)
  endif()
endfunction()

# interlock_precompile(<target> <header>...): where there are enough sources to make up for it. A source includes what it uses all the same:
# the linter, and builds with ccache, read it without this.
function(interlock_precompile target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(INTERLOCK_PRECOMPILE AND count GREATER_EQUAL 8)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <functional> <map> <memory> <mutex> <optional>
      <string> <string_view> <thread> <utility> <vector> <interlock/backend.hpp> <interlock/client.hpp> ${ARGN})
  endif()
endfunction()
