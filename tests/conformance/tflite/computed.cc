#include "tests/conformance/tflite/computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/check.h"
#include "compiler/frontend/tflite/import.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/extents.h"
#include "compiler/ir/extents.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using Tensors = std::vector<TensorData>;

int8_t type_of_element(DType t) {
  if (t.is_bool()) return kTfBool;
  if (t == f32) return kTfFloat;
  if (t == f16) return kTfHalf;
  if (t == i32) return kTfInt;
  if (t == i64) return kTfLong;
  if (t == i16) return kTfShort;
  return t == i8 ? kTfSigned : kTfByte;
}

AnswerTensor answer_of(const TensorData& data, const TensorType& declared) {
  AnswerTensor out{type_of_element(declared.dtype), {}, std::string(data.bytes().begin(), data.bytes().end())};
  // Behind the extent that a call found, where there is one.
  Extents shape = data.type().shape;
  if (declared.shape.empty()) shape.clear();
  out.shape.assign(shape.begin(), shape.end());
  return out;
}

// Which output of the graph becomes which input of the next call: `NAME_next`, `NAME`.
std::vector<std::pair<size_t, size_t>> states_of(const Graph& g) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t o = 0; o < g.outputs.size(); ++o)
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (g.outputs[o].name == g.inputs[i].name + "_next") out.emplace_back(o, i);
  return out;
}

TensorData input_of(const Port& port, const std::string& bytes) { return {port.type, bytes}; }

}  // namespace

std::vector<ComputedCase> called(const ReadCases& all, const RunCases& run) {
  const auto& [cases, graphs, refusals] = all;
  std::vector<ComputedCase> out(cases.size());
  std::vector<Tensors> inputs(cases.size());
  size_t most = 0;
  for (size_t c = 0; c < cases.size(); ++c) {
    most = std::max(most, cases[c]->calls.size());
    for (const Port& port : graphs[c].inputs)
      inputs[c].push_back(input_of(port, std::string(static_cast<size_t>(bytes_of(port.type)), '\0')));
  }
  for (size_t call = 0; call < most; ++call) {
    for (size_t c = 0; c < cases.size(); ++c) {
      if (call >= cases[c]->calls.size()) continue;
      const auto& given = cases[c]->calls[call];
      for (size_t i = 0; i < given.size(); ++i) inputs[c][i] = input_of(graphs[c].inputs[i], given[i]);
    }
    const std::vector<Tensors> outputs = run(inputs);
    for (size_t c = 0; c < cases.size(); ++c) {
      if (call >= cases[c]->calls.size()) continue;
      const auto states = states_of(graphs[c]);
      for (const auto& [o, i] : states) inputs[c][i] = outputs[c][o];
      const Tensors cut = cut_to_extents(graphs[c], outputs[c]);
      const size_t count = cut.size() - states.size();  // those of states come last
      auto& answers = out[c].calls.emplace_back();
      for (size_t o = 0; o < count; ++o) answers.push_back(answer_of(cut[o], graphs[c].outputs[o].type));
    }
  }
  return out;
}

ReadCases read_cases(const TfliteCases& all) {
  ReadCases out;
  const char* only = std::getenv("HONE_TFLITE_CASES");
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/m.tflite";
  for (const TfliteCase& c : all) {
    if (only && c.name.find(only) == std::string::npos) continue;
    std::ofstream(path, std::ios::binary) << c.model;
    try {
      out.graphs.push_back(import_tflite(path, standard_operators(), {}).graph);
      out.cases.push_back(&c);
    } catch (const UserError& e) {
      out.refusals.push_back(c.name + ": " + e.what());
    }
  }
  return out;
}

ReadCases every(size_t n, const ReadCases& all) {
  ReadCases out;
  std::map<std::string, size_t> counts;
  for (size_t c = 0; c < all.cases.size(); ++c) {
    const std::string& name = all.cases[c]->name;
    if (counts[name.substr(0, name.find(' '))]++ % n != 0) continue;
    out.cases.push_back(all.cases[c]);
    out.graphs.push_back(all.graphs[c]);
  }
  return out;
}

std::vector<std::string> faults_of(const ReadCases& read, const std::vector<ComputedCase>& computed) {
  std::map<std::string, TfliteAnswer> answers;
  for (TfliteAnswer& a : kept_answers()) answers.emplace(a.name, std::move(a));
  std::vector<std::string> faults;
  for (size_t c = 0; c < read.cases.size(); ++c) {
    const TfliteCase& one = *read.cases[c];
    const auto fault = [&](const std::string& what) { faults.push_back(one.name + ": " + what); };
    const auto found = answers.find(one.name);
    const auto& got = computed[c].calls;
    if (!computed[c].refusal.empty()) {
      fault(computed[c].refusal);
      continue;
    }
    if (found == answers.end() || found->second.calls.size() != got.size()) {
      fault("no answers are kept of its calls");
      continue;
    }
    for (size_t call = 0; call < got.size(); ++call) {
      const auto& wanted = found->second.calls[call];
      if (got[call].size() != wanted.size()) {
        fault(fmt::format("{} outputs instead of {}", got[call].size(), wanted.size()));
        continue;
      }
      for (size_t o = 0; o < wanted.size(); ++o)
        if (const std::string d = difference_of(got[call][o], wanted[o], one.bound); !d.empty())
          fault(fmt::format("call {}, output {}: {}", call, o, d));
    }
  }
  return faults;
}

Graph joined(const std::vector<Graph>& graphs) {
  Graph all;
  all.name = "cases";
  for (size_t n = 0; n < graphs.size(); ++n) {
    const Graph& g = graphs[n];
    const auto first = static_cast<ValueId>(all.values.size());
    const size_t first_output = all.outputs.size();
    const std::string prefix = fmt::format("{}/", n);
    const auto moved = [&](ValueId id) { return id == kNoValue ? kNoValue : id + first; };
    for (Value v : g.values) {
      v.name = prefix + v.name;
      all.values.push_back(std::move(v));
    }
    for (Node node : g.nodes) {
      for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId& id : *ids) id = moved(id);
      all.nodes.push_back(std::move(node));
    }
    for (const auto& [from, to] : {std::pair{&g.inputs, &all.inputs}, {&g.outputs, &all.outputs}})
      for (Port port : *from) {
        port.name = prefix + port.name;
        port.value = moved(port.value);
        if (port.extent) port.extent->count += first_output;
        to->push_back(std::move(port));
      }
  }
  verify(all);
  return all;
}

std::vector<ComputedCase> interpreted(const ReadCases& all) {
  std::vector<ComputedCase> out;
  for (size_t c = 0; c < all.cases.size(); ++c) {
    const Graph& g = all.graphs[c];
    try {
      out.push_back(called({{all.cases[c]}, {g}, {}}, [&](const std::vector<Tensors>& inputs) {
        return std::vector<Tensors>{interpret(g, inputs[0], &evaluate)};
      })[0]);
    } catch (const std::exception& e) {
      out.push_back({e.what(), {}});
    }
  }
  return out;
}

}  // namespace hone
