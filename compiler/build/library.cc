#include "compiler/build/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "compiler/build/artifact_header.h"
#include "compiler/build/artifact_parts.h"
#include "compiler/build/c_parts.h"
#include "compiler/codegen/artifact/model_program.h"
#include "compiler/codegen/c/describe.h"
#include "compiler/codegen/llvm/artifact/describe.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/runtime/c_objects.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

bool is_identifier(const std::string& name) {
  static const std::set<std::string> kKeywords = {
      "auto",   "break",   "case",     "char",     "const", "continue", "default", "do",      "double",
      "else",   "enum",    "extern",   "float",    "for",   "goto",     "if",      "inline",  "int",
      "long",   "main",    "register", "return",   "short", "signed",   "sizeof",  "static",  "struct",
      "switch", "typedef", "union",    "unsigned", "void",  "volatile", "while",   "restrict"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) && name[0] != '_' && !kKeywords.contains(name) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool has_several(const LibraryFunction& f) { return f.variants.size() > 1; }

// The symbols that a function's objects export.
std::vector<std::string> symbols_of(const LibraryFunction& f, const Target& target) {
  std::vector<std::string> out{f.name};
  for (const char* end : {"_plain", "_run", "_error", "_artifact", "_json", "_cpu", "_gpu"})
    out.push_back(f.name + end);
  for (size_t v = 0; v < f.variants.size(); ++v) {
    const std::string symbol = c_symbol(variant_symbol(f.name, v, f.variants.size()));
    if (has_several(f)) out.push_back(symbol);
    for (size_t i = 0; i < packing_of(f.variants[v].module, target).size(); ++i)
      out.push_back(fmt::format("{}_prepack{}", symbol, i));
  }
  return out;
}

// Whether C's own libraries have a function of this name, which another one would replace in programs.
bool is_of_c(const std::string& name) {
  for (const char* library : {"libc.so.6", "libm.so.6"}) {
    const std::unique_ptr<void, int (*)(void*)> opened(dlopen(library, RTLD_LAZY), &dlclose);
    if (opened && dlsym(opened.get(), name.c_str())) return true;
  }
  return false;
}

void check_names(const std::vector<LibraryFunction>& functions, const ModuleFiles& files) {
  std::map<std::string, std::string> owners;  // by symbol
  for (const char* end : {"_library", "_pool", "_pool_free"}) owners[files.name + end] = files.name;
  std::map<std::string, std::string> macros;
  for (const LibraryFunction& f : functions) {
    HONE_USER_CHECK(is_identifier(f.name) && !f.name.starts_with("hone_"))
        << "'" << clean_line(f.name) << "' cannot be a function of C: letters, digits and _, no word of C's, no hone_";
    HONE_USER_CHECK(!is_of_c(f.name)) << "'" << f.name
                                      << "' is a function of C's library, which programs would lose: another name";
    for (const std::string& symbol : symbols_of(f, files.target)) {
      const auto [at, is_new] = owners.emplace(symbol, f.name);
      HONE_USER_CHECK(is_new) << "'" << at->second << "' and '" << f.name << "' would both have the name " << symbol;
    }
    const auto [at, is_new] = macros.emplace(macro_name(f.name), f.name);
    HONE_USER_CHECK(is_new) << "'" << at->second << "' and '" << f.name << "' would have the same macros in the header";
  }
}

void check_pair(const LibraryFunction& f, const Module& a, const Module& b) {
  const auto has_same = [&](const auto& is_same) {
    return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(), is_same);
  };
  HONE_USER_CHECK(has_same([](const Param& x, const Param& y) {
    return x.name == y.name && x.role == y.role && x.dtype == y.dtype;
  })) << "'"
      << f.name << "': variants of one function have the same inputs and outputs, but for their shapes";
  const bool has_same_shapes =
      has_same([](const Param& x, const Param& y) { return x.role == ParamRole::kOutput || x.shape == y.shape; });
  HONE_USER_CHECK(!has_same_shapes || a.workers != b.workers)
      << "'" << f.name << "' has variants with inputs of the same shapes and threads: calls could not tell them apart";
}

