#include "compiler/codegen/c/describe.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/artifact/checks.h"
#include "compiler/codegen/artifact/error_sentences.h"

namespace hone {
namespace {

class DescriptionWriter {
 public:
  DescriptionWriter(const ArtifactDescription& description, const std::string& prefix)
      : d_(description), own_(prefix) {}

  std::string write(const std::string& json) {
    const size_t count = d_.variants.size();
    std::string out =
        fmt::format("static const HoneVariant {own}_variants[{0}];\nstatic const HoneChecks {own}_checks[{0}];\n\n",
                    count, fmt::arg("own", own_));
    std::string variants, checks;
    for (size_t v = 0; v < count; ++v) {
      const ArtifactChecks all = checks_of(d_, d_.variants[v]);
      out += parameters(v) + symbols(v, all) + tensor_checks(v, all) + layers(v) + run(v);
      checks += fmt::format("    {{{own}_tensor_checks{0}, {1}, {2}}},\n", v,
                            all.symbols.empty() ? "0" : fmt::format("{own}_symbols{}", v, fmt::arg("own", own_)),
                            all.symbols.size(), fmt::arg("own", own_));
      variants += variant(v);
    }
    out += fmt::format("static const HoneVariant {own}_variants[{}] = {{\n{}}};\n\n", count, variants,
                       fmt::arg("own", own_));
    out +=
        fmt::format("static const HoneChecks {own}_checks[{}] = {{\n{}}};\n\n", count, checks, fmt::arg("own", own_));
    out += errors();
    out += fmt::format("const char {}_cpu[] = \"\"; /* whatever the C compiler was told */\n", d_.name);
    out += fmt::format("const char {}_json[] =\n{};\n\n", d_.name, long_string(json));
    out += artifact();
    if (has_several()) {
      out += choice("_run", "run");
      out += choice("", "enter");
      out += choice("_plain", "enter");
    }
    return out;
  }

 private:
  using Variant = ArtifactDescription::Variant;
  using Parameter = ArtifactDescription::Parameter;

  bool has_several() const { return d_.variants.size() > 1; }

  // C99 compilers need not take more than 4095 characters of one literal, and take more of neighbours.
  static std::string long_string(const std::string& text) {
    constexpr size_t kLine = 100;
    std::string out;
    for (size_t i = 0; i < text.size(); i += kLine)
      out += fmt::format("{}    {}", i ? "\n" : "", c_string(text.substr(i, kLine)));
    return out.empty() ? "\"\"" : out;
  }

  std::string type(const ArtifactDescription::Tensor& t, const std::string& shape) const {
    return fmt::format("{{{}, {}, {}}}", c_dtype(t.dtype), t.shape.size(), t.shape.empty() ? "0" : shape);
  }
  static std::string numbers(const std::string& name, const std::vector<int64_t>& values) {
    return values.empty() ? "" : fmt::format("static const int64_t {}[] = {{{}}};\n", name, fmt::join(values, ", "));
  }

