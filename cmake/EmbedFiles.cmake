# Writes one C++ file that holds the bytes of others:
#
#     cmake -DOUTPUT=x.cc -DHEADER=tracker/web/assets.h -DFILES="a;b" -P EmbedFiles.cmake
#
# The header declares `struct Asset {std::string_view name, bytes;}` and `std::span<const Asset> assets()` in namespace
# NAMESPACE.
set(table "")
set(literals "")
set(i 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  # As numbers: text in string literals would meet delimiters, lists' semicolons and compilers' limits.
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE
    "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND literals "constexpr unsigned char kBytes${i}[] = {\n${bytes}};\n")
  string(APPEND table "      {\"${name}\", {reinterpret_cast<const char*>(kBytes${i}), sizeof(kBytes${i})}},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/EmbedFiles.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

${literals}
}  // namespace

std::span<const Asset> assets() {
  static const Asset table[] = {
${table}  };
  return table;
}

}  // namespace ${NAMESPACE}
")
