// A model's state from one call to the next: its variables, and its layers' states. A graph keeps nothing: a
// caller passes a state as an input, and finds what it has become in an output, `NAME_next`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/frontend/tflite/file/model_file.h"

namespace hone::tflite {

/// The variable's name in the operator's options. UserError where there is none.
std::string variable_name(const file::Operator& node);

/// Names of variables that a model may assign to while it runs: those that an operator outside of graphs that run once
/// may do more with than read them.
std::set<std::string> assigned_variables(ModelFile& file);

class States {
 public:
  /// `assigned`: variables that are states; the others stay what they are at first. `ports`: names of inputs and
  /// outputs that are taken.
  States(std::set<std::string> assigned, std::set<std::string> ports)
      : assigned_(std::move(assigned)), ports_(std::move(ports)) {}

  /// A variable's number.
  size_t variable(const std::string& name);
  /// Its value by now. UserError for one that has none, and for a number that is none.
  frontend::Operand read(frontend::Lowering& l, int64_t variable);
  /// UserError where a state gets another type, and where may_assign is false.
  void assign(frontend::Lowering& l, int64_t variable, const frontend::Operand& value);
  /// A layer's state of this type, and what it becomes.
  frontend::Operand of_layer(frontend::Lowering& l, const std::string& name, const TensorType& type);
  void set_of_layer(frontend::Lowering& l, const std::string& name, const frontend::Operand& value);

  /// Adds the outputs; the inputs are there when they are read. Notes say which they are.
  void finish(frontend::Lowering& l, std::vector<std::string>* notes);

  bool is_initializing = false;  ///< assignments say how variables begin
  bool may_assign = true;        ///< false where only a call knows whether it comes to that

 private:
  struct State {
    std::string name;
    bool is_state = false;
    std::optional<frontend::Operand> value = std::nullopt, input = std::nullopt;
    std::optional<TensorType> type = std::nullopt;
    bool begins_with_zeros = true;
  };
  State& state(int64_t variable);
  State& of_name(const std::string& name, bool is_state);
  void make_input(frontend::Lowering& l, State* s);
  std::string free_name(const std::string& wanted);

  std::set<std::string> assigned_, ports_;
  std::vector<State> states_;
};

}  // namespace hone::tflite
