// Constants of C types in an LLVM module, for an artifact's hosts. Private to codegen/llvm.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "compiler/ir/dlpack_type.h"

namespace hone {

/// Builds constants in `module`. Structs are anonymous LLVM structs, whose members lie as C's do where each member is
/// written down in order.
class CData {
 public:
  explicit CData(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  llvm::Constant* number(int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); }
  llvm::Constant* word(int64_t n) { return b_.getInt32(static_cast<uint32_t>(n)); }
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  /// The members of a DLDataType.
  std::vector<llvm::Constant*> type(DType t) {
    const DLDataType type = dlpack_type(t);
    return {b_.getInt8(type.code), b_.getInt8(type.bits), b_.getInt16(type.lanes)};
  }

  /// A DLDataType in memory, read as one little-endian word.
  llvm::Constant* packed_type(DType t) {
    const DLDataType type = dlpack_type(t);
    return word(type.code | type.bits << 8 | int64_t{type.lanes} << 16);
  }

  /// The address of `value`.
  llvm::GlobalVariable* stored(llvm::Constant* value) {
    auto* variable =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
    variable->setAlignment(llvm::Align(16));
    return variable;
  }
  /// The address of `s` with a zero at its end.
  llvm::Constant* text(const std::string& s) {
    return stored(llvm::ConstantDataArray::getString(module_.getContext(), s));
  }
  /// The address of the first; null when there is none. All are of one type.
  llvm::Constant* array(const std::vector<llvm::Constant*>& values) {
    if (values.empty()) return null();
    return stored(llvm::ConstantArray::get(llvm::ArrayType::get(values.front()->getType(), values.size()), values));
  }
  /// The address of element `i` of an array().
  llvm::Constant* element(llvm::Constant* array, size_t i) {
    auto* const all = llvm::cast<llvm::GlobalVariable>(array);
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        all->getValueType(), all, llvm::ArrayRef<llvm::Constant*>{word(0), word(static_cast<int64_t>(i))});
  }
  llvm::Constant* structure(const std::vector<llvm::Constant*>& members) {
    return llvm::ConstantStruct::getAnon(module_.getContext(), members);
  }
  /// `value` under a name that other objects see.
  llvm::GlobalVariable* exported(llvm::Constant* value, const std::string& name) {
    auto* variable =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, name);
    variable->setAlignment(llvm::Align(16));
    return variable;
  }

  /// HoneEntry.
  llvm::FunctionType* entry_type() {
    return llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy()},
                                   false);
  }
  /// The entry of that name, of this or another object; null when `name` is empty.
  llvm::Constant* entry(const std::string& name) {
    if (name.empty()) return null();
    return llvm::cast<llvm::Constant>(module_.getOrInsertFunction(name, entry_type()).getCallee());
  }
  /// A variable of another object.
  llvm::Constant* imported(const std::string& name) { return module_.getOrInsertGlobal(name, b_.getInt8Ty()); }

 private:
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
};

}  // namespace hone
