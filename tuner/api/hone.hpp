// hone.h and hone_compiler.h for C++17: failures throw hone::Error, and opened objects close themselves.
//
//   hone::compile("resnet18.onnx", "resnet18.so", {"--threads=4"});
//   hone::Model model("resnet18.so");
//   hone::Pool pool(4);
//   std::vector<hone::Tensor> outputs = model.run({hone::Tensor(model.input(0))}, pool);
#ifndef HONE_HPP
#define HONE_HPP

#include <hone_compiler.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hone {

/// An error of a function of the library; `code` is one of hone.h's or hone_compiler.h's.
class Error : public std::runtime_error {
 public:
  Error(int32_t code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int32_t code() const noexcept { return code_; }

 private:
  int32_t code_;
};

/// Throws the library's last error unless `code` is HONE_OK.
inline void check(int32_t code) {
  if (code != HONE_OK) throw Error(code, hone_last_error());
}

/// Functions through which a caller follows a build or a search; each may be empty. They may throw: the call ends then,
/// as if the user had asked to stop, and the exception is thrown again.
struct Listener {
  std::function<void(const char* line)> line;
  std::function<void(const HoneProgress& progress)> progress;
  std::function<int()> stops;  ///< how often the user has asked to stop
  /// Answers for operators of the caller's, as HoneCall.define does: a question and its answer are JSON.
  std::function<std::string(const char* question)> define;
};

namespace internal {

class Call {
 public:
  explicit Call(const Listener& listener) : listener_(listener) {
    call_.size = sizeof call_;
    call_.data = this;
    call_.line = [](void* self, const char* line) { static_cast<Call*>(self)->guarded(&Listener::line, line); };
    call_.progress = [](void* self, const HoneProgress* p) {
      static_cast<Call*>(self)->guarded(&Listener::progress, *p);
    };
    call_.stops = [](void* self) { return static_cast<Call*>(self)->stops(); };
    if (listener_.define)
      call_.define = [](void* self, const char* question, void* to, void (*write)(void*, const char*)) {
        return static_cast<Call*>(self)->define(question, to, write);
      };
  }
  const HoneCall* get() const { return &call_; }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  template <class Function, class Argument>
  void guarded(Function Listener::*function, const Argument& argument) {
    if (thrown_ || !(listener_.*function)) return;
    try {
      (listener_.*function)(argument);
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  int stops() {
    if (thrown_) return 2;
    if (!listener_.stops) return 0;
    try {
      return listener_.stops();
    } catch (...) {
      thrown_ = std::current_exception();
      return 2;
    }
  }

  int32_t define(const char* question, void* to, void (*write)(void*, const char*)) {
    try {
      if (!thrown_) {
        write(to, listener_.define(question).c_str());
        return HONE_OK;
      }
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return HONE_STOPPED;
  }

  const Listener& listener_;
  HoneCall call_{};
  std::exception_ptr thrown_;
};

class Options {
 public:
  explicit Options(const std::vector<std::string>& texts) {
    for (const std::string& t : texts) pointers_.push_back(t.c_str());
  }
  const char* const* data() const { return pointers_.data(); }
  int32_t size() const { return static_cast<int32_t>(pointers_.size()); }

 private:
  std::vector<const char*> pointers_;
};

/// Calls `f(char** output)`; the output as a string.
template <class F>
std::string text_of(const F& f) {
  char* text = nullptr;
  const int32_t code = f(&text);
  const std::unique_ptr<char, void (*)(char*)> owner(text, &hone_free_text);
  check(code);
  return text ? text : "";
}
template <class F>
std::string text_of(const Listener& listener, const F& f) {
  Call call(listener);
  try {
    std::string text = text_of([&](char** output) { return f(call.get(), output); });
    call.rethrow();
    return text;
  } catch (const Error&) {
    call.rethrow();
    throw;
  }
}

}  // namespace internal

/// Builds the model in the file `model` (ONNX, TensorFlow Lite) to a shared object with tensorc's options: its
/// description as JSON.
inline std::string compile(const std::string& model, const std::string& artifact,
                           const std::vector<std::string>& options = {}, const Listener& listener = {}) {
  const internal::Options o(options);
  return internal::text_of(listener, [&](const HoneCall* call, char** output) {
    return hone_compile(model.c_str(), artifact.c_str(), o.data(), o.size(), call, output);
  });
}
/// The same of one operator, `dense(m=128,n=768,k=768)`.
inline std::string compile_operator(const std::string& workload, const std::string& artifact,
                                    const std::vector<std::string>& options = {}, const Listener& listener = {}) {
  const internal::Options o(options);
  return internal::text_of(listener, [&](const HoneCall* call, char** output) {
    return hone_compile_operator(workload.c_str(), artifact.c_str(), o.data(), o.size(), call, output);
  });
}
/// Tunes as tuner's options say; returns the outcome as JSON.
inline std::string tune(const std::vector<std::string>& options, const Listener& listener = {}) {
  const internal::Options o(options);
  return internal::text_of(listener, [&](const HoneCall* call, char** output) {
    return hone_tune(o.data(), o.size(), call, output);
  });
}
/// Runs a command of tophub and returns its output: {"best", "--task=dense", "--json"}.
inline std::string tophub(const std::vector<std::string>& words) {
  const internal::Options o(words);
  return internal::text_of([&](char** output) { return hone_tophub(o.data(), o.size(), output); });
}

/// A row-major tensor on the CPU. Copies share its elements.
class Tensor {
 public:
  /// Takes a parameter's type or another one; the elements are zero. Throws std::bad_alloc; std::invalid_argument for a
  /// negative extent, for elements of part of a byte and for more bytes than there are addresses.
  explicit Tensor(const HoneParam& p) : Tensor(p.plain.dtype, {p.plain.shape, p.plain.shape + p.plain.ndim}) {}
  Tensor(DLDataType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
    constexpr size_t kAlignment = 64;
    if (dtype.bits == 0 || dtype.bits % 8 != 0) throw std::invalid_argument("elements of a part of a byte");
    bytes_ = static_cast<size_t>(dtype.bits / 8) * dtype.lanes;
    for (const int64_t extent : shape_) {
      if (extent < 0) throw std::invalid_argument("an extent of " + std::to_string(extent));
      if (extent > 0 && bytes_ > (PTRDIFF_MAX - kAlignment) / static_cast<size_t>(extent))
        throw std::invalid_argument("more bytes than there are addresses");
      bytes_ *= static_cast<size_t>(extent);
    }
    data_.reset(std::aligned_alloc(kAlignment, (bytes_ + kAlignment) / kAlignment * kAlignment), Free());
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes_);
  }

  DLDataType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  size_t bytes() const { return bytes_; }
  /// std::invalid_argument if the tensor's elements are not of this size.
  template <class T>
  T* data() {
    if (sizeof(T) * 8 != size_t{dtype_.bits} * dtype_.lanes)
      throw std::invalid_argument("elements of " + std::to_string(dtype_.bits) + " bits, asked for as " +
                                  std::to_string(sizeof(T) * 8));
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    return const_cast<Tensor*>(this)->data<T>();
  }
  /// For hone_run; valid while this tensor lives and is not moved.
  DLTensor view() const {
    DLTensor t{};
    t.data = data_.get();
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<int32_t>(shape_.size());
    t.dtype = dtype_;
    t.shape = const_cast<int64_t*>(shape_.data());
    return t;
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  DLDataType dtype_;
  std::vector<int64_t> shape_;
  size_t bytes_ = 0;
  std::shared_ptr<void> data_;
};

/// Threads that calls divide their work among.
class Pool {
 public:
  /// 0: one for each CPU that this thread may run on.
  explicit Pool(int32_t threads = 0) : pool_(hone_pool_new(threads)) {
    if (!pool_) throw Error(HONE_NO_THREADS, hone_last_error());
  }
  const HoneRuntime* get() const { return pool_.get(); }

 private:
  struct Free {
    void operator()(HoneRuntime* p) const { hone_pool_free(p); }
  };
  std::unique_ptr<HoneRuntime, Free> pool_;
};

/// An artifact. Any number of threads may run it at once. std::logic_error by one that was moved from.
class Model {
 public:
  explicit Model(const std::string& path) {
    HoneModel* model = nullptr;
    check(hone_open(path.c_str(), &model));
    model_.reset(model);
  }

  int32_t input_count() const { return hone_input_count(open()); }
  int32_t output_count() const { return hone_output_count(open()); }
  /// std::out_of_range.
  const HoneParam& input(int32_t index) const { return known(hone_input(open(), index), index); }
  const HoneParam& output(int32_t index) const { return known(hone_output(open(), index), index); }

  /// The outputs for these inputs, of the variant that they are for.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const { return run(inputs, nullptr); }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Pool& pool) const {
    return run(inputs, pool.get());
  }

  HoneModel* get() const { return model_.get(); }

 private:
  struct Close {
    void operator()(HoneModel* m) const { hone_close(m); }
  };
  HoneModel* open() const {
    if (!model_) throw std::logic_error("the model was moved from");
    return model_.get();
  }
  static const HoneParam& known(const HoneParam* p, int32_t index) {
    if (!p) throw std::out_of_range("the model has no tensor number " + std::to_string(index));
    return *p;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const HoneRuntime* pool) const {
    std::vector<DLTensor> views;
    for (const Tensor& t : inputs) views.push_back(t.view());
    const std::vector<const DLTensor*> in = pointers(views);
    const int32_t count = static_cast<int32_t>(in.size());
    const int32_t variant = hone_find_variant(open(), in.data(), count, pool);
    if (variant < 0) throw Error(HONE_BAD_ARGUMENTS, hone_last_error());
    std::vector<Tensor> outputs;
    for (int32_t i = 0; i < output_count(); ++i)
      outputs.emplace_back(*hone_variant_output(open(), variant, i));
    std::vector<DLTensor> out_views;
    for (const Tensor& t : outputs) out_views.push_back(t.view());
    const std::vector<const DLTensor*> out = pointers(out_views);
    check(hone_run(open(), in.data(), count, out.data(), output_count(), pool));
    return outputs;
  }
  static std::vector<const DLTensor*> pointers(const std::vector<DLTensor>& tensors) {
    std::vector<const DLTensor*> out;
    for (const DLTensor& t : tensors) out.push_back(&t);
    return out;
  }

  std::unique_ptr<HoneModel, Close> model_;
};

}  // namespace hone

#endif
