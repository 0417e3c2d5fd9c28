// Text of expressions, statements, functions and Modules: for people and golden tests.
#pragma once

#include <ostream>
#include <string>

#include "compiler/ir/module.h"

namespace hone {

/// Variables that share a name get _1, _2, … in order of first use, so equal programs print equally.
std::string to_string(const Expr& e);
std::string to_string(const Stmt& s);
std::string to_string(const Function& f);
std::string to_string(const Module& m);

inline std::ostream& operator<<(std::ostream& out, const Expr& e) { return out << to_string(e); }
inline std::ostream& operator<<(std::ostream& out, const Stmt& s) { return out << to_string(s); }

}  // namespace hone
