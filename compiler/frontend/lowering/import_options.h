// Options of a caller for reading a model of any format.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/tensor_data.h"

namespace hone {

class UserOperators;

struct ImportOptions {
  /// Numbers for named dimensions of the inputs (`batch`), and values for inputs of integers (`sr`): all elements of
  /// such an input are the same then (a mask of ones).
  std::map<std::string, int64_t> bind = {};
  /// Named dimensions that are sums of others and numbers: `total` is `past+1`. A dimension whose name is such a sum
  /// need not be here.
  std::map<std::string, std::string> sums = {};
  /// Shapes of inputs, by their names.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  /// Inputs whose elements are known, by their names: they become constants, and are no inputs of the graph. Their
  /// shapes serve as those of `shapes`.
  std::map<std::string, TensorData> values = {};
  /// A model for one image becomes one for so many (graph/batch/batch.h), 1 to kMostImages.
  int64_t batch = 1;
  /// Operators of the user's; null: there are none.
  std::shared_ptr<UserOperators> users = nullptr;
  /// How many operations computing constants may take: see GraphBuilder.
  double most_work = 1 << 30;
};

/// The dimension that counts the rows of caches, and the most of them before a call adds one.
struct CacheOption {
  std::string symbol;
  int64_t most = 0;
};

}  // namespace hone
