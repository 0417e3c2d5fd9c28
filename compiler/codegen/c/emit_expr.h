// Expressions of legalized loop form as C text. Private to codegen/c.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/codegen/c/helpers.h"
#include "compiler/codegen/text/names.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// Lines of a function's body.
class Lines {
 public:
  void add(const std::string& line) { text_ += std::string(static_cast<size_t>(2 * depth_), ' ') + line + "\n"; }
  void open(const std::string& line) {
    add(line);
    ++depth_;
  }
  void close() {
    --depth_;
    add("}");
  }
  /// Holds back all text that is added from here on, until release() returns it.
  void hold() { held_.push_back(std::exchange(text_, "")); }
  std::string release() {
    std::string out = std::exchange(text_, std::move(held_.back()));
    held_.pop_back();
    return out;
  }
  void add_text(const std::string& text) { text_ += text; }
  /// A line of the preprocessor.
  void directive(const std::string& line) { text_ += line + "\n"; }
  int& depth() { return depth_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::vector<std::string> held_;
  int depth_ = 1;
};

/// Writes the declarations that a statement needs into `lines`: values that are used twice, masks, and loads that only
/// some lanes or one side of a selection may make.
class CExprWriter {
 public:
  CExprWriter(Helpers& helpers, Names& names, Lines& lines, bool assume_finite)
      : helpers_(helpers), names_(names), lines_(lines), assume_finite_(assume_finite) {}

  std::string name_of(const VarNode* v) { return legal(v, v->name); }
  std::string name_of(const BufferNode* b) { return legal(b, b->name); }
  /// Facts that hold where the next text will stand; the caller maintains it.
  Facts& facts() { return facts_; }

  /// Begins a statement: counts the expressions that it uses twice.
  void begin(const std::vector<Expr>& used);
  std::string text(const Expr& e);
  /// The value of `store` as an assignment to memory.
  void store(const Store* op);
  void prefetch(const Prefetch* op);
  /// A pointer to an element.
  std::string pointer(const BufferNode* buffer, const Expr& index);

 private:
  /// The mask of the lanes that are wanted; empty: all are.
  struct Active {
    std::string lanes;
    DType type = i32;  ///< of the mask
  };

  std::string legal(const void* node, const std::string& name);
  std::string compute(const Expr& e);
  std::string cast_text(const Cast* op);
  std::string binary(const Binary* op);
  std::string divided(const Binary* op);
  std::string arithmetic(const Binary* op, const char* symbol);
  std::string compare(const Binary* op);
  std::string selected(const Select* op);
  std::string loaded(const Load* op);
  std::string called(const Call* op);
  std::string words(const Call* op, size_t first);
  std::string dot_added(const Expr& e, const Expr* sum);
  std::string mask_of(const std::string& comparison, DType compared);
  /// An element as an lvalue.
  std::string element(const BufferNode* buffer, const Expr& index);
  std::string in_memory(const Expr& value, DType t);
  /// Declares a variable of that value, and gives its name.
  std::string kept(DType t, const std::string& value);
  std::string temporary() { return names_.fresh(fmt::format("t{}", temporaries_++)); }
  bool may_wrap(const Binary* op) const;

  Helpers& helpers_;
  Names& names_;
  Lines& lines_;
  const bool assume_finite_;  // Module::assume_finite
  Facts facts_;
  Active active_;
  std::unordered_map<const ExprNode*, int> uses_;
  int temporaries_ = 0;
  std::vector<std::pair<const ExprNode*, std::string>> known_;  ///< values that have names here
};

}  // namespace hone
