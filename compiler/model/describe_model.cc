#include "compiler/model/describe_model.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <span>

#include "base/json.h"
#include "compiler/build/artifact_header.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/metadata_json.h"

namespace hone {
namespace {

const Kernel& kernel_of(const VariantBuilder& v, const Layer& call) { return v.layers().kernels[call.kernel]; }
const std::string& nodes_of(const VariantBuilder& v, const Layer& call) {
  return v.variant().graph->nodes[call.node].origin;
}

// The inputs that the caller passes.
std::span<const Port> inputs_of(const VariantBuilder& v) {
  const Graph& g = *v.variant().graph;
  return {g.inputs.data(), caller_inputs(g, v.variant().growth)};
}

// Names of tensors that the caller passes.
std::set<std::string> names_of_ports(const VariantBuilder& v) {
  std::set<std::string> names;
  for (const Port& p : inputs_of(v)) names.insert(p.name);
  for (const Port& p : v.variant().graph->outputs) names.insert(p.name);
  return names;
}

// The caches of a variant: which input and output are one buffer, and how its elements lie.
OrderedJson caches_json(const Graph& g, const Growth& growth) {
  OrderedJson j = OrderedJson::array();
  for (const Cache& c : growth.caches) {
    const std::vector<int64_t>& room = g.outputs[c.output].type.shape;
    std::vector<int64_t> strides(room.size(), 1);
    for (size_t d = room.size(); d-- > 1;) strides[d - 1] = strides[d] * room[d];
    j.push_back({{"input", g.inputs[c.input].name},
                 {"output", g.outputs[c.output].name},
                 {"axis", c.axis},
                 {"rows", growth.symbol},
                 {"most", growth.most},
                 {"room", room},
                 {"strides", strides}});
  }
  return j;
}

int64_t most_arena(const std::deque<VariantBuilder>& variants) {
  int64_t bytes = 0;
  for (const VariantBuilder& v : variants) bytes = std::max(bytes, v.memory().bytes);
  return bytes;
}

ArtifactDescription::Variant describe_variant(const VariantBuilder& v, const std::string& symbol) {
  ArtifactDescription::Variant d;
  d.entry = symbol;
  d.workers = v.variant().target.threads;
  d.workspace_bytes = d.run_workspace_bytes = v.memory().bytes;
  const bool is_gpu = v.variant().target.is_gpu();
  if (is_gpu) d.run_workspace_bytes = 0;  // the workspace of NAME_run is on the device
  const auto add = [&](const Port& p, ParamRole role) {
    d.params.push_back({p.name, role, {p.type.dtype, p.type.shape}, {{p.type.dtype, p.type.shape}}, "", ""});
  };
  for (const Port& p : inputs_of(v)) add(p, ParamRole::kInput);
  for (const Port& p : v.variant().graph->outputs) add(p, ParamRole::kOutput);
  if (const Growth* growth = v.variant().growth)
    for (const Cache& c : growth->caches) {
      const size_t output = inputs_of(v).size() + c.output;
      d.params[c.input].cache =
          d.params[output].cache = {c.axis, growth->most + 1, growth->caches[0].input, c.input, growth->symbol};
    }
  const auto add_layer = [&](const std::string& layer, const std::string& workload) {
    d.layers.push_back({layer, workload, step_symbol(symbol, d.layers.size())});
  };
  if (is_gpu) add_layer("inputs, to the device", "copy");
  for (const Layer& call : v.layers().calls) add_layer(nodes_of(v, call), to_string(kernel_of(v, call).workload));
  for (const OutputCopy& copy : v.copies()) add_layer(d.params[copy.tensor].name, "copy");
  if (v.layers().calls.size() + v.copies().size() < v.steps().size()) add_layer("rows of caches", "copy");
  if (is_gpu) add_layer("outputs, from the device", "copy");
  return d;
}

void add_ports_and_layers(const VariantBuilder& v, OrderedJson& j) {
  const auto ports = [&](const char* key, std::span<const Port> list) {
    j[key] = OrderedJson::array();
    for (const Port& p : list) {
      j[key].push_back({{"name", p.name}, {"dtype", to_string(p.type.dtype)}, {"shape", p.type.shape}});
      if (p.extent) j[key].back()["extent"] = {{"axis", p.extent->axis}, {"output", p.extent->count}};
    }
  };
  ports("inputs", inputs_of(v));
  ports("outputs", v.variant().graph->outputs);
  if (v.variant().growth) j["caches"] = caches_json(*v.variant().graph, *v.variant().growth);
  j["layers"] = OrderedJson::array();
  for (const Layer& call : v.layers().calls) {
    const Kernel& k = kernel_of(v, call);
    j["layers"].push_back({{"name", nodes_of(v, call)},
                           {"kernel", k.symbol},
                           {"workload", to_string(k.workload)},
                           {"config", k.config},
                           {"source", k.source}});
    if (call.region == 0 && !call.is_divided) j["layers"].back()["threads"] = 1;
    if (call.region > 0) {
      j["layers"].back()["region"] = call.region;
      if (call.shares.size() == 1) j["layers"].back()["thread"] = call.shares[0].thread;
    }
    if (k.host && v.variant().target.is_gpu())
      j["layers"].back()["copied"] = {{"to_host", bytes_of_all(k.host->inputs)},
                                      {"to_device", bytes_of_all(k.host->outputs)}};
    if (call.in_place) j["layers"].back()["in_place"] = k.module.params[*call.in_place].name;
  }
}

// A name that ends no comment.
std::string in_comment(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '*' || c == '/' || static_cast<unsigned char>(c) < 32 ? '_' : c;
  return out;
}

// How caches are passed; as in a comment.
std::string cache_lines(const Graph& g, const Growth& growth, bool is_gpu) {
  const Cache& first = growth.caches[0];
  const std::string pairs = absl::StrJoin(growth.caches, ", ", [&](std::string* out, const Cache& c) {
    *out += fmt::format("{} and {}", c.input, caller_inputs(g, &growth) + c.output);
  });
  return fmt::format(R"(
   Caches: tensors {0}.
   The two of a pair are one buffer of the shape that stands above for the output: both begin where it begins and have
   its strides (DLTensor.strides). Dimension {1} of the input says how many rows are there, {2} of 0 to {3}, the same of
   all; the output has one more, which the call writes. Nothing depends on what lies behind it.
{4})",
                     pairs, first.axis, in_comment(growth.symbol), growth.most,
                     !is_gpu
                         ? ""
                         : "   A buffer may lie on the device while all other tensors are on the CPU: nothing of it "
                           "is copied then. Of one on\n   the CPU each call copies the rows that are there.\n");
}

// The tensors of a variant, one a line; as in a comment.
std::string tensor_lines(const Graph& g, const Growth* growth, bool is_gpu) {
  std::string h;
  int number = 0;
  const auto list = [&](const char* what, std::span<const Port> ports) {
    for (const Port& p : ports) {
      h += fmt::format("   {} {}: {} [{}]  {}", number++, what, to_string(p.type.dtype), fmt::join(p.type.shape, ", "),
                       in_comment(p.name));
      if (p.extent)
        h += fmt::format("; along dimension {} as many as tensor {} says", p.extent->axis,
                         caller_inputs(g, growth) + p.extent->count);
      h += "\n";
    }
  };
  list("input", {g.inputs.data(), caller_inputs(g, growth)});
  list("output", g.outputs);
  if (growth) h += cache_lines(g, *growth, is_gpu);
  return h;
}

// `3 variants; NAME_run takes …`, and the tensors of each binding.
std::string variant_lines(const std::deque<VariantBuilder>& variants, const std::string& name) {
  std::string h = fmt::format(
      "\n   {} variants: {}_run takes the first one whose shapes are right and that is for no more threads than its\n  "
      " "
      "runtime has (none: 1), else the first whose shapes are right.\n",
      variants.size(), name);
  for (size_t i = 0; i < variants.size(); ++i) {
    const ModelVariant& v = variants[i].variant();
    h += fmt::format("\n   {}: {}; arena {} bytes\n", i, v.name, variants[i].memory().bytes);
    // Variants of one graph, which are for other numbers of threads, follow each other.
    if (i + 1 == variants.size() || variants[i + 1].variant().graph != v.graph)
      h += tensor_lines(*v.graph, v.growth, v.target.is_gpu());
  }
  return h;
}

// How models for GPUs are called; the begin of a comment.
std::string gpu_comment(const VariantBuilder& v, const std::string& name, int64_t arena) {
  return fmt::format(
      "/* {0}: a model for a GPU, {1}.\n\n   It runs through rt->gpu, which must be there. {0}_run takes these "
      "tensors, "
      "row-major, on the CPU, aligned as\n   their elements need, and checks them; its arena may be null. {0} takes "
      "them on the device, with an arena there of\n   {2} bytes.\n",
      name, to_string(v.variant().target), arena);
}

}  // namespace

