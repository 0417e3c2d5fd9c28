#include "tuner/api/python/te/checked_schedule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/arith/verify.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/te/sizes.h"
#include "tuner/api/python/te/references.h"

namespace hone::python {
namespace {

namespace py = pybind11;

// The placeholders that an output depends on, in the order in which they are read first.
void gather_placeholders(const Ref<const TensorNode>& t, std::vector<const TensorNode*>* seen,
                         std::vector<Tensor>* found) {
  if (std::find(seen->begin(), seen->end(), t.get()) != seen->end()) return;
  seen->push_back(t.get());
  if (t->is_placeholder()) found->push_back(Tensor(t));
  for (const auto& input : t->inputs) gather_placeholders(input, seen, found);
}

// That each element which the definition reads is one of its tensor's. Later, when indices are flat, an index beyond
// one dimension is one into the next row.
void check_elements(const Schedule& naive) {
  struct Vectors : Visitor {  // reads of tensors of one dimension, which stay what they are
    std::set<const void*> reads;
    void visit(const Load* l) override {
      if (l->indices.size() == 1) reads.insert(l);
      Visitor::visit(l);
    }
  };
  const Function program = lower_blocks(naive, Allocation::kWhole);
  Vectors vectors;
  vectors(program.body);
  for (const Unproved& u : verify(program))
    HONE_USER_CHECK(vectors.reads.contains(u.node))
        << u.access << " is not known to lie in its tensor: bound its indices, minimum(maximum(i, 0), extent - 1)";
}

std::map<std::string, int64_t> numbers_of(const py::object& sizes) {
  std::map<std::string, int64_t> out;
  if (sizes.is_none()) return out;
  if (!py::isinstance<py::dict>(sizes))
    throw py::type_error("Schedule: sizes must be a dict of names and numbers, not " + type_name(sizes));
  for (const auto& [name, number] : sizes.cast<py::dict>()) {
    const bool is_number = py::hasattr(number, "__index__") && !py::isinstance<py::bool_>(number);
    if (!py::isinstance<py::str>(name) || !is_number)
      throw py::type_error("Schedule: sizes are names with whole numbers, not " + py::repr(name).cast<std::string>() +
                           " with " + type_name(number));
    try {
      out[name.cast<std::string>()] = py::int_(number.attr("__index__")()).cast<int64_t>();
    } catch (const py::cast_error&) {
      throw py::value_error("Schedule: size '" + name.cast<std::string>() + "' is too large");
    }
  }
  return out;
}

// Gives the tensors' named sizes their numbers.
void give_numbers(std::vector<PyTensor>* outputs, std::vector<PyTensor>* inputs,
                  const std::map<std::string, int64_t>& sizes) {
  std::vector<Tensor> all;
  for (const auto* tensors : {outputs, inputs})
    for (const PyTensor& t : *tensors) all.push_back(t.tensor);
  const std::vector<Tensor> bound = bind_sizes(all, sizes);
  size_t next = 0;
  for (auto* tensors : {outputs, inputs})
    for (PyTensor& t : *tensors) t.tensor = bound[next++];
}

PySchedule schedule_of(const std::vector<PyTensor>& outputs, const std::vector<PyTensor>& given) {
  if (outputs.empty()) throw py::value_error("a schedule of no output");
  std::vector<Tensor> out, found;
  std::vector<const TensorNode*> seen;
  for (const PyTensor& t : outputs) {
    if (t.tensor->is_placeholder()) throw py::value_error("the output '" + t.tensor->name + "' is not computed");
    out.push_back(t.tensor);
    gather_placeholders(t.tensor.node(), &seen, &found);
  }
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  for (const PyTensor& t : given)
    inputs.emplace_back(t.tensor, t.is_constant ? ParamRole::kConstant : ParamRole::kInput);
  if (given.empty())
    for (const Tensor& t : found) inputs.emplace_back(t, ParamRole::kInput);
  auto schedule = std::make_shared<Schedule>(inputs, out);
  check_elements(*schedule);
  return {std::move(schedule), std::make_shared<const Definition>(Definition{std::move(inputs), std::move(out)})};
}

}  // namespace

PySchedule checked_schedule(const py::object& outputs, const py::object& inputs, const py::object& sizes) {
  const auto tensors_of = [](const char* name, const py::object& given) {
    if (py::isinstance<PyTensor>(given)) return std::vector<PyTensor>{given.cast<PyTensor>()};
    std::vector<PyTensor> tensors;
    const std::string wrong = std::string("Schedule: ") + name + " must be a tensor or a list of tensors, not ";
    if (!py::isinstance<py::iterable>(given) || py::isinstance<py::str>(given))
      throw py::type_error(wrong + type_name(given));
    for (const py::handle t : given) {
      if (!py::isinstance<PyTensor>(t)) throw py::type_error(wrong + "one with " + type_name(t));
      tensors.push_back(t.cast<PyTensor>());
    }
    return tensors;
  };
  std::vector<PyTensor> out = tensors_of("outputs", outputs);
  std::vector<PyTensor> in = inputs.is_none() ? std::vector<PyTensor>{} : tensors_of("inputs", inputs);
  give_numbers(&out, &in, numbers_of(sizes));
  return schedule_of(out, in);
}

}  // namespace hone::python
