// Words that make no sense.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace hone::fuzz {

class Files;

/// A value for an option.
std::string odd_text(std::mt19937_64& rng);
/// Options as a command line would have them; most are wrong, some ask for help or for parts that are not built.
/// `program`: tensorc, tuner or tophub. Their outputs are in `folder`.
std::vector<std::string> odd_options(const std::string& program, const Files& files, const std::string& folder,
                                     std::mt19937_64& rng);

/// The fault in a text of libhone; empty: none. It must be UTF-8 without control characters. `lines`: it may have
/// several; else all lines but the first are a list's and begin with two blanks.
std::string wrong_with_text(const char* text, bool lines);

}  // namespace hone::fuzz
