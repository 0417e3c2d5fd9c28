#include "tests/conformance/node_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/frontend/tensor_file.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/extents.h"
#include "compiler/model/build_model.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

using Tensors = std::vector<TensorData>;

struct DataSet {
  Tensors inputs, outputs;
};

Tensors tensors_in(const fs::path& folder, const std::string& kind) {
  Tensors out;
  for (int i = 0; fs::exists(folder / fmt::format("{}_{}.pb", kind, i)); ++i)
    out.push_back(read_tensor_file(folder / fmt::format("{}_{}.pb", kind, i)));
  return out;
}

// ONNX's own tolerances; empty: equal.
std::string difference(const TensorData& got, const TensorData& wanted) {
  if (TensorType type = got.type(); type != wanted.type()) {
    if (type.dtype == u8) type.dtype = boolean;  // as which artifacts have them
    if (type != wanted.type()) return to_string(got.type()) + " instead of " + to_string(wanted.type());
  }
  const std::vector<double> a = got.values(), b = wanted.values();
  const double relative = got.type().dtype.is_narrow_float() ? 1e-2 : 1e-3;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= 1e-5 + relative * std::abs(b[i])))
      return fmt::format("element {}: {} instead of {}", i, a[i], b[i]);
  }
  return "";
}

// Old releases' data have bf16 as u16.
TensorData as_declared(const TensorData& t, const TensorType& declared) {
  if (t.type().dtype != u16 || declared.dtype != bf16 || t.type().shape != declared.shape) return t;
  return {declared, std::string(t.bytes().begin(), t.bytes().end())};
}

// The inputs that a refusal asks for: `give --bind-data axes=FILE.npy --bind-data sizes=FILE.npy (s64 [2], f32 [4])`.
std::set<std::string> asked_for(const std::string& refusal) {
  static constexpr std::string_view kFlag = "--bind-data ";
  std::set<std::string> names;
  for (size_t at = refusal.find(kFlag); at != std::string::npos; at = refusal.find(kFlag, at)) {
    at += kFlag.size();
    if (const size_t end = refusal.find("=FILE", at); end != std::string::npos)
      names.insert(refusal.substr(at, end - at));
  }
  return names;
}

struct Imported {
  ImportedModel model;
  std::set<std::string> bound;
};

// The model, with what its refusals ask for, one after the other. UserError where they ask for nothing new.
Imported import_as_told(const fs::path& path, const OperatorTable& operators, const Tensors& inputs) {
  const std::vector<std::string> names = onnx_input_names(path);
  ImportOptions options;
  for (Imported out;;) try {
      out.model = import_onnx(path, operators, options);
      return out;
    } catch (const UserError& e) {
      bool is_new = false;
      for (const std::string& name : asked_for(e.what())) {
        const size_t i = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
        if (i >= inputs.size()) throw;
        if (!out.bound.insert(name).second) continue;
        options.values.emplace(name, inputs[i]);
        is_new = true;
      }
      if (!is_new) throw;
    }
}

// Computes the graph with one of the engines.
class Computer {
 public:
  Computer(const Graph& imported, const OperatorTable& operators, Engine engine) : graph_(imported) {
    if (engine == Engine::kInterpreter) return;
    ModelOptions options{"m", host_target(1), {}};
    options.choose = [](const Workload&, const Target&, const Space& space) {
      return ChosenConfig{space.default_config(), "", ""};
    };
    graph_ = prepare_graph(imported, {operators, standard_functions()}, options.target);
    artifact_.emplace(build_model(graph_, options), options.name, 1);
  }

  Tensors run(const Tensors& inputs) {
    return cut_to_extents(graph_, artifact_ ? artifact_->run(inputs) : interpret(graph_, inputs, &evaluate));
  }

 private:
  Graph graph_;
  std::optional<LoadedModel> artifact_;
};

Outcome outcome_of_sets(const std::vector<DataSet>& sets, const Graph& g, Computer& computer,
                        const std::vector<size_t>& passed) {
  for (const DataSet& set : sets) {
    Tensors inputs, outputs = set.outputs;
    for (const size_t i : passed) inputs.push_back(set.inputs[i]);
    for (size_t i = 0; i < std::min(inputs.size(), g.inputs.size()); ++i)
      inputs[i] = as_declared(inputs[i], g.inputs[i].type);
    for (size_t o = 0; o < std::min(outputs.size(), g.outputs.size()); ++o)
      outputs[o] = as_declared(outputs[o], g.outputs[o].type);
    const Tensors got = computer.run(inputs);
    if (got.size() != outputs.size()) return {Outcome::kWrong, "another number of outputs", {}};
    for (size_t o = 0; o < got.size(); ++o)
      if (const std::string d = difference(got[o], outputs[o]); !d.empty())
        return {Outcome::kWrong, fmt::format("output {}: {}", o, d), {}};
  }
  return {};
}

}  // namespace

