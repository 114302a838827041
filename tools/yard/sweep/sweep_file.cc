#include "tools/yard/sweep/sweep_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/cli/typed_file.h"
#include "tools/yard/sweep/sweep_command.h"
#include "tools/yard/sweep/sweep_node.h"
#include "tools/yard/text/yaml.h"
#include "tools/yard/trial/trial_flags.h"
#include "tuning/engine/plan_reader.h"
#include "tuning/engine/trial_command.h"

namespace yard {
namespace {

using Kind = YamlNode::Kind;

constexpr std::uint64_t kLongestBudget = std::uint64_t{1} << 40;
constexpr std::size_t kLongestName = 190;

// A key under `trial`, and the flag of `yard run` that it sets.
struct TrialKey {
  enum class Form { kText, kList, kMap };
  std::string_view name, flag;
  Form form = Form::kText;
};
constexpr TrialKey kTrialKeys[] = {{"resources", "resources", TrialKey::Form::kMap},
                                   {"memory", "memory"},
                                   {"cpus", "cpus"},
                                   {"processes", "processes"},
                                   {"limits", "limits", TrialKey::Form::kMap},
                                   {"max_run_time", "max_run_time"},
                                   {"time_budget", "time_budget"},
                                   {"heartbeat", "heartbeat"},
                                   {"grace", "grace"},
                                   {"keep_checkpoints", "keep_checkpoints"},
                                   {"checkpoint_metric", "checkpoint_metric"},
                                   {"checkpoint_bytes", "checkpoint_bytes"},
                                   {"output", "output"},
                                   {"priority", "priority"},
                                   {"labels", "label", TrialKey::Form::kList},
                                   {"stop", "stop", TrialKey::Form::kList},
                                   {"alerts", "alert", TrialKey::Form::kList},
                                   {"stall_steps", "stall_steps"},
                                   {"on_end", "on_end"},
                                   {"plateau", "plateau"},
                                   {"required_metrics", "required_metric", TrialKey::Form::kList},
                                   {"restore", "restore"},
                                   {"function", "function"},
                                   {"tasks", "task", TrialKey::Form::kMap},
                                   {"at", "at"},
                                   {"engine", "engine"},
                                   {"slurm", "slurm", TrialKey::Form::kMap},
                                   {"durable", "durable"},
                                   {"share_gpu", "share_gpu"}};

// Makes a valid name of a run.
std::string NameOfRun(std::string name) {
  for (char& c : name) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '-';
  }
  name.erase(0, name.find_first_not_of(".-"));
  return name.substr(0, kLongestName);
}

std::string Without(const std::string& prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

class SweepReader {
 public:
  SweepReader(std::string file, std::string directory, const SweepFileOptions& options)
      : file_(std::move(file)),
        directory_(std::move(directory)),
        options_(options),
        in_(file_, options.working_directory),
        set_in_("--set", options.working_directory) {}

  absl::StatusOr<SweepDraft> Read(std::string_view text) {
    auto root = ParseYaml(text, file_);
    if (!root.ok()) return root.status();
    for (const std::string& assignment : options_.set) {
      if (auto status = SetByPath(assignment, &*root); !status.ok()) return status;
    }
    draft_.source = std::string(text);
    if (!in_.IsMap(*root, "a map of a sweep's keys, like \"method: random\"")) return in_.status();
    ReadPlan(*root);
    ReadName(*root);
    ReadTrial(*root);
    KeepFewCheckpoints();
    ReadBudget(*root);
    ReadRetry(*root);
    RefuseWhatIsNotThere(*root);
    ReadCommand(*root);
    if (auto status = Status(); !status.ok()) return status;
    NoteEndlessSearch();
    return std::move(draft_);
  }

 private:
  // Values of --set have no position in the file, and so an error list of their own.
  NodeReader& In(const YamlNode& at) { return at.line == 0 ? set_in_ : in_; }
  void Wrong(const YamlNode& at, const std::string& key, const std::string& what) {
    NodeReader& in = In(at);
    in.Under(key, [&] { in.Wrong(at, runtime::Printable(what)); });
  }
  void Notice(const YamlNode& at, const std::string& key, const std::string& what) {
    std::string place = at.line == 0 ? "--set" : absl::StrCat(file_, ":", at.line, ":", at.column);
    draft_.notices.push_back(runtime::Printable(absl::StrCat(place, ": ", key, ": ", what)));
  }
  absl::Status Status() const {
    const absl::Status in_file = in_.status(), set = set_in_.status();
    if (in_file.ok() || set.ok()) return in_file.ok() ? set : in_file;
    return absl::InvalidArgumentError(absl::StrCat(in_file.message(), "\n", set.message()));
  }

  // Position of a key in a map, and its value.
  struct Entry {
    YamlNode at;
    const YamlNode* value;
  };
  static std::optional<Entry> EntryOf(const YamlNode& map, std::string_view key) {
    for (std::size_t i = 0; i < map.items.size() && i < map.keys.size(); ++i) {
      if (map.keys[i].text == key) return Entry{map.keys[i], &map.items[i]};
    }
    return std::nullopt;
  }

  void ReadPlan(const YamlNode& root) {
    tuning::PlanNode node = NodeOf(root);
    tuning::ReadPlanResult read = tuning::ReadPlan(node);
    for (const tuning::Problem& problem : read.problems) {
      Wrong(At(problem), problem.key, problem.what);
    }
    for (const tuning::Problem& notice : read.notices) {
      Notice(At(notice), notice.key, notice.what);
    }
    draft_.plan = std::move(read.plan);
    draft_.enqueue = std::move(read.enqueue);
    draft_.known = std::move(read.known);
    draft_.warm_sweeps = std::move(read.warm_sweeps);
    draft_.warm_runs = std::move(read.warm_runs);
    draft_.has_parallel = root.Find("parallel") != nullptr;
    std::erase_if(node.entries, [](const auto& entry) { return entry.first == "warm_start"; });
    draft_.plan_json = tuning::NodeJson(node);
  }
  static YamlNode At(const tuning::Problem& problem) {
    YamlNode at;
    at.line = problem.line;
    at.column = problem.column;
    return at;
  }

  void ReadName(const YamlNode& root) {
    if (const auto name = EntryOf(root, "name")) {
      std::string text;
      NodeReader& in = In(name->at);
      in.Under("name", [&] { in.Text(*name->value, &text); });
      draft_.name = NameOfRun(text);
      if (draft_.name != text) {
        Notice(name->at, "name",
               absl::StrCat("its trials are called \"", draft_.name,
                            "\": their directories are named so"));
      }
    }
    if (const auto description = EntryOf(root, "description")) {
      Notice(description->at, "description", "description means nothing here");
    }
    const auto python = EntryOf(root, "python_args");
    draft_.python_args = !python && root.Find("program") != nullptr;
    if (!python) return;
    NodeReader& in = In(python->at);
    in.Under("python_args", [&] { in.Bool(*python->value, &draft_.python_args); });
  }

  void ReadTrial(const YamlNode& root) {
    const auto trial = EntryOf(root, "trial");
    if (!trial) return;
    NodeReader& in = In(trial->at);
    in.Under("trial", [&] {
      if (!in.IsMap(*trial->value, "a map of flags of yard run, like {memory: 8GiB}")) return;
      for (std::size_t i = 0; i < trial->value->keys.size(); ++i) {
        ReadTrialKey(trial->value->keys[i], trial->value->items[i]);
      }
    });
  }

  bool HasChains() const {
    return draft_.plan.method == tuning::Method::kPbt ||
           draft_.plan.method == tuning::Method::kReplay;
  }

  // Trials that take over from each other save often, and usually only the newest checkpoint is
  // needed. The file may override this.
  void KeepFewCheckpoints() {
    if (!HasChains()) return;
    draft_.trial_flags.emplace_back("keep_checkpoints", std::vector{std::string("1")});
  }

  void ReadTrialKey(const YamlNode& key, const YamlNode& value) {
    const auto known = std::find_if(std::begin(kTrialKeys), std::end(kTrialKeys),
                                    [&](const TrialKey& one) { return one.name == key.text; });
    if (known == std::end(kTrialKeys)) {
      std::vector<std::string_view> names;
      for (const TrialKey& one : kTrialKeys) names.push_back(one.name);
      const std::string nearest(runtime::NearestWord(key.text, names));
      return WrongKey(key, nearest.empty() ? "there is no such key: a trial has flags of yard run"
                                           : absl::StrCat("there is no key ", key.text,
                                                          "; did you mean ", nearest, "?"));
    }
    const auto values = Values(*known, key, value);
    if (!values) return;
    // Parsed separately, so that an error can be reported at this key.
    TrialFlags alone;
    const std::string flag(known->flag);
    alone.SetDefault(flag, *values);
    absl::Status status = alone.Options(options_.working_directory).status();
    if (status.ok()) status = alone.GraceMs().status();
    if (!status.ok()) {
      return WrongKey(key, Without(absl::StrCat("--", flag, ": "), std::string(status.message())));
    }
    draft_.trial_flags.emplace_back(flag, *values);
  }
  void WrongKey(const YamlNode& key, const std::string& what) { Wrong(key, key.text, what); }

  // Returns the values as words after the flag; nothing after an error, which is reported.
  std::optional<std::vector<std::string>> Values(const TrialKey& known, const YamlNode& key,
                                                 const YamlNode& value) {
    std::vector<std::string> values;
    NodeReader& in = In(key);
    bool good = false;
    in.Under(key.text, [&] {
      std::string text;
      if (known.form == TrialKey::Form::kMap) {
        good = in.Assignments(value, &values);
      } else if (known.form == TrialKey::Form::kList && value.kind == Kind::kList) {
        good = in.Texts(value, &values);
      } else {
        good = in.Text(value, &text);
        values = {text};
      }
    });
    return good ? std::optional(values) : std::nullopt;
  }

  void ReadBudget(const YamlNode& root) {
    const auto budget = EntryOf(root, "budget");
    if (!budget) return;
    NodeReader& in = In(budget->at);
    in.Under("budget", [&] {
      if (!in.IsMap(*budget->value, "a map like {time: 8h, trial_time: 30m, epochs: 5000}")) return;
      for (std::size_t i = 0; i < budget->value->keys.size(); ++i) {
        ReadBudgetKey(in, budget->value->keys[i], budget->value->items[i]);
      }
    });
  }
  void ReadBudgetKey(NodeReader& in, const YamlNode& key, const YamlNode& value) {
    if (key.text == "time") {
      in.Under("time", [&] { in.Time(value, kLongestBudget, &draft_.time_budget_ms); });
    } else if (key.text == "trial_time") {
      std::uint64_t milliseconds = 0;
      bool good = false;
      in.Under("trial_time", [&] { good = in.Time(value, kLongestBudget, &milliseconds); });
      if (good) draft_.trial_flags.emplace_back("time_budget", std::vector{value.text});
    } else if (key.text == "epochs") {
      return;  // Part of the plan.
    } else {
      const std::string nearest(runtime::NearestWord(key.text, {"time", "trial_time", "epochs"}));
      Wrong(key, key.text,
            absl::StrCat("there is no key ", key.text,
                         nearest.empty() ? ": there are time, trial_time and epochs"
                                         : absl::StrCat("; did you mean ", nearest, "?")));
    }
  }

  void ReadRetry(const YamlNode& root) {
    const YamlNode* const failures = root.Find("failures");
    if (failures == nullptr || failures->kind != Kind::kMap) return;
    const auto retry = EntryOf(*failures, "retry");
    if (!retry) return;
    NodeReader& in = In(retry->at);
    in.Under("failures", [&] {
      in.Under("retry", [&] {
        in.Whole(*retry->value, 0, std::numeric_limits<std::uint32_t>::max(), &draft_.max_restarts);
      });
    });
  }

  void RefuseWhatIsNotThere(const YamlNode& root) {
    const auto refuse = [&](const char* key, const char* why) {
      if (const auto entry = EntryOf(root, key)) Wrong(entry->at, key, why);
    };
    refuse("resources", "belongs under trial: trial: {resources: {gpu: 1}}");
  }

  void ReadCommand(const YamlNode& root) {
    const auto program = EntryOf(root, "program");
    const auto command = EntryOf(root, "command");
    const bool is_function = std::any_of(draft_.trial_flags.begin(), draft_.trial_flags.end(),
                                         [](const auto& flag) { return flag.first == "function"; });
    std::string program_text;
    if (program) {
      NodeReader& in = In(program->at);
      in.Under("program", [&] { in.Text(*program->value, &program_text); });
    }
    std::vector<std::string> words = options_.command;
    if (words.empty() && command) {
      NodeReader& in = In(command->at);
      in.Under("command", [&] { in.Texts(*command->value, &words); });
      if (words.empty() && command->value->kind == Kind::kList) {
        Wrong(command->at, "command", "has no words");
      }
    } else if (words.empty() && program) {
      words = DefaultSweepCommand();
    }
    if (words.empty()) {
      if (!options_.needs_command || is_function || command) return;
      YamlNode at = root;
      return Wrong(at, "command",
                   "there is neither program nor command: write program: train.py, or put the "
                   "command behind the file: yard sweep FILE -- ./train '${args}'");
    }
    const YamlNode at = command && options_.command.empty() ? command->at
                        : program                           ? program->at
                                                            : root;
    FillCommand(at, words, program_text);
    if (program) CheckProgram(program->at, words, program_text);
  }

  void FillCommand(const YamlNode& at, const std::vector<std::string>& words,
                   const std::string& program) {
    SweepCommand read =
        ReadSweepCommand(words, program, Interpreter(options_.environment), options_.environment);
    const bool is_typed = !options_.command.empty();
    for (const std::string& problem : read.problems) {
      Wrong(at, is_typed ? "the command behind --" : "command", problem);
    }
    for (const std::string& notice : read.notices) Notice(at, "command", notice);
    draft_.command = std::move(read.words);
    if (!TakesParameters()) {
      draft_.notices.push_back(
          "the command names no parameter (${args}, {NAME}): its program has to read them itself, "
          "from params.json or the welcome message");
    }
  }

  bool TakesParameters() const {
    if (tuning::HasConfigMacro(draft_.command)) return true;
    tuning::Config config = draft_.plan.constants;
    if (draft_.plan.space == nullptr) return true;  // The error is reported already.
    for (std::size_t i = 0; i < draft_.plan.space->size(); ++i) {
      config.emplace_back((*draft_.plan.space)[i].name, "0");
    }
    const auto filled = tuning::TrialCommand(draft_.command, config, {});
    return !filled.ok() || *filled != draft_.command;
  }

  // Trials start in the caller's directory, from which a program next to the file is not found.
  void CheckProgram(const YamlNode& at, const std::vector<std::string>& words,
                    const std::string& program) {
    if (std::find(words.begin(), words.end(), "${program}") == words.end()) return;
    std::error_code error;
    const std::filesystem::path here = options_.working_directory, beside = directory_;
    if (program.empty() || std::filesystem::exists(here / program, error)) return;
    if (!std::filesystem::exists(beside / program, error)) return;
    Wrong(
        at, "program",
        absl::StrCat("there is no ", program, " in this directory, where trials begin, but one in ",
                     beside.string(), ": change to it"));
  }

  void NoteEndlessSearch() {
    const tuning::Plan& plan = draft_.plan;
    // Chained trials end when their programs end.
    const bool ends = plan.max_trials > 0 || HasChains() || plan.method == tuning::Method::kGrid ||
                      plan.metric.target || draft_.time_budget_ms > 0 || plan.max_epochs > 0 ||
                      !options_.needs_command;
    if (ends) return;
    bool is_finite = !plan.duplicates;
    for (std::size_t i = 0; is_finite && i < plan.space->size(); ++i) {
      is_finite = (*plan.space)[i].Count().has_value();
    }
    if (is_finite) return;
    draft_.notices.push_back("there is no run_cap: the sweep goes on until it is stopped");
  }

  const std::string file_, directory_;
  const SweepFileOptions& options_;
  NodeReader in_, set_in_;
  SweepDraft draft_;
};

}  // namespace

absl::StatusOr<SweepDraft> ParseSweep(std::string_view text, const std::string& file,
                                      const std::string& directory,
                                      const SweepFileOptions& options) {
  return SweepReader(file, directory, options).Read(text);
}

absl::StatusOr<SweepDraft> ReadSweep(const std::string& file, const SweepFileOptions& options) {
  const auto read = ReadTypedFile(file, options.working_directory, kMaxYamlBytes);
  if (!read.ok()) return read.status();
  return ParseSweep(read->text, read->name, read->directory, options);
}

}  // namespace yard
