#include "compiler/codegen/c/describe.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/codegen/artifact/error_sentences.h"

namespace hone {
namespace {

// The checks of NAME_run, in order; hone_runtime.h documents the codes.
constexpr std::string_view kChecks = R"(static int32_t hone_wrong(int32_t what, int32_t tensor) {
  return HONE_BAD_ARGUMENTS | what << 8 | tensor << 16;
}

static int32_t hone_check_tensor(const DLTensor* t, const HoneTensorType* type, int32_t number) {
  int64_t elements = 1, stride = 1;
  int32_t d;
  for (d = 0; d < type->ndim; ++d) elements *= type->shape[d] != 0;
  if (!t || (elements && !t->data)) return hone_wrong(HONE_WRONG_DATA, number);
  if (t->device.device_type != kDLCPU) return hone_wrong(HONE_WRONG_DEVICE, number);
  if (t->dtype.code != type->dtype.code || t->dtype.bits != type->dtype.bits || t->dtype.lanes != type->dtype.lanes)
    return hone_wrong(HONE_WRONG_DTYPE, number);
  if (t->ndim != type->ndim || (t->ndim > 0 && !t->shape)) return hone_wrong(HONE_WRONG_SHAPE, number);
  for (d = 0; d < type->ndim; ++d)
    if (t->shape[d] != type->shape[d]) return hone_wrong(HONE_WRONG_SHAPE, number);
  for (d = type->ndim; t->strides && d-- > 0; stride *= type->shape[d])
    if (type->shape[d] != 1 && t->strides[d] != stride) return hone_wrong(HONE_WRONG_STRIDES, number);
  if (((uintptr_t)t->data + t->byte_offset) % (type->dtype.bits / 8)) return hone_wrong(HONE_WRONG_ALIGNMENT, number);
  return HONE_OK;
}

/* A cache that grows in place: the strides are those of a buffer with room for `room` rows, of which it is the first.
   `counted_by` is the parameter whose extent says how many there are; `input`, of an output, the one behind which the
   row stands. */
typedef struct HoneCache {
  int64_t room;
  int32_t is_cache, axis, counted_by, input;
} HoneCache;

static uintptr_t hone_first(const DLTensor* t) { return (uintptr_t)t->data + t->byte_offset; }

static int32_t hone_check_cache(const DLTensor* const* args, const HoneParam* params, int32_t i, const HoneCache* cache,
                                int64_t* counted) {
  const DLTensor* const t = args[i];
  const HoneTensorType* const type = &params[i].plain;
  const int32_t number = i + 1, is_output = params[i].role == HONE_OUTPUT;
  int64_t rows, stride = 1, matrices = 1;
  int32_t d;
  if (!t) return hone_wrong(HONE_WRONG_DATA, number);
  if (t->device.device_type != kDLCPU) return hone_wrong(HONE_WRONG_DEVICE, number);
  if (t->dtype.code != type->dtype.code || t->dtype.bits != type->dtype.bits || t->dtype.lanes != type->dtype.lanes)
    return hone_wrong(HONE_WRONG_DTYPE, number);
  if (t->ndim != type->ndim || !t->shape) return hone_wrong(HONE_WRONG_SHAPE, number);
  rows = t->shape[cache->axis];
  if (i == cache->counted_by) *counted = rows;
  if (i == cache->counted_by ? rows < 0 || rows >= cache->room : rows != *counted + is_output)
    return hone_wrong(HONE_WRONG_SHAPE, number);
  for (d = 0; d < type->ndim; ++d) {
    if (d != cache->axis && t->shape[d] != type->shape[d]) return hone_wrong(HONE_WRONG_SHAPE, number);
    if (d < cache->axis) matrices *= type->shape[d];
  }
  if (matrices != 1 && !t->strides) return hone_wrong(HONE_WRONG_STRIDES, number);
  for (d = type->ndim; t->strides && d-- > 0; stride *= d == cache->axis ? cache->room : type->shape[d])
    if (t->strides[d] != stride && (d == cache->axis ? rows > 1 : type->shape[d] != 1))
      return hone_wrong(HONE_WRONG_STRIDES, number);
  if (is_output || rows > 0) {
    if (!t->data) return hone_wrong(HONE_WRONG_DATA, number);
    if (hone_first(t) % (type->dtype.bits / 8)) return hone_wrong(HONE_WRONG_ALIGNMENT, number);
  }
  if (is_output && *counted > 0 && hone_first(t) != hone_first(args[cache->input]))
    return hone_wrong(HONE_WRONG_DATA, number);
  return HONE_OK;
}

static int32_t hone_check(const HoneParam* params, const HoneCache* caches, int32_t count, int64_t workspace_bytes,
                          const DLTensor* const* args, int32_t n, const void* workspace, const HoneRuntime* rt) {
  int64_t counted = 0;
  int32_t code = HONE_OK, i;
  if (!hone_knows(rt)) return hone_wrong(HONE_WRONG_RUNTIME, 0);
  if (n != count || !args) return hone_wrong(HONE_WRONG_COUNT, 0);
  if ((workspace_bytes > 0 && !workspace) || (uintptr_t)workspace % 64) return hone_wrong(HONE_WRONG_WORKSPACE, 0);
  for (i = 0; i < count && !code; ++i)
    code = caches && caches[i].is_cache ? hone_check_cache(args, params, i, &caches[i], &counted)
                                        : hone_check_tensor(args[i], &params[i].plain, i + 1);
  return code;
}

)";

