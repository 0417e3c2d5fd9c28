// A schedule that was compiled for this machine's CPU or one of its GPUs.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/target/target.h"
#include "tuner/api/python/arrays.h"
#include "tuner/api/python/te/schedule.h"

namespace hone::python {

/// The schedule's loop form, verified.
Module lowered(const PySchedule& s, int threads);
/// The target, completed by this machine where it is a CPU's. Throws ValueError for a number of threads that is none.
Target target_here(const std::string& text, std::optional<int> threads);
/// The accesses that are not proved to lie in their tensors.
std::vector<const void*> unproved(const Module& m);

/// No device here serves the target: hone.NoDevice.
class NoDeviceHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where a kernel runs, with tensors of its own there.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  /// `logical`: the row-major elements of parameter `i`.
  virtual void set_input(size_t i, const void* logical) = 0;
  virtual std::vector<char> get_output(size_t i) = 0;
  /// Runs once and waits. Throws UserError where it fails.
  virtual void run() = 0;
  /// The median of seconds a run, of `repeats`.
  virtual double time(int repeats) = 0;
};

/// A kernel of this process, or one for another machine, which is only saved. Calls take turns.
class Kernel {
 public:
  /// `threads`: of a CPU. NoDeviceHere for a GPU that is not here and whose architecture is not said.
  Kernel(const PySchedule& s, const std::string& target, std::optional<int> threads);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// `out`: an array that can be written, of several outputs a tuple of them, which are returned; None: new ones.
  pybind11::object call(const pybind11::args& arguments, const pybind11::object& out);
  double time(const pybind11::args& arguments, int repeats);
  /// The module that is written to a file. UserError where an access would have to be checked.
  const Module& shippable() const;
  const Target& target() const { return target_; }
  /// The names of its outputs, with commas.
  std::string output_names() const;

  pybind11::list parameters(bool outputs) const;
  /// The kind of GPU; None of a CPU.
  pybind11::object device() const;
  /// Its loop form.
  std::string text() const;

 private:
  HoneParam described(size_t i) const;
  std::vector<size_t> numbers_of(bool outputs) const;
  std::vector<Argument> as_inputs(const pybind11::args& arguments) const;
  /// One for each output.
  std::vector<Argument> as_outputs(const pybind11::object& out) const;
  void set_inputs(const std::vector<Argument>& inputs);
  void check_is_here() const;

  const pid_t process_;
  Target target_;
  std::unique_ptr<KernelRunner> runner_;                  ///< null where it is for another machine
  std::string elsewhere_;                                 ///< why
  std::vector<std::vector<std::string>> written_shapes_;  ///< by parameter: written_shape()
  Module module_;
  std::mutex mutex_;
};

}  // namespace hone::python
