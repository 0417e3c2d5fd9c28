// This machine as a target, and the version of its compiler.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace hone {

/// This machine: its CPU as LLVM names it, features that differ from that CPU's as mattr, its caches. The same when
/// `sys`, the folder /sys, is hidden, except on ARM, which takes the caches of the table of CPUs then.
Target host_target(int threads, const std::string& sys = "/sys");
/// The line of --version on LLVM and this machine: `LLVM 19.1.7, this machine: llvm -mtriple=… -mcpu=…`.
std::string compiler_line();
/// The code generator's version: part of each record. `llvm-19.1.7 hone-codegen-3`.
std::string codegen_version();

}  // namespace hone
