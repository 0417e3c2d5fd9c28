// Workloads: which operator on which shapes. The canonical text is a database key.
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/ops/attributes/attribute.h"

namespace hone {

struct Operator;
class OperatorTable;

/// An operator with all its attributes. Equal workloads print equally, and parse(operators, to_string(w)) == w.
struct Workload {
  std::shared_ptr<const Operator> op;
  Attributes attributes;
  std::any shape;  ///< the result of op->shape for the attributes

  /// The operator's name.
  const std::string& operator_name() const;
  /// The shape as the operator's own type. InternalError when it is of another.
  template <class T>
  const T& shape_as() const {
    const T* own = std::any_cast<T>(&shape);
    HONE_ICHECK(own) << operator_name() << " has another kind of shape";
    return *own;
  }
  friend bool operator==(const Workload& a, const Workload& b) {
    return a.operator_name() == b.operator_name() && a.attributes == b.attributes;
  }

  /// Reads a canonical or abbreviated text, `task(attribute=value,…)`: missing attributes take the operator's defaults,
  /// grouped convolutions of groups = ci = co become depthwise_conv2d, f32 stands for f32:f32:f32:f32. UserError, one
  /// line, for an unknown task (lists the known ones), an unknown or repeated attribute, a value that is no number,
  /// zero, negative or too large, a kernel larger than the padded input, groups that do not divide the channels, an
  /// unknown layout, dtype, function or epilogue, axes or operands that do not fit the shape, `?` ("not supported
  /// yet"), op(...) whose definition `operators` does not know (user_definitions.h), and parts of the keys' grammar
  /// (docs/keys.md) for later versions: ranges, math other than f32.
  static Workload parse(const OperatorTable& operators, std::string_view text);
  /// The same from --task and --args.
  static Workload parse(const OperatorTable& operators, std::string_view task, std::string_view args);
  /// A canonical text of that operator. UserError also for one of another.
  static Workload parse_of(std::shared_ptr<const Operator> op, std::string_view text);
  /// `w` with other values of some attributes, given as texts; names that the operator does not have are ignored.
  /// UserError as parse(); the operator stays.
  static Workload changed(const Workload& w, std::span<const std::pair<std::string, std::string>> values);
};

/// The canonical text: `conv2d(n=1,…)`.
std::string to_string(const Workload& w);
/// The text between its parentheses.
std::string args_of(const Workload& w);

/// Operations of the direct algorithm, for GFLOPS: a multiply-add counts two, everything else (a comparison, exp) one.
/// Poolings and reductions count one for each element that enters.
double flops(const Workload& w);

}  // namespace hone
