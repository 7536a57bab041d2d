# SPDX-License-Identifier: MIT
# The few shapes that targets of this project have.

# interlock_glob(<out> <folder>...): the .cpp files of these folders; new ones are noticed by the next build.
function(interlock_glob out)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(REAL_PATH "${folder}" folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    file(GLOB files CONFIGURE_DEPENDS "${folder}/*.cpp")
    list(APPEND found ${files})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# interlock_library(<component> <source>...): static library interlock_<component>, to users interlock::<component>.
# The component "interlock" is the umbrella and has the plain name.
function(interlock_library component)
  set(target interlock_${component})
  if(component STREQUAL "interlock")
    set(target interlock)
  endif()
  add_library(${target} STATIC ${ARGN})
  add_library(interlock::${component} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  interlock_private_view(${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_property(GLOBAL APPEND PROPERTY INTERLOCK_COMPONENTS ${component})
endfunction()

# interlock_linked_alone(<source>...): where sources are compiled in groups, not these, because a linker takes or leaves
# what was compiled together as a whole: some other object stands in for such a source, several libraries have it, or
# programs want it without the tests beside it.
function(interlock_linked_alone)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# interlock_private_view(<target>): what code inside src/ sees: our flags, src/, texts embedded by the build, Boost.
function(interlock_private_view target)
  interlock_flags(${target})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(${target} PRIVATE INTERLOCK_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Boost::headers>)
endfunction()

# interlock_store(<store> PACKAGE <cmake package> PKGCONFIG <module> LIBRARY <target> MISSING <words>
#                 [ARCHIVE <lib.a> NEEDS <library>...] [ALSO <folder>...])
# Called from src/backends/<store>/CMakeLists.txt: library interlock::<store> out of the folder's sources, if the
# store's client library was found; one line saying so, if not. The umbrella sees INTERLOCK_WITH_<STORE>=1.
# A store with an ARCHIVE is an embedded one: programs with the property INTERLOCK_LEAN carry the archive inside
# themselves, one library less to load at each start, and the small command is made of such stores alone.
# ALSO names folders that are part of its library: of a store made of this one, or of code that several stores have.
function(interlock_store store)
  cmake_parse_arguments(arg "" "PACKAGE;PKGCONFIG;LIBRARY;MISSING;ARCHIVE" "NEEDS;ALSO" ${ARGN})
  if(NOT ${arg_PACKAGE}_FOUND)
    message(STATUS "interlock: store ${store} left out: ${arg_MISSING}")
    return()
  endif()
  interlock_glob(sources . ${arg_ALSO})
  if(NOT sources)
    return()
  endif()
  set(shared ${sources})
  list(FILTER shared INCLUDE REGEX "/src/net/") # several stores have it
  interlock_linked_alone(${shared})
  interlock_library(${store} ${sources})
  target_link_libraries(interlock_${store} PUBLIC interlock::core)
  interlock_store_library(interlock_${store} ${arg_LIBRARY} "${arg_ARCHIVE}" ${arg_NEEDS})
  set(texts)
  foreach(folder IN ITEMS . ${arg_ALSO})
    file(GLOB found CONFIGURE_DEPENDS
      "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.sql" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.lua")
    list(APPEND texts ${found})
  endforeach()
  interlock_embed(interlock_${store} ${texts})

  string(TOUPPER "${store}" upper)
  set_property(GLOBAL APPEND PROPERTY INTERLOCK_STORES ${store})
  set_property(GLOBAL APPEND PROPERTY INTERLOCK_STORE_DEFINITIONS INTERLOCK_WITH_${upper}=1)
  if(arg_ARCHIVE)
    set_property(GLOBAL APPEND PROPERTY INTERLOCK_EMBEDDED_STORES ${store})
    set_property(GLOBAL APPEND PROPERTY INTERLOCK_EMBEDDED_DEFINITIONS INTERLOCK_WITH_${upper}=1)
  endif()
  set_property(GLOBAL PROPERTY INTERLOCK_PACKAGES_${store} ${arg_PACKAGE})
  set_property(GLOBAL PROPERTY INTERLOCK_PKGCONFIG_${store} ${arg_PKGCONFIG})
endfunction()

function(interlock_store_library target library archive)
  if(archive)
    get_target_property(shared ${library} IMPORTED_LOCATION)
    cmake_path(GET shared PARENT_PATH folder)
    find_library(INTERLOCK_ARCHIVE_${archive} ${archive} HINTS "${folder}")
    mark_as_advanced(INTERLOCK_ARCHIVE_${archive})
    set(archive ${INTERLOCK_ARCHIVE_${archive}})
  endif()
  if(archive)
    set(lean $<BOOL:$<TARGET_PROPERTY:INTERLOCK_LEAN>>)
    target_link_libraries(${target} PRIVATE $<INSTALL_INTERFACE:${library}> $<BUILD_INTERFACE:$<$<NOT:${lean}>:${library}>>)
    foreach(item IN LISTS archive ARGN)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:$<${lean}:${item}>>)
    endforeach()
  else()
    target_link_libraries(${target} PRIVATE ${library})
  endif()
endfunction()

# interlock_embed(<target> <file>...): lets the target say #include "backends/sqlite/schema.sql.hpp" for a file
# src/backends/sqlite/schema.sql, and find its text in interlock::embedded::sqlite_schema_sql.
function(interlock_embed target)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE relative)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "${folder}_${name}" INTERLOCK_EMBED_NAME)
    set(INTERLOCK_EMBED_FILE src/${relative})
    file(READ "${file}" INTERLOCK_EMBED_TEXT)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/embedded.hpp.in" "${PROJECT_BINARY_DIR}/generated/${relative}.hpp" @ONLY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()

# interlock_knows_programs(<target>): the paths of the built command and of the tests' agent, as string macros.
function(interlock_knows_programs target)
  target_compile_definitions(${target} PRIVATE INTERLOCK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET interlock_command)
    target_compile_definitions(${target} PRIVATE INTERLOCK_COMMAND="$<TARGET_FILE:interlock_command>")
    add_dependencies(${target} interlock_command)
    if(TARGET interlock_network_command)
      add_dependencies(${target} interlock_network_command)
    endif()
  endif()
  if(TARGET agent)
    target_compile_definitions(${target} PRIVATE INTERLOCK_AGENT="$<TARGET_FILE:agent>")
    add_dependencies(${target} agent)
  endif()
endfunction()
