#include "compiler/codegen/text/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace hone {
namespace {

// Words of C, CUDA, OpenCL and the preludes that an IR name must not be.
constexpr std::string_view kReserved[] = {
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "half", "if", "inline", "int", "kernel", "local", "global", "long", "register", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "this", "typedef", "union", "unsigned", "void",
    "volatile", "while", "workspace", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "v", "min",
    "max", "abs", "rint", "exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "atan", "fma", "barrier", "printf", "new",
    "delete", "class", "template", "operator", "private", "public", "constant", "image", "sampler_t", "event_t", "pipe",
    "uint", "uchar", "ushort", "ulong", "dot4", "word_of", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
    "v10", "v11", "v12", "v13", "v14", "v15", "blockIdx", "threadIdx", "minimum", "maximum", "block_memory", "part",
    "lane", "a_parts", "b_parts",
    // Macros of GCC when it does not keep to the standard.
    "linux", "unix", "i386"};

// Names without a small letter are taken for macros: NULL, HUGE_VAL, INT8_MAX. No macro has only one letter.
bool is_macro_like(const std::string& name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
}

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "x" + out;
  // Names that begin with an underscore belong to the compilers.
  return out[0] == '_' || is_macro_like(out) ? "x" + out : out;
}

}  // namespace

Names::Names() {
  for (const std::string_view word : kReserved) taken_.insert(std::string(word));
}

const std::string& Names::give(const void* node, const std::string& name) {
  const auto [it, is_new] = given_.try_emplace(node);
  return is_new ? it->second = fresh(name) : it->second;
}

std::string Names::fresh(const std::string& name) {
  const std::string wanted = identifier(name);
  std::string unique = wanted;
  for (int i = 1; !taken_.insert(unique).second; ++i) unique = fmt::format("{}_{}", wanted, i);
  return unique;
}

std::string memory_type(DType t) {
  if (t.is_bool()) return "u8";
  if (t.is_narrow_float()) return "u16";  // its bits
  const char letter = t.is_float() ? 'f' : t.code == TypeCode::kUInt ? 'u' : 'i';
  return fmt::format("{}{}", letter, t.bits);
}

}  // namespace hone
