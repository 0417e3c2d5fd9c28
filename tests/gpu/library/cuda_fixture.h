// Artifacts for CUDA through libhone_gpu over the driver that only adds (tests/fakes/fake_cuda.h).
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_cuda_left.h"
#include "tests/gpu/library/library_call.h"
#include "tests/gpu/models/gpu_model_run.h"

namespace hone {

/// Three launches and a copy.
inline constexpr const char* kLibraryAdds = R"(graph g
input "x" %x f32[256]
%w = constant f32[256] fill 1
%v = constant f32[256] fill 2
%a = elementwise(op=add,shape=256,dtype=f32) %x %w
%b = elementwise(op=add,shape=256,dtype=f32) %a %v
%c = elementwise(op=add,shape=256,dtype=f32) %b %a
output "c" %c f32[256]
output "x" %x f32[256]
)";

/// One element a thread: the driver adds as many as there are threads.
inline ChosenConfig one_element_each(const Workload&, const Target&, const Space& space) {
  return {space.parse("threads=32,rounds=1,vector=1"), "given", ""};
}

class CudaLibrary : public testing::Test {
 protected:
  CudaLibrary() {
    // libhone_gpu asks for the driver by its name, which is then that of the one that is there.
    library_ = dlopen(HONE_FAKE_CUDA_ADDS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library_) throw std::runtime_error(dlerror());
    fake_ = symbol<FakeCudaReset>(kFakeCudaReset)();
  }
  template <class F>
  F symbol(const char* name) const {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  void* new_stream(void* context) const {
    void* stream = nullptr;
    push(context);
    EXPECT_EQ(symbol<int (*)(void**, unsigned)>("cuStreamCreate")(&stream, 1), 0);
    pop();
    return stream;
  }
  void destroy_stream(void* stream) const { symbol<int (*)(void*)>("cuStreamDestroy_v2")(stream); }
  void push(void* context) const { EXPECT_EQ(symbol<int (*)(void*)>("cuCtxPushCurrent_v2")(context), 0); }
  void* pop() const {
    void* context = nullptr;
    symbol<int (*)(void**)>("cuCtxPopCurrent_v2")(&context);
    return context;
  }
  void* current() const {
    void* context = nullptr;
    symbol<int (*)(void**)>("cuCtxGetCurrent")(&context);
    return context;
  }
  /// The file of a graph of adds.
  std::string in_file(const std::string& text, const std::string& name) {
    graph_ = read_graph(text);
    return linked(folder_,
                  built_for(graph_, Target::parse("cuda -arch=sm_90"), name, &one_element_each).objects[0].parts, name);
  }
  /// Some inputs of the last file's graph, and what comes of them.
  std::vector<TensorData> inputs() const { return seeded_inputs(graph_); }
  /// Others, of small whole numbers.
  std::vector<TensorData> inputs(int number) const {
    std::vector<TensorData> all = inputs();
    for (TensorData& t : all) {
      std::vector<float> values(t.bytes().size() / sizeof(float));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i + 31 * (number + 1)) % 97);
      const char* const bytes = reinterpret_cast<const char*>(values.data());
      t = TensorData(t.type(), std::string(bytes, t.bytes().size()));
    }
    return all;
  }
  std::vector<std::string> wanted() const { return wanted(inputs()); }
  std::vector<std::string> wanted(const std::vector<TensorData>& of) const {
    return bytes_of_all(interpret(graph_, of, &evaluate));
  }
  void expect_nothing_left() const {
    expect_nothing_left_in(*fake_);
    EXPECT_EQ(current(), nullptr);
  }

  void* library_;
  FakeCuda* fake_;
  const TemporaryFolder folder_;
  Graph graph_;
};

}  // namespace hone