void check_variants(const LibraryFunction& f, const Target& target) {
  HONE_USER_CHECK(!f.variants.empty()) << "'" << f.name << "' has no kernel";
  for (size_t a = 0; a < f.variants.size(); ++a)
    for (size_t b = a + 1; b < f.variants.size(); ++b) check_pair(f, f.variants[a].module, f.variants[b].module);
  if (!target.is_gpu() || !has_several(f)) return;
  for (const LibraryVariant& v : f.variants)
    for (size_t i = 0; i < v.module.params.size(); ++i)
      HONE_USER_CHECK(is_plain(v.module, i))
          << "'" << f.name << "': its tensor '" << v.module.params[i].name
          << "' has a layout of its own, which a GPU's function with several variants cannot have";
}

// A function with its variants in the order in which calls look for one that fits: more threads first.
LibraryFunction ordered(LibraryFunction f) {
  std::stable_sort(f.variants.begin(), f.variants.end(), [](const LibraryVariant& a, const LibraryVariant& b) {
    return a.module.workers > b.module.workers;
  });
  return f;
}

ArtifactDescription describe(const LibraryFunction& f, const Target& target) {
  if (!has_several(f)) {
    const Module& m = f.variants[0].module;
    return description_of(m, target, f.name, target.is_gpu() ? 0 : plain_module(m).workspace_bytes);
  }
  ArtifactDescription all{.name = f.name, .target = to_string(target), .has_gpu = target.is_gpu()};
  for (size_t v = 0; v < f.variants.size(); ++v) {
    const std::string symbol = variant_symbol(f.name, v, f.variants.size());
    const Module m = target.is_gpu() ? f.variants[v].module : plain_module(f.variants[v].module);
    all.variants.push_back(description_of(m, target, symbol, target.is_gpu() ? 0 : m.workspace_bytes).variants[0]);
    ArtifactDescription::Variant& d = all.variants.back();
    if (target.is_gpu()) continue;
    d.plain = symbol;
    for (ArtifactDescription::Parameter& p : d.params) {
      p.packed = {p.plain};
      p.pack.clear();
    }
  }
  return all;
}

std::string json_of(const LibraryFunction& f, const ModuleFiles& files) {
  const auto of_variant = [&](const LibraryVariant& v) {
    return artifact_json(v.module, files.target, f.name, v.what, v.config, files.denormals);
  };
  if (!has_several(f)) return of_variant(f.variants[0]);
  OrderedJson j;
  for (const LibraryVariant& v : f.variants) {
    OrderedJson of = OrderedJson::parse(of_variant(v));
    for (const char* key : {"name", "hone", "codegen", "target", "denormals"})
      if (of.contains(key)) {
        j[key] = of[key];
        of.erase(key);
      }
    j["variants"].push_back(std::move(of));
  }
  return json_line(j);
}

// The parts of a function's code on a CPU: its entries, of which several are those of plain tensors.
std::vector<std::string> cpu_parts(const LibraryFunction& f, const ModuleFiles& files, const std::string& json) {
  CodegenOptions options{.name = f.name, .json = json, .denormals = files.denormals};
  std::vector<std::string> parts;
  if (!has_several(f)) {
    const Module& m = f.variants[0].module;
    parts.push_back(emit_object(with_packing(m, files.target), files.target, options));
    parts.push_back(emit_object(plain_module(m), files.target,
                                {.name = f.name + "_plain", .element_aligned = true, .denormals = files.denormals}));
    return parts;
  }
  for (size_t v = 0; v < f.variants.size(); ++v)
    parts.push_back(emit_object(
        plain_module(f.variants[v].module), files.target,
        {.name = variant_symbol(f.name, v, f.variants.size()), .element_aligned = true, .denormals = files.denormals}));
  options.with_entry = false;
  parts.push_back(emit_object(Module(), files.target, options));
  return parts;
}

std::vector<std::string> gpu_parts(const LibraryFunction& f, const ModuleFiles& files, const std::string& json) {
  std::vector<std::string> parts;
  for (size_t v = 0; v < f.variants.size(); ++v) {
    const Module& m = f.variants[v].module;
    const GpuArtifactCode code = gpu_artifact_code(m, files.target, nvrtc_here());
    for (std::string& part :
         gpu_module_objects(m, files.target, files.host, code, variant_symbol(f.name, v, f.variants.size()),
                            has_several(f) ? "" : json))
      parts.push_back(std::move(part));
  }
  if (has_several(f))
    parts.push_back(emit_object(Module(), files.host, {.name = f.name, .with_entry = false, .json = json}));
  return parts;
}

std::vector<std::string> names_of(const std::vector<LibraryFunction>& functions) {
  std::vector<std::string> names;
  for (const LibraryFunction& f : functions) names.push_back(f.name);
  return names;
}

