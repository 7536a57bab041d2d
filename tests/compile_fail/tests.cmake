# SPDX-License-Identifier: MIT
# Each file compiles as it stands, and with -DMISUSE does not, for the reason its "expect:" line gives.
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  add_test(NAME compile_fail.${name}
    COMMAND "${CMAKE_CURRENT_LIST_DIR}/run" ${CMAKE_CXX_COMPILER} "${source}" -I "${PROJECT_SOURCE_DIR}/include")
  set_tests_properties(compile_fail.${name} PROPERTIES TIMEOUT 120 LABELS compile_fail)
endforeach()