  std::string parameters(size_t v) const {
    std::string shapes, table = fmt::format("static const HoneParam {own}_params{}[] = {{\n", v, fmt::arg("own", own_));
    const auto& params = d_.variants[v].params;
    for (size_t i = 0; i < params.size(); ++i) {
      const Parameter& p = params[i];
      const std::string plain = fmt::format("{own}_shape{}_{}", v, i, fmt::arg("own", own_)),
                        all = fmt::format("{own}_packed{}_{}", v, i, fmt::arg("own", own_));
      shapes += numbers(plain, p.plain.shape);
      std::vector<std::string> types;
      for (size_t k = 0; k < p.packed.size(); ++k) {
        const std::string shape = fmt::format("{}_{}", all, k);
        shapes += numbers(shape, p.packed[k].shape);
        types.push_back(type(p.packed[k], shape));
      }
      const std::string packed = absl::StrJoin(types, ", ");
      if (!packed.empty()) shapes += fmt::format("static const HoneTensorType {}[] = {{{}}};\n", all, packed);
      table += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}}},\n", c_string(p.name), static_cast<int>(p.role),
                           p.packed.size(), type(p.plain, plain), packed.empty() ? "0" : all,
                           p.pack.empty() ? "0" : p.pack, p.unpack.empty() ? "0" : p.unpack);
    }
    return shapes + table + "};\n\n";
  }

  std::string symbols(size_t v, const ArtifactChecks& checks) const {
    if (checks.symbols.empty()) return "";
    std::string out = fmt::format("static const HoneSymbol {own}_symbols{}[] = {{\n", v, fmt::arg("own", own_));
    for (const ArtifactChecks::Symbol& s : checks.symbols)
      out += fmt::format("    {{{}, {}, {}, {}}},\n", c_string(s.name), s.least, s.most, s.multiple_of);
    return out + "};\n";
  }

  std::string tensor_checks(size_t v, const ArtifactChecks& checks) const {
    std::string lists,
        out = fmt::format("static const HoneTensorCheck {own}_tensor_checks{}[] = {{\n", v, fmt::arg("own", own_));
    for (size_t i = 0; i < checks.tensors.size(); ++i) {
      const ArtifactChecks::Tensor& t = checks.tensors[i];
      const std::string list = fmt::format("{own}_extents{}_{}", v, i, fmt::arg("own", own_));
      std::string extents;
      for (const ArtifactChecks::Extent& e : t.extents)
        extents += fmt::format("{{{}, {}, {}, {}}}, ", e.dimension, e.symbol, e.more, e.room);
      if (!extents.empty()) lists += fmt::format("static const HoneExtent {}[] = {{{}}};\n", list, extents);
      out += fmt::format("    {{{:#x}, {}, {}, {}}},\n", t.devices, t.begins_with, t.extents.size(),
                         extents.empty() ? "0" : list);
    }
    return lists + out + "};\n\n";
  }

  std::string layers(size_t v) const {
    const auto& layers = d_.variants[v].layers;
    if (layers.empty()) return "";
    std::string out = fmt::format("static const HoneLayer {own}_layer_list{}[] = {{\n", v, fmt::arg("own", own_));
    for (const auto& l : layers)
      out += fmt::format("    {{{}, {}, {}}},\n", c_string(l.name), c_string(l.workload), c_symbol(l.run));
    return out + fmt::format("}};\nstatic const HoneLayers {own}_layers{0} = {{{1}, {own}_layer_list{0}}};\n\n", v,
                             layers.size(), fmt::arg("own", own_));
  }

  std::string name_of_run(size_t v) const {
    return has_several() ? fmt::format("{}_run{}", d_.name, v) : d_.name + "_run";
  }

  std::string run(size_t number) const {
    const Variant& v = d_.variants[number];
    return fmt::format(
        "static const HoneRun {own}_run{0} = {{&{own}_variants[{0}], &{own}_checks[{0}], {1}, {2}}};\n\n"
        "{3}int32_t {4}({5}) {{\n  return hone_entry1_run(&{own}_run{0}, args, n, workspace, rt);\n}}\n\n",
        number, c_symbol(v.plain),
        v.layers.empty() ? "0" : fmt::format("&{own}_layers{}", number, fmt::arg("own", own_)),
        has_several() ? "static " : "", name_of_run(number), kEntryArguments, fmt::arg("own", own_));
  }

  std::string variant(size_t number) const {
    const Variant& v = d_.variants[number];
    return fmt::format("    {{{own}_params{}, {}, {}, {}, {}, {}, {}, 0}},\n", number, v.params.size(), v.workers,
                       v.workspace_bytes, v.run_workspace_bytes, c_symbol(v.entry), name_of_run(number),
                       fmt::arg("own", own_));
  }

  std::string choice(const std::string& suffix, const std::string& how) const {
    return fmt::format(
        "int32_t {}{}({}) {{\n  return hone_internal_{}_variant(&{}_artifact, args, n, workspace, rt);\n}}\n\n",
        d_.name, suffix, kEntryArguments, how, d_.name);
  }

  std::string errors() const {
    const ErrorSentences all = error_sentences(d_);
    const auto table = [&](const char* name, const std::vector<std::string>& texts) {
      std::string out = fmt::format("static const char* const {}_{}[] = {{\n", own_, name);
      for (const std::string& text : texts) out += fmt::format("    {},\n", c_string(text));
      return out + "};\n";
    };
    return table("codes", all.codes) + table("wrongs", all.wrongs) +
           fmt::format(
               "static const HoneErrors {own}_errors = {{{own}_codes, {own}_wrongs, {0}, {1}, {2}}};\n\n"
               "const char* {3}_error(int32_t code) {{ return hone_entry1_error(&{own}_errors, code); }}\n\n",
               all.codes.size(), d_.variants[0].params.size(), all.of_weights, d_.name, fmt::arg("own", own_));
  }

  std::string artifact() const {
    return fmt::format(
        "const HoneArtifact {0}_artifact = {{HONE_ARTIFACT_ABI, {1}, {own}_variants, {2}, {3}, {0}_json, {0}_error, "
        "{own}_checks}};\n\n",
        d_.name, d_.variants.size(), c_string(d_.name), c_string(d_.target), fmt::arg("own", own_));
  }

  const ArtifactDescription& d_;
  const std::string& own_;  // begins the names of what nobody else sees
};

}  // namespace

void add_description(CFile& file, const ArtifactDescription& description, const std::string& json,
                     const std::string& prefix) {
  file.add(DescriptionWriter(description, prefix).write(json));
}

void add_library(CFile& file, const std::string& name, const std::vector<std::string>& artifacts) {
  const std::string list = absl::StrJoin(
      artifacts, ", ", [](std::string* out, const std::string& artifact) { *out += "&" + artifact + "_artifact"; });
  file.add(
      fmt::format("static const HoneArtifact* const hone_artifacts[] = {{{0}}};\n\n"
                  "const HoneLibrary {1}_library = {{HONE_LIBRARY_ABI, {2}, hone_artifacts}};\n",
                  list, name, artifacts.size()));
}

}  // namespace hone
