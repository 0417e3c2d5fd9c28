// Dimensions whose extent each call says: caches of keys and values that grow by one row a token, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// An input and an output with one row more: output = concat(input, new row). Both lie in one buffer of the caller,
/// which has room for `Growth::most` + 1 rows.
struct Cache {
  size_t input, output;  ///< numbers of the graph's ports
  size_t axis;           ///< of the rows; in front of an axis that is one row
};

/// The graph is that of the most rows: all of its extents are numbers. Its last input, one s64, is no tensor of the
/// caller but the number of rows that are there; only the readers of caches depend on it.
struct Growth {
  std::string symbol;         ///< as the model calls the number of rows: `past`
  int64_t most = 0;           ///< rows that are there, at the most, before a call adds one
  std::vector<Cache> caches;  ///< by input, ascending; at least one
};

/// The value that is the number of rows.
ValueId count_of(const Graph& g, const Growth& growth);
/// The caller's inputs: all but the number of rows, which is the last one. `growth` may be null.
size_t caller_inputs(const Graph& g, const Growth* growth);

/// The cache whose concatenation the node is; nothing for other nodes, and where `growth` is null.
std::optional<size_t> cache_made_by(const Graph& g, const Growth* growth, const Node& n);
/// The cache that the value is, with the row that is new; nothing for other values, views among them.
std::optional<size_t> cache_that_is(const Graph& g, const Growth& growth, ValueId v);

/// Throws UserError, which names the node, when something depends on the number of rows in a way that a call cannot
/// follow: when `shorter`, the same graph for one row less behind the same passes, differs in more than the number of
/// rows that readers of caches receive.
void check_growth(const Graph& g, const Graph& shorter, const Growth& growth);

}  // namespace hone
