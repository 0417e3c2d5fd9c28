// The definitions of a user's operators for the nodes of models: of files, and of who answers for a node while it is
// read. A definition is for one operator, its attributes and the types of its inputs.
//
// A file is text, and nothing in it is executed:
//
//   hone operators 1
//   {"operator":"my.domain::RotaryPair","attributes":{"theta":10000.0},"inputs":[["f32",[1,8,64]],["f32",[8,32]]],
//    "hash":"0123…","definition":{"inputs":[…],"stages":[…],"outputs":[…]}}                          (in one line)
//
// `hash` is the key hash of the definition's text (ops/definition_text.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/infer.h"

namespace hone {

/// A node, as an operator of a user's sees it.
struct OperatorCall {
  std::string op;  ///< `my.domain::RotaryPair`; without a domain: `RotaryPair`
  std::string node;
  Json attributes = Json::object();               ///< by name: whole numbers, floats, texts, and lists of these
  std::vector<std::optional<TensorType>> inputs;  ///< none where the node leaves one out; those of rank 0 as [1]
};

/// `my.domain::RotaryPair`, or `RotaryPair` where the domain is empty.
std::string operator_name(std::string_view domain, std::string_view type);

class UserOperators {
 public:
  /// Answers a question (hone_compiler.h: HoneCall::define) by a text. Throws what ends the reading of the model.
  using Ask = std::function<std::string(const std::string& question)>;

  /// Adds a file's. UserError, one line with the path, for what is no such file; for two definitions of one call.
  void read(const std::string& path);
  /// Answers for calls that no file has. Asks at once which operators there are. UserError for an answer that is none.
  void answer_by(Ask ask);
  /// The files, each once, in which those are written, as far as the answer says so.
  const std::vector<std::string>& answered_files() const { return answered_files_; }

  /// Puts `op` in the place of nodes of the model's own: those of this name, in which `*` stands for any letters, or,
  /// where it holds `::`, all of this operator (`ai.onnx::Softmax`).
  void replace(std::string pattern, std::string op);
  /// The operator that stands in the place of a node; empty: none. `type`: as operator_name().
  std::string replacement(std::string_view node, std::string_view type);

  /// Whether definitions of it can be had, for some inputs at least.
  bool has(std::string_view op) const { return names_.contains(op); }
  const std::set<std::string, std::less<>>& names() const { return names_; }
  /// The definition for a call. UserError, one line, where there is none for these attributes and inputs (it says for
  /// which there are), and for one whose inputs are others than the call's or that check_definition() refuses.
  std::shared_ptr<const Definition> definition(const OperatorCall& call);

  /// Calls `f` with each definition that is known by now.
  template <class F>
  void each(const F& f) const {
    for (const auto& [key, instance] : by_key_) f(*instance.definition);
  }
  /// Those that definition() was asked for, as a file.
  std::string used_text() const;
  /// How many operations are left for comparing definitions with what stands for them, or what they stand for: some
  /// seconds of the interpreter.
  double compared_work = 0x1p23;
  bool is_checked = false;  ///< those that --check takes, which are many more

  /// Names that definition() was never asked for, and patterns of replace() that no node has.
  std::vector<std::string> unused() const, unused_patterns() const;

 private:
  struct Replacement {
    std::string pattern, op;
    bool is_used = false;
  };
  struct Instance {
    std::shared_ptr<const Definition> definition;
    std::string line;  ///< in a file
    bool is_used = false;
  };
  void add_line(const std::string& line);
  void add(const OperatorCall& call, const std::string& text, const std::string& hash);
  std::string which_there_are(const OperatorCall& call) const;

  std::mutex asking_;
  std::map<std::string, Instance> by_key_;  ///< by the call without its node, as a text
  std::set<std::string, std::less<>> names_, answered_, used_;
  std::vector<std::string> files_, answered_files_;
  std::vector<Replacement> replacements_;
  Ask ask_;
};

}  // namespace hone