class DescriptionWriter {
 public:
  explicit DescriptionWriter(const ArtifactDescription& description) : d_(description) {}

  std::string write(const std::string& json) {
    std::string out(kChecks);
    std::vector<std::string> runs;
    for (size_t v = 0; v < d_.variants.size(); ++v) {
      out += parameters(v) + caches(v) + layers(v);
      runs.push_back(has_several() ? fmt::format("{}_run{}", d_.name, v) : d_.name + "_run");
      out += run(v, runs.back());
    }
    out += errors();
    out += fmt::format("const char {}_cpu[] = \"\"; /* whatever the C compiler was told */\n", d_.name);
    out += fmt::format("const char {}_json[] =\n{};\n\n", d_.name, long_string(json));
    out += artifact(runs);
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
    std::string shapes, table = fmt::format("static const HoneParam hone_params{}[] = {{\n", v);
    const auto& params = d_.variants[v].params;
    for (size_t i = 0; i < params.size(); ++i) {
      const Parameter& p = params[i];
      const std::string plain = fmt::format("hone_shape{}_{}", v, i), all = fmt::format("hone_packed{}_{}", v, i);
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

  bool has_caches(size_t v) const {
    const auto& params = d_.variants[v].params;
    return std::any_of(params.begin(), params.end(), [](const Parameter& p) { return p.cache.has_value(); });
  }
  std::string caches(size_t v) const {
    if (!has_caches(v)) return "";
    std::string out = fmt::format("static const HoneCache hone_caches{}[] = {{\n", v);
    for (const Parameter& p : d_.variants[v].params)
      out += p.cache ? fmt::format("    {{{}, 1, {}, {}, {}}},\n", p.cache->room, p.cache->axis, p.cache->counted_by,
                                   p.cache->input)
                     : "    {0, 0, 0, 0, 0},\n";
    return out + "};\n\n";
  }

  std::string layers(size_t v) const {
    const auto& layers = d_.variants[v].layers;
    if (layers.empty()) return "";
    std::string out = fmt::format("static const HoneLayer hone_layer_list{}[] = {{\n", v);
    for (const auto& l : layers)
      out += fmt::format("    {{{}, {}, {}}},\n", c_string(l.name), c_string(l.workload), c_symbol(l.run));
    return out + fmt::format("}};\nstatic const HoneLayers hone_layers{0} = {{{1}, hone_layer_list{0}}};\n\n", v,
                             layers.size());
  }

  std::string run(size_t number, const std::string& name) const {
    const Variant& v = d_.variants[number];
    std::string out = fmt::format("{}int32_t {}({}) {{\n", has_several() ? "static " : "", name, kEntryArguments);
    if (!v.layers.empty())
      out += fmt::format(
          "  if (n == HONE_ASK_LAYERS && workspace) {{\n    *(const HoneLayers**)workspace = &hone_layers{};\n    "
          "return "
          "HONE_OK;\n  }}\n",
          number);
    out += fmt::format("  const int32_t code = hone_check(hone_params{}, {}, {}, {}, args, n, workspace, rt);\n",
                       number, has_caches(number) ? fmt::format("hone_caches{}", number) : "0", v.params.size(),
                       v.run_workspace_bytes);
    return out + fmt::format("  return code ? code : {}(args, n, workspace, rt);\n}}\n\n", c_symbol(v.plain));
  }

  std::string choice(const std::string& suffix, const std::string& how) const {
    return fmt::format(
        "int32_t {}{}({}) {{\n  return hone_internal_{}_variant(&{}_artifact, args, n, workspace, rt);\n}}\n\n",
        d_.name, suffix, kEntryArguments, how, d_.name);
  }

  std::string errors() const {
    const ErrorSentences all = error_sentences(d_);
    const auto table = [](const char* name, const std::vector<std::string>& texts) {
      std::string out = fmt::format("static const char* const {}[] = {{\n", name);
      for (const std::string& text : texts) out += fmt::format("    {},\n", c_string(text));
      return out + "};\n";
    };
    const size_t of_tensors = d_.variants[0].params.size() + 1;
    std::string out = table("hone_codes", all.codes) + table("hone_wrongs", all.wrongs);
    out += fmt::format("\nconst char* {}_error(int32_t code) {{\n", d_.name);
    out += fmt::format(
        "  const uint32_t what = (uint32_t)code >> 8 & 0xff, tensor = (uint32_t)code >> 16;\n  if (((uint32_t)code & "
        "0xff) "
        "!= HONE_BAD_ARGUMENTS)\n    return (uint32_t)code < {} ? hone_codes[code] : \"a code that is unknown "
        "here\";\n",
        all.codes.size());
    out += fmt::format("  if (what < {0} && tensor < {1}) return hone_wrongs[tensor * {0} + what];\n", kTensorWrongs,
                       of_tensors);
    if (all.of_weights > 0)
      out += fmt::format("  if (what - {0} < {1} && !tensor) return hone_wrongs[{2} + what - {0}];\n", kTensorWrongs,
                         all.of_weights, of_tensors * kTensorWrongs);
    return out + "  return \"a code that is unknown here\";\n}\n\n";
  }

  std::string artifact(const std::vector<std::string>& runs) const {
    std::string out = "static const HoneVariant hone_variants[] = {\n";
    for (size_t i = 0; i < runs.size(); ++i) {
      const Variant& v = d_.variants[i];
      out += fmt::format("    {{hone_params{}, {}, {}, {}, {}, {}, {}, 0}},\n", i, v.params.size(), v.workers,
                         v.workspace_bytes, v.run_workspace_bytes, c_symbol(v.entry), runs[i]);
    }
    return out + fmt::format(
                     "}};\n\nconst HoneArtifact {0}_artifact = {{HONE_ARTIFACT_ABI, {1}, hone_variants, {2}, {3}, "
                     "{0}_json, {0}_error}};\n\n",
                     d_.name, runs.size(), c_string(d_.name), c_string(d_.target));
  }

  const ArtifactDescription& d_;
};

}  // namespace

void add_description(CFile& file, const ArtifactDescription& description, const std::string& json) {
  file.need_tensor_checks();
  file.add(DescriptionWriter(description).write(json));
}

}  // namespace hone
