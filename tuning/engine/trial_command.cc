#include "tuning/engine/trial_command.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuning/space/config.h"

namespace tuning {
namespace {

using Json = nlohmann::ordered_json;

// Returns Python's repr() of a string: single-quoted, unless double quotes avoid an escape.
std::string PythonText(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\r') {
      quoted += "\\r";
    } else {
      quoted += c;
    }
  }
  return quoted + quote;
}

std::string JsonText(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string PythonRepr(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (value.is_string()) return PythonText(value.get<std::string>());
  if (!value.is_structured()) return JsonText(value);
  std::string items;
  for (const auto& [name, item] : value.items()) {
    absl::StrAppend(&items, items.empty() ? "" : ", ",
                    value.is_object() ? absl::StrCat(PythonText(name), ": ") : "",
                    PythonRepr(item));
  }
  return value.is_object() ? absl::StrCat("{", items, "}") : absl::StrCat("[", items, "]");
}

// A parameter as spelled in a command.
struct Argument {
  std::string name = {};
  std::string value = {};
  bool is_bool = false;
  bool is_true = false;
};

absl::StatusOr<Argument> ArgumentOf(const std::string& name, const std::string& text, bool python) {
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", name, ": ", text, " is no JSON"));
  }
  Argument argument = {.name = name,
                       .is_bool = value.is_boolean(),
                       .is_true = value.is_boolean() && value.get<bool>()};
  if (value.is_string()) {
    argument.value = value.get<std::string>();
  } else if (value.is_number()) {
    argument.value = text;  // As written.
  } else {
    argument.value = python ? PythonRepr(value) : JsonText(value);
  }
  if ((argument.name + argument.value).find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", name, ": a NUL cannot be in a command"));
  }
  return argument;
}

std::vector<std::string> Prefixed(const std::string& prefix, const std::vector<Argument>& config) {
  std::vector<std::string> words;
  for (const auto& [name, value, is_bool, is_true] : config) {
    words.push_back(absl::StrCat(prefix, name, "=", value));
  }
  return words;
}

std::vector<std::string> NoEquals(const std::vector<Argument>& config) {
  std::vector<std::string> words;
  for (const auto& [name, value, is_bool, is_true] : config) {
    words.push_back("--" + name);
    words.push_back(value);
  }
  return words;
}

std::vector<std::string> NoBooleanFlags(const std::vector<Argument>& config) {
  std::vector<std::string> words;
  for (const auto& [name, value, is_bool, is_true] : config) {
    if (is_true) words.push_back("--" + name);
    if (!is_bool) words.push_back(absl::StrCat("--", name, "=", value));
  }
  return words;
}

bool IsConfigMacro(std::string_view word) {
  const auto& macros = ConfigMacros();
  return std::find(macros.begin(), macros.end(), word) != macros.end();
}

// Returns `word` with {NAME} replaced.
std::string Filled(std::string_view word, const std::vector<Argument>& config) {
  std::string filled;
  while (!word.empty()) {
    const bool is_quoted = word.substr(0, 2) == "{{";
    const std::string_view begin = is_quoted ? "{{" : "{", end = is_quoted ? "}}" : "}";
    const auto argument = std::find_if(config.begin(), config.end(), [&](const auto& one) {
      return word.size() > begin.size() && word[0] == '{' &&
             word.substr(begin.size(), one.name.size()) == one.name &&
             word.substr(begin.size() + one.name.size(), end.size()) == end;
    });
    if (argument == config.end()) {
      filled += word.front();
      word.remove_prefix(1);
      continue;
    }
    filled += is_quoted ? absl::StrCat("{", argument->name, "}") : argument->value;
    word.remove_prefix(begin.size() + argument->name.size() + end.size());
  }
  return filled;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TrialCommand(const std::vector<std::string>& words,
                                                      const Config& config,
                                                      const TrialCommandOptions& options) {
  const bool has_braces = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.find('{') != std::string::npos;
  });
  if (!has_braces) return words;
  std::vector<Argument> arguments;
  for (const auto& [name, text] : config) {
    auto argument = ArgumentOf(name, text, options.python_args);
    if (!argument.ok()) return argument.status();
    arguments.push_back(*std::move(argument));
  }
  std::vector<std::string> argv;
  for (const std::string& word : words) {
    std::vector<std::string> meant = {Filled(word, arguments)};
    if (word == "${args}") meant = Prefixed("--", arguments);
    if (word == "${args_no_hyphens}") meant = Prefixed("", arguments);
    if (word == "${args_append_hydra}") meant = Prefixed("+", arguments);
    if (word == "${args_override_hydra}") meant = Prefixed("++", arguments);
    if (word == "${args_no_equals}") meant = NoEquals(arguments);
    if (word == "${args_no_boolean_flags}") meant = NoBooleanFlags(arguments);
    if (word == "${args_json}") meant = {ConfigText(config)};
    if (word == "${args_json_file}") {
      if (options.config_file.empty()) {
        return absl::InvalidArgumentError("${args_json_file} stands for no file here");
      }
      meant = {options.config_file};
    }
    argv.insert(argv.end(), meant.begin(), meant.end());
  }
  return argv;
}

const std::vector<std::string_view>& ConfigMacros() {
  static const auto& macros = *new std::vector<std::string_view>{
      "${args}",      "${args_no_equals}", "${args_no_hyphens}",   "${args_no_boolean_flags}",
      "${args_json}", "${args_json_file}", "${args_append_hydra}", "${args_override_hydra}"};
  return macros;
}

bool HasConfigMacro(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), IsConfigMacro);
}

}  // namespace tuning
