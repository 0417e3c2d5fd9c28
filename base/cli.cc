#include "base/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>

#include "base/check.h"
#include "base/clean_stream.h"
#include "base/help.h"
#include "base/near_name.h"
#include "base/plain_file.h"
#include "base/text.h"

namespace hone {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Names, shapes and lists of other people's files stand in errors. The program's own texts fit: its longest list is
// that of its operators.
constexpr size_t kMostOfALine = 1000, kMostLines = 200;

// Each line of it, cleaned and cut.
std::string error_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (count == kMostLines) return out + "\n…";
    out += (count ? "\n" : "") + short_line(line, kMostOfALine);
  }
  return out;
}

CommandEnd internal_error(const std::string& what) {
  return {kExitInternal, fmt::format("internal error: {}; this is a bug: please report the command line and this text",
                                     error_lines(what))};
}

using Words = std::vector<std::string>;

// CLI11 knows "last one wins" or "twice is an error", not "twice with different values is an error".
std::string repeated_with_other_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() != 1 || option->get_items_expected_max() != 1) continue;
    const Words& values = option->results();
    for (size_t i = 1; i < values.size(); ++i)
      if (values[i] != values[i - 1])
        return fmt::format("{} was given twice with different values ({} and {})", option->get_name(), values[i - 1],
                           values[i]);
  }
  for (const CLI::App* sub : app.get_subcommands())
    if (std::string line = repeated_with_other_value(*sub); !line.empty()) return line;
  return "";
}

// The last of several equal values, instead of "at most 1": different ones are found by repeated_with_other_value().
void allow_repetition(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() == 1 && option->get_items_expected_max() == 1)
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) allow_repetition(*sub);
}

// The names of flags that `app` and the command that was given have.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  std::vector<const CLI::App*> with_commands{&app};
  for (const CLI::App* sub : app.get_subcommands()) with_commands.push_back(sub);
  for (const CLI::App* from : with_commands)
    for (const CLI::Option* option : from->get_options())
      if (!option->get_group().empty())  // else it is for tests
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// An error for words that are no flag, command or argument of `app`, with what may have been meant. CLI11 lists every
// word that it did not expect, values of misspelled flags too, and the last one first.
std::string unexpected(const CLI::App& app, const Words& given) {
  const Words words = app.remaining(true);
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const auto first = [&](bool flags) -> std::string {
    for (const std::string& word : given)
      if (is_flag(word) == flags && std::find(words.begin(), words.end(), word) != words.end()) return word;
    return "";
  };
  if (const std::string flag = first(true); !flag.empty()) {
    const std::string name = flag.substr(0, flag.find('='));
    // A command's words begin where it stands, unless it lets the program's flags through.
    if (const auto commands = app.get_subcommands(); !commands.empty()) {
      const CLI::App& command = *commands.back();
      if (app.get_option_no_throw(name))
        return fmt::format("{} belongs to the program alone; the command {} does not take it", name,
                           command.get_name());
      if (command.get_option_no_throw(name))
        return fmt::format("{} is a flag of the command {}; give it after that word", name, command.get_name());
    }
    return "there is no flag " + name + did_you_mean(name, flag_names(app));
  }
  const std::string word = first(false);
  std::vector<std::string> commands;
  const std::vector<const CLI::Option*> options = app.get_options();
  const bool takes_words =
      std::any_of(options.begin(), options.end(), [](const CLI::Option* option) { return option->get_positional(); });
  if (app.get_subcommands().empty() && !takes_words)
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      commands.push_back(sub->get_name());
  return commands.empty() ? fmt::format("unexpected word '{}'", word)
                          : "there is no command " + word + did_you_mean(word, commands);
}

// An error for flags that stand before a command. With a command, the program does not do what it does without one, and
// would ignore what its own flags say. Empty: there are no such flags.
std::string before_command(const CLI::App& app, const Words& words) {
  const auto commands = app.get_subcommands();
  if (commands.empty() || app.get_fallthrough()) return "";
  const std::string command = commands.front()->get_name();
  for (const std::string& word : words) {
    if (word == command) break;
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* const option = name.starts_with('-') ? app.get_option_no_throw(name) : nullptr;
    if (!option || option == app.get_config_ptr()) continue;
    if (commands.front()->get_option_no_throw(name))
      return fmt::format("{} is a flag of the command {}; give it after that word", name, command);
    return fmt::format("{} belongs to the program alone; the command {} does not take it", name, command);
  }
  return "";
}

