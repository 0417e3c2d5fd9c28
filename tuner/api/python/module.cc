// The extension module hone._hone: libhone's functions for the package's Python, which says what users see.
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/api/python/arrays.h"
#include "tuner/api/python/device.h"
#include "tuner/api/python/graph_passes.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/questions.h"
#include "tuner/api/python/text.h"
#include "tuner/api/python/whole_objects.h"

namespace py = pybind11;

namespace hone::python {
namespace {

// hone.Error and those derived of it, by code: made in the package's Python.
[[noreturn]] void raise(int32_t code, const std::string& text) {
  const py::object error = py::module_::import("hone.errors").attr("error_of")(code, str_of(text));
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
  throw py::error_already_set();
}
void check(int32_t code) {
  if (code != HONE_OK) raise(code, hone_last_error());
}

// ---- building and tuning ----

// How a call reports to Python: `line(str)` and `progress(dict)`, and how it asks for operators: `define(question: str)
// -> str`; each callable or None. An exception from one of them,
// or from a signal's handler (Ctrl-C), ends the call and is raised after it.
class Listener {
 public:
  explicit Listener(py::object line, py::object progress, py::object define = py::none(),
                    py::object passes = py::none())
      : line_(std::move(line)),
        progress_(std::move(progress)),
        define_(std::move(define)),
        passes_(std::move(passes), [this](py::error_already_set& e) { keep(e); }) {
    call_.size = sizeof call_;
    call_.data = this;
    if (!line_.is_none())
      call_.line = [](void* self, const char* text) {
        static_cast<Listener*>(self)->guarded([&](Listener& l) { l.line_(str_of(text)); });
      };
    if (!progress_.is_none())
      call_.progress = [](void* self, const HoneProgress* p) {
        static_cast<Listener*>(self)->guarded([&](Listener& l) {
          py::dict d;
          d["what"] = str_of(p->what);
          d["done"] = p->done;
          d["all"] = p->all;
          d["best_gflops"] = p->best_gflops;
          d["seconds"] = p->seconds;
          d["default_seconds"] = p->default_seconds;
          d["seconds_left"] = p->seconds_left < 0 ? py::object(py::none()) : py::float_(p->seconds_left);
          l.progress_(d);
        });
      };
    if (!define_.is_none())
      call_.define = [](void* self, const char* question, void* to, void (*write)(void*, const char*)) {
        std::optional<std::string> answer;
        static_cast<Listener*>(self)->guarded(
            [&](Listener& l) { answer = py::cast<std::string>(l.define_(str_of(question))); });
        if (answer) write(to, answer->c_str());
        return answer ? int32_t{HONE_OK} : int32_t{HONE_STOPPED};
      };
    call_.stops = [](void* self) { return static_cast<Listener*>(self)->stops(); };
    call_.passes = passes_.get();
  }
  const HoneCall* get() const { return &call_; }
  // With the GIL.
  void rethrow() {
    if (raised_) throw py::error_already_set(*raised_);
  }
  // The call is to end: this was raised beside it. With the GIL.
  void keep(py::error_already_set& e) {
    ++times_;
    if (!raised_) raised_.emplace(e);
  }

 private:
  template <class F>
  void guarded(const F& f) {
    sleep_if_python_ends();
    const py::gil_scoped_acquire gil;
    try {
      f(*this);
    } catch (py::error_already_set& e) {
      keep(e);
    }
  }
  int stops() {
    sleep_if_python_ends();
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {
      py::error_already_set e;
      keep(e);
    }
    return times_;
  }

  py::object line_, progress_, define_;
  GraphPasses passes_;
  HoneCall call_{};
  int times_ = 0;
  std::optional<py::error_already_set> raised_;
};

// C's strings end there.
const char* without_nul(const std::string& text) {
  if (text.find('\0') != text.npos)
    throw py::value_error("there is a NUL behind '" + text.substr(0, text.find('\0')) + "'");
  return text.c_str();
}

class Options {
 public:
  explicit Options(const std::vector<std::string>& texts) {
    for (const std::string& t : texts) pointers_.push_back(without_nul(t));
  }
  const char* const* data() const { return pointers_.data(); }
  int32_t size() const { return static_cast<int32_t>(pointers_.size()); }

