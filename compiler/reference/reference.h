// The oracle of every kernel: the right outputs of a computation, in f64 (or s64) and straight from its definition, and
// how far a right kernel may be from them.
#pragma once

#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"
#include "compiler/ops/definition.h"

namespace hone {

/// A Module with one kernel, parallel on `workers`. Parameters: for each output of `d`, `samples` (s64 [S], flat
/// indices into it, S = sample_counts of that output); the definition's inputs in their order (logical, row-major);
/// and for each output three tensors of S elements:
///   `value`      f64, or s64 for integers
///   `tolerance`  f64: how far the element may be from `value`, for every order of summation; 0: exact
///   `typical`    f64: the same with a sum's roundings adding like a random walk. The root of the squares of all errors
///                of the output may be that of these (see Expected).
/// Stages whose elements are read often are computed once, in workspace. A kernel may always make zeros of results that
/// are denormal; with Denormals::kZero the bounds let it make zeros of inputs and constants that are, too.
Module reference_module(const Definition& d, const std::vector<int64_t>& sample_counts, int workers,
                        Denormals denormals = Denormals::kKeep);

/// Flat indices of the elements of output number `output` to compare. Empty = all, when computing all of them takes at
/// most `budget` multiply-adds and they are at most 2^23; else at least 16,384: the corners and edges of every axis,
/// the last elements of every axis (tails), and a seeded random draw.
std::vector<int64_t> reference_samples(const Definition& d, size_t output, uint64_t seed, double budget = 1e9);

/// How many elements of each output are compared: of the samples, or where these are empty all.
std::vector<int64_t> sample_counts(const Definition& d, const std::vector<std::vector<int64_t>>& samples);

}  // namespace hone