// CLI11 has `Could not convert: --seed = x` for a text that is not one of the numbers that a flag takes.
std::string error_of(const CLI::ParseError& e) {
  const std::string line = first_line(e.what()), no_number = "Could not convert: ";
  const size_t equals = line.find(" = ");
  if (!line.starts_with(no_number) || equals == std::string::npos) return line;
  return fmt::format("{}: '{}' is not a number that it takes", line.substr(no_number.size(), equals - no_number.size()),
                     line.substr(equals + 3));
}

// Why CLI11 must not read flags from it; empty: it may.
std::string is_no_file_of_flags(std::string& path) {
  constexpr int64_t kMostBytes = 1 << 20;
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  return text.ok() ? "" : message_of(text.status());
}

}  // namespace

CommandEnd run_command(CommandLine& line, const Words& words, const std::function<Status()>& body) {
  CLI::App& app = line.app();
  // tensorc's own --config forces a config of the search space.
  const bool taken = app.get_option_no_throw("--config") != nullptr;
  app.set_config(std::string(kFlagsFile) + (taken ? ",--config-file" : ",--config"), "", "read flags from a TOML file")
      ->type_name("FILE")
      ->check(CLI::Validator(is_no_file_of_flags, ""));
  allow_repetition(app);
  wrap_help(line);
  if (std::string help = asked_help(line, words); !help.empty()) return {kExitDone, std::move(help)};
  try {
    app.parse(Words(words.rbegin(), words.rend()));
    if (const std::string why = repeated_with_other_value(app); !why.empty()) return {kExitUsage, error_lines(why)};
    if (const std::string why = before_command(app, words); !why.empty())
      return {kExitUsage, error_lines(why) + " (--help shows what is allowed)"};
  } catch (const UserError& e) {  // a flag's own
    return {kExitUsage, error_lines(e.what())};
  } catch (const CLI::Success& e) {
    std::ostringstream help;
    return {app.exit(e, help, help), help.str()};
  } catch (const CLI::ExtrasError&) {
    return {kExitUsage, error_lines(unexpected(app, words)) + " (--help shows what is allowed)"};
  } catch (const CLI::ParseError& e) {
    return {kExitUsage, error_lines(error_of(e)) + " (--help shows what is allowed)"};
  }
  try {
    const Status status = body();
    const int code = exit_code_of(status);
    if (code == kExitInternal) return internal_error(message_of(status));
    return {code, code == kExitDone ? "" : error_lines(message_of(status))};
  } catch (const UserError& e) {
    return {kExitUsage, error_lines(e.what())};
  } catch (const std::bad_alloc&) {
    return {kExitUsage, "not enough memory for this workload"};
  } catch (const std::filesystem::filesystem_error& e) {
    // The name is too long, links form a loop, or a folder may not be read.
    return {kExitUsage, error_lines(e.path1().string() + ": " + e.code().message())};
  } catch (const std::exception& e) {
    return internal_error(e.what());
  }
}

CommandEnd run_command(CommandLine& line, int argc, const char* const* argv, const std::function<Status()>& body) {
  return run_command(line, Words(argv + std::min(1, argc), argv + argc), body);
}

std::string flags_file(const CommandLine& line) {
  const CLI::Option* option = line.app().get_config_ptr();
  return option && option->count() > 0 ? option->results().back() : "";
}

int run_cli(CommandLine& line, int argc, const char* const* argv, const std::function<Status()>& body) {
  const CleanStream out(std::cout), err(std::cerr);
  if (const std::string bare = bare_help(line, argc); !bare.empty()) {
    std::cerr << bare << std::flush;
    return kExitUsage;
  }
  return print_end(line.name(), run_command(line, argc, argv, body));
}

}  // namespace hone