 private:
  std::vector<const char*> pointers_;
};

// The output of f(call, &text) as a str. `run` calls a function, without the GIL, and comes back when it has ended.
template <class F>
py::str text_of(Listener& listener, const std::function<void(const std::function<void()>&)>& run, const F& f) {
  char* text = nullptr;
  int32_t code = HONE_OK;
  std::string error;
  run([&] {
    code = f(listener.get(), &text);
    if (code != HONE_OK) error = hone_last_error();
  });
  const std::unique_ptr<char, void (*)(char*)> owner(text, &hone_free_text);
  listener.rethrow();
  if (code != HONE_OK) raise(code, error);
  return str_of(text ? text : "");
}
template <class F>
py::str text_of(const py::object& line, const py::object& progress, const F& f, const py::object& define = py::none(),
                const py::object& passes = py::none()) {
  Listener listener(line, progress, define, passes);
  const auto here = [](const std::function<void()>& work) {
    const NoGil no_gil;
    work();
  };
  return text_of(listener, here, f);
}

py::str compile(const std::string& model, const std::string& artifact, const std::vector<std::string>& options,
                const py::object& line, const py::object& progress, const py::object& define,
                const py::object& passes) {
  const Options o(options);
  const char *const from = without_nul(model), *const to = without_nul(artifact);
  const auto build = [&](const HoneCall* call, char** out) {
    return hone_compile(from, to, o.data(), o.size(), call, out);
  };
  return text_of(line, progress, build, define, passes);
}

py::str compile_operator(const std::string& workload, const std::string& artifact,
                         const std::vector<std::string>& options, const py::object& line, const py::object& progress) {
  const Options o(options);
  const char *const from = without_nul(workload), *const to = without_nul(artifact);
  return text_of(line, progress, [&](const HoneCall* call, char** out) {
    return hone_compile_operator(from, to, o.data(), o.size(), call, out);
  });
}

py::str tune(const std::vector<std::string>& options, const py::object& line, const py::object& progress,
             const py::object& define, const py::object& passes) {
  const Options o(options);
  const auto search = [&](const HoneCall* call, char** out) { return hone_tune(o.data(), o.size(), call, out); };
  return text_of(line, progress, search, define, passes);
}

py::str graph_node(const std::string& question) {
  char* text = nullptr;
  check(hone_graph_node(without_nul(question), &text));
  const std::unique_ptr<char, void (*)(char*)> owner(text, &hone_free_text);
  return str_of(text);
}

// `answer(question)` is the template (hone_compiler.h), called on this thread.
py::str tune_template(const std::vector<std::string>& options, const py::object& answer, const py::object& line,
                      const py::object& progress) {
  const Options o(options);
  Listener listener(line, progress);
  Questions questions(answer, [&](py::error_already_set& e) { listener.keep(e); });
  return text_of(
      listener, [&](const std::function<void()>& search) { questions.serve(search); },
      [&](const HoneCall* call, char** out) {
        return hone_tune_template(questions.get(), o.data(), o.size(), call, out);
      });
}

py::str tophub(const std::vector<std::string>& words) {
  const Options o(words);
  return text_of(py::none(), py::none(),
                 [&](const HoneCall*, char** out) { return hone_tophub(o.data(), o.size(), out); });
}

// ---- running ----

// The artifacts of the library at `path`; none where it is no library.
py::list names_in(const std::string& path) {
  std::vector<std::string> names;
  int32_t code = HONE_OK;
  {
    const NoGil no_gil;
    code = hone_names(
        without_nul(path),
        [](void* to, const char* name) { static_cast<std::vector<std::string>*>(to)->push_back(name); }, &names);
  }
  py::list out;
  if (code == HONE_OK)
    for (const std::string& name : names) out.append(str_of(name));
  return out;
}

struct Pool {
  explicit Pool(int32_t threads) : pool(hone_pool_new(threads)) {
    if (!pool) raise(HONE_NO_THREADS, hone_last_error());
  }
  ~Pool() {
    const NoGil no_gil;
    hone_pool_free(pool);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  HoneRuntime* const pool;
};

py::tuple info_of(const HoneParam& p) {
  py::tuple shape(static_cast<size_t>(p.plain.ndim));
  for (int32_t d = 0; d < p.plain.ndim; ++d) shape[static_cast<size_t>(d)] = p.plain.shape[d];
  return py::make_tuple(str_of(p.name), name_of(p.plain.dtype), shape, p.role == HONE_CONSTANT);
}

// Whatever Python runs meanwhile may close it (another thread; a collection's __del__; an argument's __dlpack__):
// who looks into the model holds it, and asks `model_` once.
class Model {
 public:
  using Held = std::shared_ptr<HoneModel>;

