// Functions that carry a tensor from its logical order into a layout and back: prepacks, and the plain entry of an
// artifact.
#pragma once

#include <functional>

#include "compiler/ir/module.h"

namespace hone {

/// for p in physical: packed[p] = p is padding ? 0 : logical[index of p]. Parameters: (logical, packed), flat.
Function pack_function(const Param& param);

/// for i in logical: logical[i] = packed[position of i]. Parameters: (packed, logical), flat.
Function unpack_function(const Param& param);

/// The statement of pack_function over given flat buffers; unpack_statement is its inverse and skips padding.
Stmt pack_statement(const Param& param, const Buffer& logical, const Buffer& packed);
Stmt unpack_statement(const Param& param, const Buffer& packed, const Buffer& logical);

/// `m` for callers that know no layouts: every parameter logical and row-major; packs inputs and constants into its
/// workspace, runs m's kernels, unpacks the outputs. Its workspace holds m's and the packed tensors. Parameters i with
/// `is_packed[i]` stay as they are: the caller packs them, with the prepack where they have one.
/// `bind`: called with each statement that packs or unpacks; its result takes the statement's place.
Module plain_module(const Module& m, const std::vector<bool>& is_packed = {},
                    const std::function<Stmt(const Stmt&)>& bind = {});

}  // namespace hone
