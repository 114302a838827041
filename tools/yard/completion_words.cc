#include "tools/yard/completion_words.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using Words = std::vector<std::string>;

// Values of a positional or flag with this name. Options without a row take a path or anything.
struct Value {
  std::string_view verb;  // The only verb with this option; empty for all verbs.
  std::string_view option;
  std::vector<std::string_view> kinds;
  std::vector<std::string_view> words = {};
};
constexpr std::string_view kTrial = "trial", kSweep = "sweep", kJob = "job", kTask = "task",
                           kRun = "run", kTag = "tag", kService = "service", kTool = "tool",
                           kTopic = "topic", kMethod = "method";
const Value kValues[] = {
    {"rm", "thing", {kTrial, kSweep, kJob, kRun}},
    {"set", "label", {}},
    {"set", "note", {}},
    {"set", "name", {}},
    {"show", "thing", {kTrial, kSweep, kJob, kTask, kRun}},
    {"stop", "thing", {kTrial, kSweep, kJob, kTask, kTool}},
    {"wait", "thing", {kTrial, kSweep, kJob}},
    {"watch", "trial", {kTrial, kSweep}},
    {"pause", "trial", {kTrial, kSweep}},
    {"resume", "trial", {kTrial, kSweep}},
    {"plot", "run", {kRun, kTrial, kSweep}},
    {"export", "run", {kRun, kTrial, kSweep}},
    {"ui", "run", {kRun, kTrial, kSweep}},
    {"sweep", "change", {kSweep}},
    {"sweep", "enqueue", {kSweep}},
    {"pub", "json", {}, {"-"}},
    {"", "thing", {kTrial, kJob, kTask}},
    {"", "trial", {kTrial}},
    {"", "from", {kTrial}},
    {"run", "after", {kTrial}},
    {"", "job", {kJob, kTask}},
    {"", "run", {kRun, kTrial}},
    {"runs", "query", {kRun}},
    {"", "metric", {kTag}},
    {"", "topic", {kTopic}},
    {"up",
     "service",
     {},
     {"log_level=debug", "log_level=info", "log_level=warning", "log_level=error",
      "log_file_mb=", "log_files="}},
    {"", "service", {kService}},
    {"call", "method", {kMethod}},
    {"topic", "what", {}, {"ls", "hz", "bw", "delay"}},
    {"config", "action", {}, {"check", "show", "flags", "reload", "enable"}},
    {"", "signal", {}, {"SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGKILL", "SIGCONT"}},
    {"completion", "shell", {}, {"bash", "zsh", "fish"}},
    {"", "color", {}, {"auto", "always", "never"}},
    {"", "format", {}, {"csv", "jsonl"}},
    {"", "restart", {}, {"never", "on-failure", "always"}},
    {"",
     "overlap",
     {},
     {"raw", "last", "tensorboard", "tensorboard-v1", "tensorboard-v2", "rust", "mindinsight"}},
};

const Value* ValueOf(std::string_view verb, std::string_view option) {
  for (const Value& value : kValues) {
    if ((value.verb.empty() || value.verb == verb) && value.option == option) return &value;
  }
  return nullptr;
}

// The command line typed so far.
class Typed {
 public:
  Typed(const VerbEntry& verb, const Words& words) : verb_(verb), options_(OptionsOf(verb)) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) Add(words[i]);
  }

  CompletionWords Next(const std::string& word) const {
    if (is_others_) return {.is_file = true};
    if (awaits_ != nullptr) return ValuesOf(*awaits_, "", word);
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && equals != std::string::npos && !has_dashes_) {
      const DeclaredOption* const option = WithFlag(word.substr(0, equals));
      if (option == nullptr) return {};
      return ValuesOf(*option, word.substr(0, equals + 1), word.substr(equals + 1));
    }
    if (word.starts_with("-") && !has_dashes_) return FlagsThatBegin(word);
    const DeclaredOption* const positional = NextPositional();
    if (positional == nullptr) return {};
    return ValuesOf(*positional, "", word);
  }

 private:
  void Add(const std::string& word) {
    if (is_others_) return;
    if (std::exchange(awaits_, nullptr) != nullptr) return;
    if (word == "--" && !has_dashes_) {
      has_dashes_ = true;
      is_others_ = verb_.words != VerbEntry::Words::kOwn;
    } else if (word.starts_with("-") && word.size() > 1 && !has_dashes_) {
      const DeclaredOption* const option = WithFlag(word);
      if (option != nullptr && option->takes_value) awaits_ = option;
    } else {
      positionals_.push_back(word);
    }
  }

  const DeclaredOption* WithFlag(const std::string& flag) const {
    for (const DeclaredOption& option : options_) {
      if (std::find(option.flags.begin(), option.flags.end(), flag) != option.flags.end()) {
        return &option;
      }
    }
    return nullptr;
  }

  const DeclaredOption* NextPositional() const {
    std::size_t left = positionals_.size();
    for (const DeclaredOption& option : options_) {
      if (!option.flags.empty()) continue;
      if (left == 0 || option.repeats) return &option;
      --left;
    }
    return nullptr;
  }

  CompletionWords FlagsThatBegin(const std::string& word) const {
    CompletionWords found;
    for (const DeclaredOption& option : options_) {
      for (const std::string& flag : option.flags) {
        if (flag.starts_with(word)) found.words.push_back({flag, option.help});
      }
    }
    return found;
  }

  CompletionWords ValuesOf(const DeclaredOption& option, std::string before,
                           std::string prefix) const {
    const Value* const value = ValueOf(verb_.name, option.word);
    if (value == nullptr) return {.is_file = true};
    CompletionWords found;
    for (const std::string_view word : value->words) {
      if (word.starts_with(prefix)) found.words.push_back({before + std::string(word), ""});
    }
    found.kinds = value->kinds;
    found.before = std::move(before);
    found.prefix = std::move(prefix);
    if (!positionals_.empty()) found.of = positionals_.front();
    return found;
  }

  const VerbEntry& verb_;
  const std::vector<DeclaredOption> options_;
  std::vector<std::string> positionals_;
  const DeclaredOption* awaits_ = nullptr;  // A flag that still needs its value.
  bool has_dashes_ = false;                 // No flags follow "--".
  bool is_others_ = false;                  // The next words belong to another program.
};

CompletionWords FirstWords(const std::string& word) {
  CompletionWords found;
  for (const VerbEntry& verb : Verbs()) {
    if (std::string_view(verb.name).starts_with(word)) {
      found.words.push_back({verb.name, verb.summary});
    }
  }
  for (const char* flag : {"--at", "--help", "--version"}) {
    if (word.starts_with("-") && std::string_view(flag).starts_with(word)) {
      found.words.push_back({flag, ""});
    }
  }
  return found;
}

}  // namespace

CompletionWords FindCompletions(const Words& words) {
  if (words.size() < 2) return FirstWords(words.empty() ? "" : words.front());
  const auto verb = std::find_if(Verbs().begin(), Verbs().end(), [&](const VerbEntry& entry) {
    return entry.name == words.front();
  });
  if (verb == Verbs().end()) return {};
  const bool has_dashes = std::find(words.begin(), words.end(), "--") != words.end();
  if (verb->words == VerbEntry::Words::kAllWords && !has_dashes) return {.is_file = true};
  return Typed(*verb, words).Next(words.back());
}

}  // namespace yard
