#include "compiler/ops/operator.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/near_name.h"

namespace hone {

void OperatorTable::add(Operator row) {
  HONE_ICHECK(!find(row.name)) << "operator " << row.name << " is there already";
  rows_.push_back(std::make_shared<const Operator>(std::move(row)));
}

std::shared_ptr<const Operator> OperatorTable::find(std::string_view name) const {
  const auto it = std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row->name == name; });
  return it == rows_.end() ? nullptr : *it;
}

std::string OperatorTable::names() const {
  return absl::StrJoin(rows_, ", ", [](std::string* out, const auto& row) { *out += row->name; });
}

std::string OperatorTable::instead_of(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& row : rows_) known.push_back(row->name);
  const std::string meant = did_you_mean(name, known);
  return (meant.empty() ? ";" : meant) + " known: " + names();
}

OperatorTable standard_operators(const FunctionTable& functions) {
  OperatorTable table;
  table.add(conv2d_operator(functions));
  table.add(depthwise_conv2d_operator(functions));
  table.add(dense_operator(functions));
  table.add(dense_nbits_operator(functions));
  table.add(batch_matmul_operator(functions));
  table.add(max_pool2d_operator(functions));
  table.add(avg_pool2d_operator(functions));
  table.add(elementwise_operator(functions));
  table.add(reduce_operator(functions));
  table.add(transpose_operator());
  table.add(reshape_operator());
  table.add(broadcast_operator());
  table.add(concat_operator());
  table.add(slice_operator());
  table.add(pad_operator());
  table.add(gather_operator());
  table.add(gather_elements_operator());
  table.add(lookup_operator());
  table.add(gather_nd_operator());
  table.add(depth_to_space_operator());
  table.add(space_to_depth_operator());
  table.add(resize_operator());
  table.add(softmax_operator(functions));
  table.add(log_softmax_operator(functions));
  table.add(layer_norm_operator(functions));
  table.add(rms_norm_operator(functions));
  table.add(l2_norm_operator(functions));
  table.add(argmax_operator(functions));
  table.add(argmin_operator(functions));
  table.add(top_k_operator());
  table.add(nonzero_operator());
  table.add(non_max_suppression_operator());
  table.add(unique_operator());
  table.add(require_operator());
  table.add(scatter_operator());
  table.add(scatter_rows_operator());
  table.add(attention_operator(functions));
  table.add(cached_attention_operator(functions));
  table.add(lstm_operator(functions));
  table.add(gru_operator(functions));
  table.add(rnn_operator(functions));
  return table;
}

}  // namespace hone
