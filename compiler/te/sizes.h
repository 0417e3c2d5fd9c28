// Named sizes: extents that a definition leaves open, until it is built for some numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/te/tensor.h"

namespace hone {

/// The size of that name: the same variable each time, an index in expressions. UserError for a name that is no word.
Var size_named(const std::string& name);
/// Whether a variable is one of these.
bool is_size(const VarNode* v);

/// The names of the sizes that these tensors and those they read use, each once, in order of first use.
std::vector<std::string> sizes_of(const std::vector<Tensor>& tensors);

/// The tensors, and those they read, with numbers for the sizes; shared ones stay shared, and what uses none stays the
/// same. UserError, one line, where a size has no number, a number is of no size, or an extent would be below 1.
std::vector<Tensor> bind_sizes(const std::vector<Tensor>& tensors, const std::map<std::string, int64_t>& numbers);

}  // namespace hone