  // `name`: of one of several artifacts in the file; empty: there is one.
  Model(const std::string& path, const Device* device, const std::string& name) {
    without_nul(path);
    const char* const which = name.empty() ? nullptr : without_nul(name);
    HoneModel* opened = nullptr;
    int32_t code = HONE_OK;
    if (device) runtime_ = runtime_on(device->held, 0, false);
    {
      const NoGil no_gil;
      code = device  ? hone_open_on(path.c_str(), which, runtime_.get(), &opened)
             : which ? hone_open_named(path.c_str(), which, &opened)
                     : hone_open(path.c_str(), &opened);
    }
    check(code);
    // The runtime outlives the model.
    model_ = Held(opened, [runtime = runtime_](HoneModel* m) { hone_close(m); });
    const bool is_for_gpu = hone_variant(opened, 0)->gpu != nullptr;
    if (!is_for_gpu && device) throw py::value_error("it is for CPUs ('" + target().cast<std::string>() + "')");
    if (is_for_gpu) device_ = device ? device->held : HeldDevice(model_, hone_device(opened));
    if (is_for_gpu && !device) runtime_ = runtime_on(device_, 0, false);
  }
  void close() {
    streams_.clear();
    runtime_.reset();
    device_.reset();
    model_.reset();
  }
  // Where it runs, "cuda:0"; None: on CPUs.
  py::object device() const {
    const Held m = held();
    return device_ ? py::object(str_of(hone_gpu_properties(device_.get())->name)) : py::none();
  }
  bool is_closed() const { return !model_; }

  py::str json() const { return str_of(hone_artifact(held().get())->json); }
  py::str target() const { return str_of(hone_artifact(held().get())->target); }
  int32_t variant_count() const { return hone_variant_count(held().get()); }
  int32_t workers(int32_t variant) const {
    const Held m = held();
    return hone_variant(m.get(), known(m, variant))->workers;
  }
  py::list inputs(int32_t variant) const {
    const Held m = held();
    known(m, variant);
    py::list out;
    for (int32_t i = 0; i < hone_input_count(m.get()); ++i)
      out.append(info_of(*hone_variant_input(m.get(), variant, i)));
    return out;
  }
  py::list outputs(int32_t variant) const {
    const Held m = held();
    known(m, variant);
    py::list out;
    for (int32_t i = 0; i < hone_output_count(m.get()); ++i)
      out.append(info_of(*hone_variant_output(m.get(), variant, i)));
    return out;
  }
  py::list layers(int32_t variant) const {
    const Held m = held();
    known(m, variant);
    py::list out;
    for (int32_t i = 0; i < hone_variant_layer_count(m.get(), variant); ++i) {
      const HoneLayer* const l = hone_variant_layer(m.get(), variant, i);
      out.append(py::make_tuple(str_of(l->name), str_of(l->workload)));
    }
    return out;
  }

