# hone_add_model(NAME MODEL.onnx|MODEL.tflite [TARGET text] [DB file] [TOPHUB url] [LOCKED file]
#                [OPTIONS tensorc's flags...])
#
# A library NAME of the model, built with the program's other files: link it, include NAME.h, and call NAME_run. The
# configs are those that the tophub DB has when it is built (then the user's, which the environment's HONE_DB may name
# instead, the team's at the URL TOPHUB, and the installed packages); where DB is given, it is built anew when that file
# changes. TARGET: as tensorc's, of a CPU (default: this machine). A fleet file with the credentials for TOPHUB is named
# by the environment's HONE_FLEET, or by OPTIONS --fleet FILE. LOCKED: a file that `tensorc --lock` wrote of this build
# (--emit obj, -o NAME.o) says which configs instead.
find_program(HONE_TENSORC tensorc HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin ${CMAKE_CURRENT_LIST_DIR}/../../../../bin
  DOC "the compiler that hone_add_model calls")

function(hone_add_model name model)
  cmake_parse_arguments(PARSE_ARGV 2 HONE "" "TARGET;DB;TOPHUB;LOCKED" "OPTIONS")
  if(HONE_UNPARSED_ARGUMENTS)
    list(JOIN HONE_UNPARSED_ARGUMENTS "', '" unknown)
    message(FATAL_ERROR
      "hone_add_model(${name}): unknown '${unknown}' behind ${model}: there are TARGET, DB, TOPHUB, LOCKED and OPTIONS")
  endif()
  if(HONE_KEYWORDS_MISSING_VALUES)
    list(JOIN HONE_KEYWORDS_MISSING_VALUES ", " missing)
    message(FATAL_ERROR "hone_add_model(${name}): nothing stands behind ${missing}")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$" OR name MATCHES "^lib.")
    message(FATAL_ERROR "hone_add_model: NAME '${name}' must be a C identifier that does not begin with lib")
  endif()
  if(NOT HONE_TENSORC)
    message(FATAL_ERROR
      "hone_add_model(${name}): the program tensorc, of the component tuner, is not found; set HONE_TENSORC")
  endif()
  get_filename_component(model ${model} ABSOLUTE)
  set(flags ${HONE_OPTIONS})
  set(reads ${model})
  if(HONE_TARGET)
    list(APPEND flags --target ${HONE_TARGET})
  endif()
  if(HONE_DB)
    get_filename_component(db ${HONE_DB} ABSOLUTE)
    list(APPEND flags --db ${db})
    if(EXISTS ${db})
      list(APPEND reads ${db})
    endif()
  endif()
  if(HONE_TOPHUB)
    list(APPEND flags --tophub ${HONE_TOPHUB})
  endif()
  if(HONE_LOCKED)
    get_filename_component(locked ${HONE_LOCKED} ABSOLUTE)
    list(APPEND flags --locked ${locked})
    list(APPEND reads ${locked})
  endif()
  # Objects: the model, and its pool of threads, which a program may do without.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.hone)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${name}.o ${folder}/${name}_pool.o ${folder}/${name}.h
    COMMAND ${HONE_TENSORC} ${model} --emit obj -o ${folder}/${name}.o ${flags}
    DEPENDS ${reads} ${HONE_TENSORC}
    COMMENT "hone: ${name}"
    VERBATIM)
  find_package(Threads REQUIRED)
  add_library(${name} STATIC ${folder}/${name}.o ${folder}/${name}_pool.o)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  set_source_files_properties(${folder}/${name}.o ${folder}/${name}_pool.o PROPERTIES
    EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_include_directories(${name} PUBLIC ${folder})
  target_link_libraries(${name} PUBLIC hone::headers Threads::Threads m)
endfunction()
