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
    -fno-plt # calls of other libraries are one jump, not two; a lone request makes dozens, with the predictor cold
    $<$<BOOL:${INTERLOCK_WERROR}>:-Werror>
    # The last one: nobody replaces single functions of ours, so those of one file may be inlined, as with clang.
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -fno-semantic-interposition>)
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A source that is included may have types of its own all the same; and the more g++ 12 inlines, the more it guesses
    # wrongly that a result's other half is read. Builds file by file keep both warnings.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-maybe-uninitialized)
  endif()
  if(NOT INTERLOCK_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection>)
    target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-Wl,-z,relro>)
  endif()
endfunction()