std::vector<fs::path> node_models(const fs::path& data) {
  std::vector<fs::path> folders;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    if (!fs::exists(data / group)) continue;
    for (const auto& entry : fs::directory_iterator(data / group))
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Outcome outcome_of(const fs::path& folder, const OperatorTable& operators, Engine engine) {
  std::vector<DataSet> sets;
  Imported imported;
  std::optional<Computer> computer;
  try {
    for (int i = 0; fs::exists(folder / fmt::format("test_data_set_{}", i)); ++i) {
      const fs::path data = folder / fmt::format("test_data_set_{}", i);
      sets.push_back({tensors_in(data, "input"), tensors_in(data, "output")});
    }
    imported = import_as_told(folder / "model.onnx", operators, sets.empty() ? Tensors{} : sets[0].inputs);
    verify(imported.model.graph);
    computer.emplace(imported.model.graph, operators, engine);
  } catch (const UserError& e) {
    return {Outcome::kRefused, e.what(), {}};
  }
  const std::vector<std::string> names = onnx_input_names(folder / "model.onnx");
  std::vector<size_t> passed;
  for (size_t i = 0; i < names.size(); ++i)
    if (!imported.bound.contains(names[i])) passed.push_back(i);
  if (!imported.bound.empty()) sets.resize(1);
  for (const DataSet& set : sets)
    if (set.inputs.size() != names.size()) return {Outcome::kRefused, "it is given another number of inputs", {}};
  Outcome out;
  try {
    out = outcome_of_sets(sets, imported.model.graph, *computer, passed);
  } catch (const UserError& e) {
    out = {Outcome::kRefused, e.what(), {}};
  } catch (const std::exception& e) {
    out = {Outcome::kWrong, e.what(), {}};
  }
  if (out.kind == Outcome::kRight && !imported.bound.empty()) out.kind = Outcome::kRightWhenBound;
  out.bound = imported.bound;
  return out;
}

Exceptions listed_exceptions(const fs::path& data) {
  // Release 1.20 has this folder, and the release of Debian 12 lacks it.
  const char* release = fs::exists(data / "node" / "test_tensorscatter") ? "1.20" : "1.12";
  std::ifstream in(fs::path(HONE_SOURCE_DIR) / fmt::format("tests/conformance/onnx-{}.txt", release));
  HONE_ICHECK(in) << "no list for release " << release;
  Exceptions out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t at = line.find(": ");
    HONE_ICHECK(at != std::string::npos) << "no reason: " << line;
    out.emplace(line.substr(0, at), line.substr(at + 2));
  }
  return out;
}

Tally tally(const std::vector<fs::path>& folders, const Exceptions& exceptions, const OperatorTable& operators,
            Engine engine) {
  const char* only = std::getenv("HONE_CONFORMANCE");
  const bool lists = std::getenv("HONE_CONFORMANCE_LIST") != nullptr;
  Tally out;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename();
    if (only && name.find(only) == std::string::npos) continue;
    ++out.all;
    Outcome o;
    try {
      o = outcome_of(folder, operators, engine);
    } catch (const std::exception& e) {
      o = {Outcome::kWrong, e.what(), {}};
    }
    if (o.kind == Outcome::kRight) ++out.right;
    if (o.kind == Outcome::kRightWhenBound) ++out.right_when_bound;
    const bool is_right = o.kind == Outcome::kRight || o.kind == Outcome::kRightWhenBound;
    std::replace(o.why.begin(), o.why.end(), '\n', ' ');
    if (!is_right && lists) std::cout << name << ": " << o.why << std::endl;
    if (is_right && exceptions.contains(name)) out.faults.push_back(name + ": it is right, and listed as not");
    if (!is_right && !exceptions.contains(name))
      out.faults.push_back(fmt::format("{}: {}: {}", name, o.kind == Outcome::kWrong ? "wrong" : "refused", o.why));
  }
  return out;
}

}  // namespace hone