ArtifactDescription describe_model(const std::deque<VariantBuilder>& variants, const std::string& name,
                                   bool has_weights_file) {
  ArtifactDescription d{.name = name,
                        .target = to_string(variants[0].variant().target),
                        .has_gpu = variants[0].variant().target.is_gpu(),
                        .has_weights_file = has_weights_file};
  for (const VariantBuilder& v : variants) {
    d.variants.push_back(describe_variant(v, variant_symbol(name, d.variants.size(), variants.size())));
    const bool has_plain = variants.size() == 1 || d.has_gpu;
    d.variants.back().plain = d.variants.back().entry + (has_plain ? "_plain" : "");
  }
  return d;
}

std::string model_json(const std::deque<VariantBuilder>& variants, const ModelOptions& options, int64_t weight_bytes) {
  OrderedJson j;
  j["name"] = options.name;
  j["hone"] = hone_version();
  j["codegen"] = codegen_version();
  j["target"] = to_string(variants[0].variant().target);
  j["workers"] = variants[0].variant().target.threads;
  if (!variants[0].variant().target.is_gpu()) j["denormals"] = name_of(options.denormals);
  j["assume_finite"] = options.assume_finite;
  j["arena_bytes"] = most_arena(variants);
  if (variants[0].variant().target.is_gpu()) j["arena_on"] = "device";
  const bool has_several = variants.size() > 1;
  if (!has_several) j["arena_bound"] = variants[0].memory().bound;
  j["weight_bytes"] = weight_bytes;
  if (const OrderedJson metadata = metadata_json(options.metadata, names_of_ports(variants[0])); !metadata.is_null())
    j["metadata"] = metadata;
  if (!has_several) {
    add_ports_and_layers(variants[0], j);
    return json_line(j);
  }
  j["variants"] = OrderedJson::array();
  for (const VariantBuilder& v : variants) {
    OrderedJson of;
    of["name"] = v.variant().name;
    of["workers"] = v.variant().target.threads;
    of["arena_bytes"] = v.memory().bytes;
    of["arena_bound"] = v.memory().bound;
    add_ports_and_layers(v, of);
    j["variants"].push_back(std::move(of));
  }
  return json_line(j);
}

