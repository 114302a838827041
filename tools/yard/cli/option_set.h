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

// The options of one verb, as it declares them. A thin face of CLI11, whose header takes ten
// seconds to compile: only command_line.cc and option_set.cc include it.
//
// `name` is a long flag ("--json"), a short and a long one ("-f,--follow"), or a bare word for a
// positional argument. The variable keeps its value where the option is not given.
class OptionSet {
 public:
  enum class Need { kOptional, kRequired };

  explicit OptionSet(CLI::App* app) : app_(app) {}

  void Flag(const char* name, bool& value, const char* help);
  void Add(const char* name, std::string& value, const char* help, Need need = Need::kOptional);
  // Nothing: it was not given.
  void Add(const char* name, std::optional<std::string>& value, const char* help);
  // Seconds: from 0 to 1e9.
  void Add(const char* name, double& value, const char* help);
  void Add(const char* name, int& value, const char* help);
  void Add(const char* name, std::uint32_t& value, const char* help);
  void Add(const char* name, std::uint64_t& value, const char* help);
  // A positional takes all words that are left; a flag may be given again, one value each time.
  void Add(const char* name, std::vector<std::string>& values, const char* help,
           Need need = Need::kOptional);

  // The same for flags that --help does not list; the footer should name them.
  void HiddenFlag(const std::string& name, bool& value);
  void Hidden(const std::string& name, std::string& value);
  void Hidden(const std::string& name, std::vector<std::string>& values);
  // A flag that can be turned off again: "--gang" is "true", "--gang=false" is "false", without it
  // the value stays. The value is not checked.
  void HiddenSwitch(const std::string& name, std::string& value);
  // Text below the list of flags.
  void Footer(const std::string& text);

 private:
  CLI::App* const app_;
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_OPTION_SET_H_
