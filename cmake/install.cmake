# SPDX-License-Identifier: MIT
# The installed tree: headers, one archive per component, find_package(interlock) and a .pc file per component.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/interlock)
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
get_property(components GLOBAL PROPERTY INTERLOCK_COMPONENTS)
get_property(interlock_stores GLOBAL PROPERTY INTERLOCK_STORES)

install(DIRECTORY include/interlock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# Wherever the tree is moved to, its .pc files point at it.
file(RELATIVE_PATH pc_up "/${pc_dir}" "/")
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")

set(interlock_component_facts "")
foreach(component IN LISTS components)
  set(needs)
  set(packages)
  set(pc_requires)
  set(pc_libs)
  set(pc_name interlock-${component})
  set(pc_library interlock_${component})
  set(pc_description "${PROJECT_DESCRIPTION}: ${component}")
  if(component STREQUAL "core")
    set(packages Threads)
    set(pc_libs -pthread)
  elseif(component STREQUAL "interlock")
    set(needs core ${interlock_stores})
    set(pc_name interlock)
    set(pc_library interlock)
    set(pc_description "${PROJECT_DESCRIPTION}")
  elseif(component STREQUAL "testing")
    set(needs interlock)
    if(GTest_FOUND)
      set(packages GTest)
      set(pc_requires gtest)
    endif()
  else()
    set(needs core)
    get_property(packages GLOBAL PROPERTY INTERLOCK_PACKAGES_${component})
    get_property(pc_requires GLOBAL PROPERTY INTERLOCK_PKGCONFIG_${component})
  endif()
  string(APPEND interlock_component_facts
    "set(_interlock_${component}_needs ${needs})\nset(_interlock_${component}_packages ${packages})\n")

  set(target interlock_${component})
  if(component STREQUAL "interlock")
    set(target interlock)
  endif()
  install(TARGETS ${target} EXPORT interlock-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT interlock-${component} FILE interlock-${component}-targets.cmake NAMESPACE interlock::
    DESTINATION ${config_dir})

  # Only archives are installed, so what they need is needed by everyone: Requires, not Requires.private.
  list(TRANSFORM needs PREPEND interlock-)
  list(TRANSFORM needs REPLACE "^interlock-interlock$" interlock)
  list(APPEND needs ${pc_requires})
  list(JOIN needs " " pc_requires)
  configure_file(cmake/interlock.pc.in "${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc" DESTINATION ${pc_dir})
endforeach()

configure_package_config_file(cmake/interlockConfig.cmake.in "${PROJECT_BINARY_DIR}/interlockConfig.cmake"
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/interlockConfig.cmake" "${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake"
  DESTINATION ${config_dir})

if(TARGET interlock_command)
  install(TARGETS interlock_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET interlock_network_command)
    install(TARGETS interlock_network_command RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/interlock)
  endif()
  file(GLOB man_page CONFIGURE_DEPENDS docs/interlock.1)
  file(GLOB completion CONFIGURE_DEPENDS completions/interlock.bash)
  if(man_page)
    install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  if(completion)
    install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME interlock)
  endif()
endif()