std::string model_header(const std::deque<VariantBuilder>& variants, const std::string& name,
                         const std::string& weights_file, bool in_c, Denormals denormals, bool assume_finite) {
  std::string macro;
  for (const char c : name) macro += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const Target& target = variants[0].variant().target;
  const Graph& g = *variants[0].variant().graph;
  std::string h = target.is_gpu() ? gpu_comment(variants[0], name, most_arena(variants))
                                  : fmt::format(
                                        "/* {0}: a model for {1}.\n\n   {0}_run takes these tensors, row-major, on the "
                                        "CPU, aligned as their elements "
                                        "need, and checks them;\n   the arena is its workspace: {2} bytes, aligned to "
                                        "64, one for each call that runs "
                                        "at "
                                        "the same time.\n",
                                        name, to_string(target), most_arena(variants));
  h += variants.size() == 1 ? tensor_lines(g, variants[0].variant().growth, target.is_gpu())
                            : variant_lines(variants, name);
  if (!target.is_gpu()) h += "\n   " + denormals_line(denormals, target) + "\n";
  if (assume_finite) h += "\n   " + std::string(kAssumesFinite) + "\n";
  if (!weights_file.empty())
    h += fmt::format(
        "\n   The weights are in {0}: {1}_weights maps that file, which all processes share, and is to be called "
        "before\n   {1}_run, by any thread; further calls do nothing. {1}_error has words for what it returns.{2}\n",
        weights_file, name, target.is_gpu() ? " The first\n   run copies them to the device." : "");
  h += fmt::format(
      "*/\n#ifndef {0}_H\n#define {0}_H\n\n#include \"hone_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" "
      "{{\n#endif\n\n"
      "#define {0}_TENSORS {2}\n#define {0}_ARENA_BYTES {3}\n\n"
      "int32_t {1}_run(const DLTensor* const* tensors, int32_t n, void* arena, const HoneRuntime* rt);\n"
      "const char* {1}_error(int32_t code);\nextern const HoneArtifact {1}_artifact;\nextern const char "
      "{1}_json[];\n\n"
      "{5}{4}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
      macro, name, inputs_of(variants[0]).size() + g.outputs.size(), most_arena(variants),
      pool_declarations(target, name, in_c),
      weights_file.empty()
          ? ""
          : fmt::format("int32_t {0}_weights(const char* path);\nextern const char {0}_weights_file[];\n\n", name));
  if (target.is_gpu()) {
    const std::string before = "int32_t " + name + "_run(";
    h.insert(h.find(before),
             fmt::format("int32_t {0}(const DLTensor* const* tensors, int32_t n, void* arena, const "
                         "HoneRuntime* rt);\n{1}",
                         name, variants.size() > 1 ? "" : "extern const HoneGpuModel " + name + "_gpu;\n"));
  }
  return h;
}

}  // namespace hone
