#ifndef TOOLS_YARD_CLI_OPTION_SET_H_
#define TOOLS_YARD_CLI_OPTION_SET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace yard {

// The options that a verb declares. A thin wrapper around CLI11, whose header takes ten seconds to
// compile: only command_line.cc and option_set.cc include it.
//
// `name` is a long flag ("--json"), a short and a long one ("-f,--follow"), or a bare word for a
// positional argument. A variable keeps its value if the option is not given.
class OptionSet {
 public:
  enum class Need { kOptional, kRequired };

  explicit OptionSet(CLI::App* app) : app_(app) {}

  // Adds a flag without a value: if given, `value` becomes true.
  void Flag(const char* name, bool& value, const char* help);
  // Add() adds an option with one value, of the variable's type.
  void Add(const char* name, std::string& value, const char* help, Need need = Need::kOptional);
  // The value is unset if the option is not given.
  void Add(const char* name, std::optional<std::string>& value, const char* help);
  // In seconds, from 0 to 1e9.
  void Add(const char* name, double& value, const char* help);
  // Any number of the variable's type.
  void Add(const char* name, int& value, const char* help);
  void Add(const char* name, std::uint32_t& value, const char* help);
  void Add(const char* name, std::uint64_t& value, const char* help);
  // A positional takes all remaining words; a flag may be repeated, with one value each time.
  void Add(const char* name, std::vector<std::string>& values, const char* help,
           Need need = Need::kOptional);

  // The same for flags that --help does not list; the footer should mention them.
  void HiddenFlag(const std::string& name, bool& value);
  void Hidden(const std::string& name, std::string& value);
  void Hidden(const std::string& name, std::vector<std::string>& values);
  // A flag that can be switched off: "--gang" sets "true", "--gang=false" sets "false"; if absent,
  // the value stays. The value is not validated.
  void HiddenSwitch(const std::string& name, std::string& value);
  // Sets the text below the list of flags.
  void Footer(const std::string& text);

 private:
  CLI::App* const app_;
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_OPTION_SET_H_
