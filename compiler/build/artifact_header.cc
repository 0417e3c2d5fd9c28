#include "compiler/build/artifact_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "compiler/build/artifact_parts.h"
#include "compiler/build/build.h"
#include "compiler/lower/layout_functions.h"

namespace hone {
namespace {

// A name that ends no comment and no line.
std::string in_comment(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '*' || c == '/' || static_cast<unsigned char>(c) < 32 ? '_' : c;
  return out;
}

// `f32 [4, 8]`
std::string type_text(const KernelArgument& a) {
  return fmt::format("{} [{}]", to_string(a.dtype), fmt::join(a.shape, ", "));
}

// `packed [4, 8]`, with types where there are several tensors or another type.
std::string packed_text(const Module& m, size_t param) {
  const std::vector<KernelArgument> arguments = kernel_arguments(m, param);
  if (arguments.size() == 1 && arguments[0].dtype == m.params[param].dtype)
    return fmt::format("packed [{}]", fmt::join(arguments[0].shape, ", "));
  std::string out;
  for (const KernelArgument& a : arguments) out += (out.empty() ? "packed " : ", packed ") + type_text(a);
  return out;
}

// The entries that pack.
std::string prepack_declarations(const Module& m, const Target& target, const std::string& name) {
  std::string out;
  const std::vector<Prepack> packing = packing_of(m, target);
  for (const Prepack& made : packing) {
    const auto i = static_cast<size_t>(made.param);
    const Param& p = m.params[i];
    const std::string called = in_comment(p.name);
    const std::string plain_shape = fmt::format("plain [{}]", fmt::join(p.shape, ", ")), packed_is = packed_text(m, i);
    const std::string what =
        p.role == ParamRole::kOutput
            ? fmt::format("Unpacks the output {}: ({}, {}). No workspace.", called, packed_is, plain_shape)
        : p.role == ParamRole::kConstant
            ? fmt::format("Packs the constant {}: ({}, {}). Once; no workspace.", called, plain_shape, packed_is)
            : fmt::format("Packs the input {}: ({}, {}). No workspace.", called, plain_shape, packed_is);
    out += fmt::format(
        "/* {} */\nint32_t {}(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);\n\n",
        what, packing_entry(packing, i, name));
  }
  return out;
}

// Tensors with their roles and types, a line each; `packed`: as NAME takes them.
std::string tensor_lines(const Module& m, bool packed) {
  std::string out;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const std::string line = fmt::format("     {:<8} {} ", name_of(p.role), in_comment(p.name));
    if (!packed) out += line + type_text({i, p.dtype, p.shape}) + "\n";
    if (packed)
      for (const KernelArgument& a : kernel_arguments(m, i)) out += line + type_text(a) + "\n";
  }
  return out;
}

constexpr std::string_view kArguments =
    "(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt)";

// The function's comment, macros and prototypes.
std::string function_section(const HeaderFunction& f, const Target& target) {
  const Module& first = *f.variants[0].first;
  const std::string macro = macro_name(f.name);
  int64_t bytes = 0;
  std::string comment;
  for (size_t v = 0; v < f.variants.size(); ++v) {
    const auto& [m, what] = f.variants[v];
    if (!target.is_gpu()) bytes = std::max(bytes, plain_module(*m).workspace_bytes);
    if (f.variants.size() > 1)
      comment += fmt::format("   {}, of {} thread{}:\n", v, m->workers, m->workers == 1 ? "" : "s");
    comment += tensor_lines(*m, false);
  }
  std::string h = fmt::format("/* {}: {}{}\n{}*/\n", f.name, in_comment(f.variants[0].second),
                              f.variants.size() > 1 ? fmt::format(", {} variants", f.variants.size()) : "", comment);
  h += fmt::format("#define {0}_TENSORS {1}\n#define {0}_WORKSPACE_BYTES {2}\n", macro, first.params.size(), bytes);
  h += fmt::format("int32_t {0}_run{1};\nconst char* {0}_error(int32_t code);\n", f.name, kArguments);
  h += fmt::format("extern const HoneArtifact {0}_artifact;\nextern const char {0}_json[];\n", f.name);
  const std::string prepacks = f.variants.size() > 1 ? "" : prepack_declarations(first, target, f.name);
  if (!prepacks.empty())
    h += fmt::format(
        "\n/* The same for who packs once what {0}_run packs in every call; 64-byte aligned, unchecked.\n{1}*/\n"
        "#define {2}_PACKED_WORKSPACE_BYTES {3}\nint32_t {0}{4};\n\n{5}",
        f.name, tensor_lines(first, true), macro, first.workspace_bytes, kArguments, prepacks);
  return h + (prepacks.empty() ? "\n" : "");
}

}  // namespace

std::string macro_name(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::isalnum(c) ? std::toupper(c) : '_'; });
  return text;
}

std::string pool_declarations(const Target& target, const std::string& name, bool in_c) {
  std::string h;
  if (in_c)
    return fmt::format(
        "/* The last argument of the entries: null, and all runs on the calling thread, or a HoneRuntime of yours, "
        "whose\n"
        "   parallel_for has the threads; {}_pool is only there in objects and shared objects. */\n\n",
        name);
  if (has_pool(target))
    h += fmt::format(
        "/* A pool of `threads` threads, those that call it included (0: one for each CPU that the caller may run "
        "on),\n"
        "   for the last argument of this and any other artifact's entries; any number of threads may use it at once,\n"
        "   and in the child of a fork() all runs on the calling thread. Null, and errno says why, where it cannot be\n"
        "   made. {0}_pool_free ends it; nothing may run on it then. Of objects: they are in {0}_pool.o, which all "
        "else\n"
        "   does without. */\n"
        "HoneRuntime* {0}_pool(int32_t threads);\nvoid {0}_pool_free(HoneRuntime* pool);\n\n",
        name);
  else if (!target.is_gpu())
    h += fmt::format("/* There is no {0}_pool: Hone was built without a C compiler for {1}. */\n\n", name, target.arch);
  return h;
}

