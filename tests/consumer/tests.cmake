# SPDX-License-Identifier: MIT
# A stranger's project, built against the installed tree both ways a stranger would.
if(NOT INTERLOCK_INSTALL OR INTERLOCK_SANITIZE OR CMAKE_CXX_FLAGS MATCHES "coverage")
  return()
endif()
add_test(NAME consumer
  COMMAND "${CMAKE_CURRENT_LIST_DIR}/run" ${CMAKE_COMMAND} "${PROJECT_BINARY_DIR}" ${CMAKE_CXX_COMPILER})
set_tests_properties(consumer PROPERTIES TIMEOUT 300 LABELS consumer)
