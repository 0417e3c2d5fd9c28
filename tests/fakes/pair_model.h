// An ONNX model with several inputs of several types and ranks, and several outputs, one of which is an input as it is.
#pragma once

#include <fstream>

#include "tests/fakes/test_model.h"

namespace hone {

/// product = left right^T, sum = product + bytes, same = bytes.
class PairModel {
 public:
  static constexpr int64_t kM = 6, kN = 5, kK = 4;

  PairModel() {
    constexpr int kU8 = 2;
    model_.input("left", {kM, kK}).input("right", {kN, kK}).input("bytes", {kM, kN}, kU8);
    model_.node("Transpose", {"right"}, {"turned"}).node("MatMul", {"left", "turned"}, {"product"});
    model_.node("Cast", {"bytes"}, {"floats"}).last->add_attribute()->set_name("to");
    model_.last->mutable_attribute(0)->set_i(kFloat);
    model_.node("Add", {"product", "floats"}, {"sum"}).node("Identity", {"bytes"}, {"same"});
    model_.output("product").output("sum").output("same");
  }

  void write(const std::string& path) const {
    std::ofstream(path, std::ios::binary) << model_.model.SerializeAsString();
  }

 private:
  TestModel model_;
};

}  // namespace hone