std::string denormals_line(Denormals denormals, const Target& target) {
  if (target.is_gpu()) return "";
  if (denormals == Denormals::kKeep)
    return "Denormal numbers are computed with, as far as the floating-point modes of the threads say so.";
  return "Denormal numbers of f32 and f64 are zeros to a call, as operands and as results; each thread has its own\n"
         "   floating-point mode again when its part of the call is done.";
}

std::string artifact_header(const Module& m, const Target& target, const std::string& name, const std::string& workload,
                            bool in_c, Denormals denormals) {
  const std::string guard = macro_name(name) + "_H", macro = macro_name(name);
  const std::string takes = target.is_gpu() ? fmt::format(
                                                  "{} runs on a GPU ({}) through rt->gpu and takes tensors there; the "
                                                  "other entries take contiguous CPU tensors",
                                                  name, to_string(target))
                                            : fmt::format(
                                                  "Entries take contiguous CPU tensors, 64-byte aligned but for those "
                                                  "of {0}_plain and {0}_run",
                                                  name);
  const std::string finite = m.assume_finite ? fmt::format("\n   {}", kAssumesFinite) : "";
  std::string h = fmt::format(
      "/* {}\n   Generated by Hone {}. {}; see hone_runtime.h.{} */\n#ifndef {}\n#define {}\n\n#include "
      "\"hone_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      in_comment(workload), hone_version(), takes,
      (target.is_gpu() ? "" : "\n   " + denormals_line(denormals, target)) + finite, guard, guard);
  h += fmt::format(
      "/* Workspace in bytes, 64-byte aligned; for NAME{} and for NAME_plain and NAME_run. */\n#define "
      "{}_WORKSPACE_BYTES "
      "{}\n#define {}_PLAIN_WORKSPACE_BYTES {}\n\n",
      target.is_gpu() ? " (on the GPU)" : "", macro, m.workspace_bytes, macro,
      target.is_gpu() ? 0 : plain_module(m).workspace_bytes);
  std::string packed, plain;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const std::string line = fmt::format("     {:<7} {} ", name_of(p.role), in_comment(p.name));
    for (const KernelArgument& a : kernel_arguments(m, i)) packed += fmt::format("{}{}\n", line, type_text(a));
    plain += fmt::format("{}{}\n", line, type_text({i, p.dtype, p.shape}));
  }
  h += fmt::format(
      "/* In the config's layouts:\n{}*/\nint32_t {}(const DLTensor* const* args, int32_t n, void* workspace, const "
      "HoneRuntime* rt);\n\n",
      packed, name);
  h += prepack_declarations(m, target, name);
  h += fmt::format(
      "/* Plain row-major tensors:\n{}*/\nint32_t {}_plain(const DLTensor* const* args, int32_t n, void* workspace, "
      "const HoneRuntime* rt);\n\n",
      plain, name);
  h += fmt::format(
      "/* The same tensors; checks number, device, dtype, shape and strides of them. {0}_error says in words what its\n"
      "   code means. */\n"
      "int32_t {0}_run(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);\n"
      "const char* {0}_error(int32_t code);\n\n",
      name);
  h += pool_declarations(target, name, in_c);
  if (target.is_gpu()) h += fmt::format("/* Code and launches. */\nextern const HoneGpuProgram {}_gpu;\n\n", name);
  h += fmt::format(
      "/* All of this described, in C and as JSON. */\nextern const HoneArtifact {0}_artifact;\nextern const char "
      "{0}_json[];\n\n#ifdef __cplusplus\n}}\n#endif\n#endif\n",
      name);
  return h;
}

std::string library_header(const std::vector<HeaderFunction>& functions, const Target& target, const std::string& name,
                           bool in_c, Denormals denormals) {
  const bool is_gpu = target.is_gpu();
  const bool has_several =
      std::any_of(functions.begin(), functions.end(), [](const HeaderFunction& f) { return f.variants.size() > 1; });
  std::string h = fmt::format("/* {}: {} function{} for {}.\n   Generated by Hone {}; see hone_runtime.h.\n\n", name,
                              functions.size(), functions.size() == 1 ? "" : "s", to_string(target), hone_version());
  h += "   Each NAME_run takes row-major tensors on the CPU, in the order that stands above it, aligned as their "
       "elements\n"
       "   need, and checks them; NAME_error says in words what its code means. ";
  h += is_gpu ? "It runs through rt->gpu, which must be\n   there; its workspace may be null.\n"
              : "The workspace, NAME_WORKSPACE_BYTES, is\n   64-byte aligned, one for each call that runs at the same "
                "time; null where that is 0.\n";
  if (has_several)
    h += "   Of several variants it takes the first one whose shapes are right and that is for no more threads than "
         "its\n"
         "   runtime has (none: 1), else the first whose shapes are right.\n";
  if (!is_gpu) h += "\n   " + denormals_line(denormals, target) + "\n";
  h += fmt::format(
      "*/\n#ifndef {0}_H\n#define {0}_H\n\n#include \"hone_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" "
      "{{\n#endif\n\n",
      macro_name(name));
  for (const HeaderFunction& f : functions) h += function_section(f, target);
  h += pool_declarations(target, name, in_c);
  return h + fmt::format(
                 "/* All of them. */\nextern const HoneLibrary {}_library;\n\n#ifdef __cplusplus\n}}\n#endif\n#endif\n",
                 name);
}

}  // namespace hone
