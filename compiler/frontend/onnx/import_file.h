// A model's file as a graph, several times: with the constants that its nodes read, and with some of these read from
// tables of the number of rows (graph/growth.h).
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>

#include "compiler/frontend/onnx/file/model_file.h"
#include "compiler/frontend/onnx/import.h"

namespace hone::onnx {

/// An input of a node; nodes by their number in the order in which they are read, bodies and functions included.
struct OperandIndex {
  size_t node, input;
  auto operator<=>(const OperandIndex&) const = default;
};

/// An operand whose value is known while the model is read.
struct KnownOperand {
  const Node* node;
  TensorData data;
};

/// A constant for each number of rows.
struct CountedTable {
  TensorData rows;     ///< a row for each
  bool tells_extents;  ///< whole numbers that grow by the same with each row: extents and bounds may be made of them
};

struct CountedReads {
  /// Filled where it is not null: constants at the positions `wanted` or, where that is null, all that nodes read which
  /// are not computed while the model is read. The graph is of no use then: large constants stay uncomputed.
  std::map<OperandIndex, KnownOperand>* constants = nullptr;
  const std::set<OperandIndex>* wanted = nullptr;
  /// A row for each number of rows, of constants that depend on it; null: there is no such number. It is the graph's
  /// last input, `symbol`.
  const std::map<OperandIndex, CountedTable>* tables = nullptr;
  std::string symbol = {};  ///< the dimension of --cache; empty: there is none
};

/// import_onnx() of a file that was read.
ImportedModel import_file(ModelFile& file, const std::string& path, const OperatorTable& operators,
                          const ImportOptions& options, const CountedReads& counted = {});

}  // namespace hone::onnx