  // The outputs, and with `is_timed` the seconds of each layer (None without it).
  py::tuple run(const std::vector<py::object>& inputs, const std::optional<std::vector<py::object>>& outputs,
                const Pool* pool, bool is_timed, std::optional<uintptr_t> stream) {
    const Held kept = held();
    HoneModel* const m = kept.get();
    const HeldDevice device = device_;
    const HeldRuntime gpu = stream ? on_stream(*stream) : runtime_;
    const CallsOn on{device ? hone_gpu_properties(device.get()) : nullptr,
                     stream && *stream ? static_cast<int64_t>(*stream) : 1};
    const int32_t count = hone_input_count(m), out_count = hone_output_count(m);
    if (static_cast<int64_t>(inputs.size()) != count)
      throw py::type_error("it takes " + std::to_string(count) + " inputs, given are " + std::to_string(inputs.size()));
    std::vector<Argument> in, out;
    for (int32_t i = 0; i < count; ++i)
      in.push_back(as_input(inputs[static_cast<size_t>(i)], *hone_input(m, i), shapes_of(kept, i), &copied_, on));
    const std::vector<const DLTensor*> in_views = views(in);
    const HoneRuntime* const runtime = gpu ? gpu.get() : pool ? pool->pool : nullptr;
    const bool is_there = std::any_of(in.begin(), in.end(), is_on_gpu);
    const int32_t variant = hone_find_variant(m, in_views.data(), count, runtime);
    if (variant < 0) raise(HONE_BAD_ARGUMENTS, hone_last_error());
    if (outputs && static_cast<int64_t>(outputs->size()) != out_count)
      throw py::type_error("it has " + std::to_string(out_count) + " outputs, given are " +
                           std::to_string(outputs->size()));
    for (int32_t i = 0; i < out_count; ++i) {
      const HoneParam& p = *hone_variant_output(m, variant, i);
      out.push_back(outputs    ? as_output((*outputs)[static_cast<size_t>(i)], p, on)
                    : is_there ? new_output_on(device, p)
                               : new_output(p));
    }
    const std::vector<const DLTensor*> out_views = views(out);
    if (outputs) refuse_overlaps(in, out);
    std::vector<double> seconds(is_timed ? static_cast<size_t>(hone_variant_layer_count(m, variant)) : 0);
    int32_t code = HONE_OK;
    std::string error;
    {
      const NoGil no_gil;
      code = is_timed ? hone_run_timed(m, in_views.data(), count, out_views.data(), out_count, runtime, seconds.data(),
                                       static_cast<int32_t>(seconds.size()))
                      : hone_run(m, in_views.data(), count, out_views.data(), out_count, runtime);
      if (code != HONE_OK) error = hone_last_error();
    }
    if (code != HONE_OK) raise(code, error);
    ++calls_;
    py::list arrays;
    for (const Argument& a : out) {
      if (stream && py::isinstance<DeviceArray>(a.owner)) a.owner.cast<DeviceArray&>().set_pending(gpu);
      arrays.append(a.given ? a.given : a.owner);
    }
    return py::make_tuple(arrays, variant, is_timed ? py::cast(seconds) : py::object(py::none()));
  }

  py::dict stats() const {
    py::dict d;
    d["calls"] = calls_;
    d["copied_arrays"] = copied_.arrays;
    d["copied_bytes"] = copied_.bytes;
    return d;
  }

