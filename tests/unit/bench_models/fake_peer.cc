// Stands for ONNX Runtime: y = max(x, 0) of f32, with the faults of a peer, by the name of the model's file:
// refuses.onnx, dies_at_start.onnx, dies.onnx (in its second turn), hangs.onnx, babbles.onnx, wrong.onnx,
// refuses_layers.onnx; free.onnx wants its free dimension `batch` fixed to 2, and an input `mode` of 7. An output as
// long as a run finds out has the positive elements of x, all but the last of them in fewer.onnx.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/child_process.h"
#include "tests/bench/models/line_channel.h"
#include "tests/bench/models/side_loop.h"

namespace hone::bench {
namespace {

class Relu final : public Engine {
 public:
  Relu(const SideCase& c, const Buffers& b, std::string name) : c_(c), b_(b), name_(std::move(name)) {}

  // Two nodes of one operator, of 1 and 2 ms.
  StatusOr<std::vector<LayerTime>> layers(const TurnRules&) override {
    if (name_ == "refuses_layers") return absl::InternalError("no profile can be written");
    return std::vector<LayerTime>{{"relu_1", "Relu", 1}, {"relu_2", "Relu", 2}};
  }

  Status run() override {
    ++runs_;
    // The first run, then a turn of one that is not counted and one that is: the fourth is in the second turn.
    if (name_ == "dies" && runs_ == 4) {
      std::fputs("the peer's last words\n", stderr);
      std::raise(SIGKILL);
    }
    if (name_ == "hangs" && runs_ == 4) pause();
    const auto* x = static_cast<const float*>(b_.inputs[0].get());
    auto* y = static_cast<float*>(b_.outputs[0].get());
    if (c_.outputs[0].count >= 0) {
      int64_t count = 0;
      for (int64_t i = 0; i < c_.inputs[0].bytes / 4; ++i)
        if (x[i] > 0) y[count++] = x[i];
      count -= name_ == "fewer";
      std::memcpy(b_.outputs[static_cast<size_t>(c_.outputs[0].count)].get(), &count, sizeof count);
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < c_.outputs[0].bytes / 4; ++i) y[i] = std::max(x[i], 0.f) + (name_ == "wrong" && i == 1);
    return absl::OkStatus();
  }

 private:
  const SideCase& c_;
  const Buffers& b_;
  std::string name_;
  int runs_ = 0;
};

StatusOr<Opened> open_fake(const SideCase& c, const Buffers& b) {
  const std::string name = std::filesystem::path(c.model).stem();
  if (name == "refuses") return absl::InternalError("Relu(99) is not a registered function/op");
  if (name == "dies_at_start") std::raise(SIGABRT);
  if (name == "babbles") {
    (void)LineChannel(kChildChannel).write("good morning");
    pause();
  }
  if (name == "free") {
    int64_t mode = 0;
    for (size_t i = 0; i < c.inputs.size(); ++i)
      if (c.inputs[i].name == "mode") std::memcpy(&mode, b.inputs[i].get(), sizeof mode);
    if (c.dims != std::map<std::string, int64_t>{{"batch", 2}} || mode != 7)
      return absl::InternalError("batch is not fixed, or mode is not 7");
  }
  return Opened{std::make_unique<Relu>(c, b, name), "fake 1.0", 30, 20};
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  return argc == 3 ? hone::bench::serve(argv[2], hone::bench::open_fake, hone::kChildChannel) : 2;
}
