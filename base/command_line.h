// The flags, arguments and commands of a program, for base/cli.h to run. Behind them is CLI11, which takes seconds to
// compile: no other header or module knows it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hone {

/// A condition on a flag's text.
struct FlagCheck {
  std::function<std::string(const std::string& given)> refusal;  ///< why it is not; empty: it is
  std::string allowed;                                           ///< for help: `INT in [1 - 8]`
};

/// A number in `least` .. `most`. Else `--threads: 'x' is not a whole number from 1 to 1024`.
FlagCheck number_from(int64_t least, int64_t most);
FlagCheck number_from(double least, double most);
inline FlagCheck number_from(int least, int most) { return number_from(int64_t{least}, int64_t{most}); }
/// One of these. Else `--dtype: f64 not in {f32,int8}`.
FlagCheck text_from(const std::vector<std::string>& texts);
/// A file that is there.
FlagCheck existing_file();

/// A flag or an argument: a handle for as long as its command line lives. Functions that change it return it, so that
/// they can follow each other.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  Flag check(const FlagCheck& check) const;         ///< of each text that is given; help says what is allowed
  Flag required() const;                            ///< without it a line is bad usage
  Flag one_value_each() const;                      ///< of several values: each has the flag before it
  Flag delimiter(char between) const;               ///< of several values: a text may hold some
  Flag capture_default_str() const;                 ///< help says what its value is now
  Flag default_str(const std::string& text) const;  ///< help says that this is its value
  Flag type_name(const std::string& text) const;    ///< help's word for its value, FILE
  Flag option_text(const std::string& text) const;  ///< the same, in place of all that stands behind its name
  Flag group(const std::string& title) const;       ///< where `--help all` has it
  Flag hide() const;                                ///< nothing says that it is there
  Flag add_result(const std::string& text) const;   ///< as if it stood before the words that are parsed

  std::string name() const;                     ///< `--model`, `-o` where it has no longer one, `MODEL`; hidden: empty
  std::vector<std::string> long_names() const;  ///< all of them, without dashes
  bool takes_value() const;                     ///< else it is on or off
  bool is_hidden() const;
  size_t count() const;  ///< how many values were given

 private:
  CLI::Option* option_;
};

template <class T, class... Those>
concept OneOfTypes = (std::same_as<T, Those> || ...);

/// The types of a flag's value; a flag with a vector may be given again.
template <class T>
concept FlagValue = OneOfTypes<T, std::string, int, uint16_t, uint32_t, int64_t, uint64_t, double,
                               std::vector<std::string>, std::vector<int>, std::vector<uint64_t>>;

/// The command line of a program or of one of its commands. Its flags write to values that outlive it.
class CommandLine {
 public:
  /// `text`: for help; `name`: the program's, for help and messages.
  explicit CommandLine(const std::string& text = "", const std::string& name = "");
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  void set_name(const std::string& name);
  const std::string& name() const;

  /// `names`: `--threads`, `-o`, `-o,--output`; without dashes an argument, which has its place.
  template <FlagValue T>
  Flag add_option(const std::string& names, T& value, const std::string& text = "");
  /// Calls `read`, which may throw UserError, with what was given; the other one with all that was.
  Flag add_option_function(const std::string& names, const std::function<void(const std::string&)>& read,
                           const std::string& text);
  Flag add_option_function(const std::string& names, const std::function<void(const std::vector<std::string>&)>& read,
                           const std::string& text);
  /// `value`: whether it was given.
  Flag add_flag(const std::string& names, bool& value, const std::string& text = "");
  /// Prints what `line` returns, and nothing else is done.
  void add_version_flag(const std::string& names, const std::function<std::string()>& line, const std::string& text);
  /// Asks, once all is read, why flags do not go together; empty: they do. One question a command line.
  void refuse_if(const std::function<std::string()>& reason);

  /// A command beside what this does without one; it is owned by this. One is given at most.
  CommandLine& add_command(const std::string& name, const std::string& text);
  /// Lets the flags of this stand behind its commands, too.
  void fallthrough();

  /// InternalError where there is none of this name: `--threads`, `-o`, `model`.
  Flag flag(const std::string& name) const;
  std::optional<Flag> find_flag(const std::string& name) const;
  std::vector<Flag> flags() const;                       ///< as they were added, --help first
  CommandLine* find_command(const std::string& name);    ///< null: there is none
  const CommandLine* command() const;                    ///< once all is read: what was given; null: none
  const CommandLine* parent() const { return parent_; }  ///< of a command; else null

  /// CLI11's, for this folder.
  CLI::App& app() const { return *app_; }

 private:
  CommandLine(std::shared_ptr<CLI::App> app, const CommandLine* parent);

  const std::shared_ptr<CLI::App> app_;
  const CommandLine* const parent_ = nullptr;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

}  // namespace hone