std::vector<ArtifactObject> library_objects(const std::vector<LibraryFunction>& functions, const ModuleFiles& files) {
  const bool is_gpu = files.target.is_gpu();
  const Target& cpu = is_gpu ? files.host : files.target;
  std::vector<std::string> parts = entry_parts({"check", "errors"}, cpu);
  const auto add = [&](std::vector<std::string> more) {
    for (std::string& part : more) parts.push_back(std::move(part));
  };
  if (is_gpu) add(entry_parts({"gpu_entry"}, cpu));
  if (std::any_of(functions.begin(), functions.end(), &has_several))
    add({c_part(variants_object(cpu.arch), "several variants", cpu)});
  for (const LibraryFunction& f : functions) {
    const std::string json = json_of(f, files);
    add(is_gpu ? gpu_parts(f, files, json) : cpu_parts(f, files, json));
    add({emit_description_object(describe(f, files.target), cpu)});
  }
  add({emit_library_object(files.name, names_of(functions), cpu)});
  std::vector<ArtifactObject> objects{{"", std::move(parts)}};
  if (auto pool = is_gpu ? std::nullopt : pool_artifact_object(files.target, files.name))
    objects.push_back(std::move(*pool));
  return objects;
}

std::string library_c_source(const std::vector<LibraryFunction>& functions, const ModuleFiles& files) {
  CFile file(files.target.vector_bits);
  std::set<std::string> included;
  if (files.denormals == Denormals::kZero) file.add(c_source("denormals.c", &included));
  for (const char* code : {"check.c", "errors.c"}) file.add(c_source(code, &included));
  if (std::any_of(functions.begin(), functions.end(), &has_several)) file.add(c_source("variants.c", &included));
  for (size_t n = 0; n < functions.size(); ++n) {
    const LibraryFunction& f = functions[n];
    if (!has_several(f)) {
      const Module& m = f.variants[0].module;
      const Module packing = with_packing(m, files.target);
      for (size_t i = 0; i < packing.prepacks.size(); ++i)
        file.add_prepack(packing, i, fmt::format("{}_prepack{}", f.name, i));
      file.add_entry(m, f.name, /*element_aligned=*/false, files.denormals);
      file.add_entry(plain_module(m), f.name + "_plain", /*element_aligned=*/true, files.denormals);
    } else {
      for (size_t v = 0; v < f.variants.size(); ++v)
        file.add_entry(plain_module(f.variants[v].module), c_symbol(variant_symbol(f.name, v, f.variants.size())),
                       /*element_aligned=*/true, files.denormals);
    }
    add_description(file, describe(f, files.target), json_of(f, files), fmt::format("hone_f{}", n));
  }
  add_library(file, files.name, names_of(functions));
  return file.text(c_source_head(files.name, files.what, header_file(files.path)));
}

std::string library_header(const std::vector<LibraryFunction>& functions, const ModuleFiles& files, bool in_c) {
  std::vector<HeaderFunction> all;
  for (const LibraryFunction& f : functions) {
    all.push_back({f.name, {}});
    for (const LibraryVariant& v : f.variants) all.back().variants.push_back({&v.module, v.what});
  }
  return library_header(all, files.target, files.name, in_c, files.denormals);
}

}  // namespace

Status write_library(const std::vector<LibraryFunction>& given, const ModuleFiles& f) {
  HONE_USER_CHECK(!given.empty()) << "no kernel is given";
  std::vector<LibraryFunction> functions;
  for (const LibraryFunction& function : given) {
    check_variants(function, f.target);
    functions.push_back(ordered(function));
  }
  check_names(functions, f);
  FileSet files;
  const bool in_c = f.form == "c";
  if (in_c) {
    HONE_RETURN_IF_ERROR(files.add(f.path, library_c_source(functions, f)));
  } else if (f.form == "obj") {
    HONE_RETURN_IF_ERROR(write_objects(library_objects(functions, f), f.path, files).status());
  } else {
    LinkOptions options{.sysroot = f.sysroot, .library = f.name, .functions = names_of(functions)};
    link_artifact(library_objects(functions, f), f.target.is_gpu() ? f.host : f.target, std::move(options), f.path,
                  files);
  }
  HONE_RETURN_IF_ERROR(files.add(header_path(f.path), library_header(functions, f, in_c)));
  return files.commit();
}

}  // namespace hone