 private:
  // Whether a variant has such an input.
  static IsWanted shapes_of(const Held& kept, int32_t input) {
    return [kept, input](const std::vector<int64_t>& shape) {
      for (int32_t v = 0; v < hone_variant_count(kept.get()); ++v) {
        const HoneTensorType& t = hone_variant_input(kept.get(), v, input)->plain;
        if (std::equal(shape.begin(), shape.end(), t.shape, t.shape + t.ndim)) return true;
      }
      return false;
    };
  }
  Held held() const {
    if (!model_) throw py::value_error("the model is closed");
    return model_;
  }
  static int32_t known(const Held& m, int32_t variant) {
    if (variant < 0 || variant >= hone_variant_count(m.get()))
      throw py::index_error("there is no variant " + std::to_string(variant));
    return variant;
  }
  // A kernel may read elements that it has written.
  static void refuse_overlaps(const std::vector<Argument>& in, const std::vector<Argument>& out) {
    const auto begin = [](const Argument& a) { return static_cast<const char*>(a.tensor.data) + a.tensor.byte_offset; };
    const auto overlap = [&](const Argument& a, const Argument& b) {
      if (a.tensor.device.device_type != b.tensor.device.device_type) return false;
      // Its buffers are handles, not addresses.
      if (a.tensor.device.device_type == kDLOpenCL) return a.tensor.data == b.tensor.data;
      return begin(a) < begin(b) + bytes_of(b) && begin(b) < begin(a) + bytes_of(a);
    };
    for (size_t i = 0; i < out.size(); ++i) {
      const auto refuse = [&](const Argument& other, const char* what, size_t number) {
        if (overlap(out[i], other))
          throw py::value_error("output " + std::to_string(i) + " overlaps " + what + " " + std::to_string(number));
      };
      for (size_t j = 0; j < in.size(); ++j) refuse(in[j], "input", j);
      for (size_t j = 0; j < i; ++j) refuse(out[j], "output", j);
    }
  }
  // Calls on a stream of the caller's, which do not wait.
  HeldRuntime on_stream(uintptr_t stream) {
    if (!device_) throw py::value_error("the model runs on CPUs, which have no streams");
    HeldRuntime& known = streams_[stream];
    if (!known) known = runtime_on(device_, stream, true);
    return known;
  }
  static Argument new_output_on(const HeldDevice& device, const HoneParam& p) {
    const std::vector<int64_t> shape(p.plain.shape, p.plain.shape + p.plain.ndim);
    auto array = std::make_shared<DeviceArray>(device, p.plain.dtype, shape);
    Argument a;
    a.shape = shape;
    a.tensor = array->tensor();
    a.owner = py::cast(array);
    return a;
  }
  static std::vector<const DLTensor*> views(std::vector<Argument>& arguments) {
    std::vector<const DLTensor*> out;
    for (Argument& a : arguments) {
      a.tensor.ndim = static_cast<int32_t>(a.shape.size());
      a.tensor.shape = a.shape.data();
      out.push_back(&a.tensor);
    }
    return out;
  }

  Held model_;
  HeldDevice device_;                         // null: it runs on CPUs
  HeldRuntime runtime_;                       // of calls that wait
  std::map<uintptr_t, HeldRuntime> streams_;  // of those that do not, by the caller's stream
  uint64_t calls_ = 0;                        // guarded by the GIL, as are the counts of copies
  CopyCount copied_;
};

}  // namespace

PYBIND11_MODULE(_hone, m) {
  m.doc() = "libhone's functions; use the package hone.";
  translate_errors();
  m.def("version", &hone_version);
  m.def("compile", &compile, py::arg("model"), py::arg("artifact"), py::arg("options"), py::arg("on_line"),
        py::arg("on_progress"), py::arg("define") = py::none(), py::arg("passes") = py::none());
  m.def("compile_operator", &compile_operator);
  m.def("tune", &tune, py::arg("options"), py::arg("on_line"), py::arg("on_progress"), py::arg("define") = py::none(),
        py::arg("passes") = py::none());
  m.def("tune_template", &tune_template);
  m.def("tophub", &tophub);
  m.def("graph_node", &graph_node);
  bind_given_constants(m);
  bind_devices(m);
  py::class_<Pool> pool(m, "Pool");
  pool.def(py::init<int32_t>()).def_property_readonly("threads", [](const Pool& p) { return p.pool->workers; });
  make_only_whole(pool);
  py::class_<Model> model(m, "Model");
  make_only_whole(model);
  m.def("names", &names_in, py::arg("path"));
  model
      .def(py::init<const std::string&, const Device*, const std::string&>(), py::arg("path"),
           py::arg("device").none(true) = nullptr, py::arg("name") = "")
      .def("close", &Model::close)
      .def_property_readonly("is_closed", &Model::is_closed)
      .def_property_readonly("json", &Model::json)
      .def_property_readonly("target", &Model::target)
      .def_property_readonly("device", &Model::device)
      .def_property_readonly("variant_count", &Model::variant_count)
      .def_property_readonly("stats", &Model::stats)
      .def("workers", &Model::workers)
      .def("inputs", &Model::inputs)
      .def("outputs", &Model::outputs)
      .def("layers", &Model::layers)
      .def("run", &Model::run, py::arg("inputs"), py::arg("outputs"), py::arg("pool"), py::arg("is_timed"),
           py::arg("stream") = py::none());
}

}  // namespace hone::python
