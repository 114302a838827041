#include "tools/yard/command_line.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "runtime/printable.h"
#include "tools/yard/option_set.h"
#include "tools/yard/version.h"

namespace yard {
namespace {

std::string Describe(const VerbEntry& entry) {
  return absl::StrCat("  ", entry.examples[0], "\n  ", entry.examples[1], "\n\n", entry.summary);
}

std::string ListOfVerbs() {
  std::string text = "  yard up\n  yard run -- python3 train.py\n\nVerbs:\n";
  for (const VerbEntry& entry : Verbs()) {
    absl::StrAppend(&text, "  ", entry.name, std::string(13 - std::string(entry.name).size(), ' '),
                    entry.summary, "\n");
  }
  return text + "\nyard VERB --help says more.";
}

const VerbEntry* FindVerb(const std::string& word) {
  const auto found = std::find_if(Verbs().begin(), Verbs().end(),
                                  [&](const VerbEntry& entry) { return entry.name == word; });
  return found == Verbs().end() ? nullptr : &*found;
}

// What the verb has and what every verb has; their values go to `verb` and `line`.
void Declare(CLI::App* app, Verb& verb, CommandLine* line) {
  OptionSet options(app);
  verb.Declare(options);
  app->add_flag("--json", line->json, "Print JSON, one object a line.");
  app->add_option("--color", line->color, "Default: auto.")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("auto|always|never");
  // Who reads it has found it.
  app->get_help_ptr()->group("");
}

// CLI11's own formatter, but for a verb list of our own.
class Formatter : public CLI::Formatter {
 public:
  std::string make_subcommands(const CLI::App*, CLI::AppFormatMode) const override { return ""; }
};

}  // namespace

int ParseCommandLine(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                     CommandLine* line) {
  if (words.empty()) words = {"status"};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const bool has_dashes = dashes != words.end();
  if (has_dashes) {
    line->rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  const VerbEntry* const verb_entry = words.empty() ? nullptr : FindVerb(words[0]);
  const bool help = words.size() == 2 && words[1] == "--help";
  if (verb_entry != nullptr && verb_entry->passes_words && !has_dashes && !help) {
    line->rest.assign(words.begin() + 1, words.end());
    words.resize(1);
  }
  if (!words.empty() && FindVerb(words[0]) == nullptr && words[0][0] != '-') {
    err << "yard: no verb " << runtime::Printable(words[0]) << "; yard --help lists them\n";
    return kUsage;
  }
  CLI::App app(ListOfVerbs(), "yard");
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  std::map<const CLI::App*, std::pair<const VerbEntry*, std::unique_ptr<Verb>>> verbs;
  for (const VerbEntry& entry : Verbs()) {
    CLI::App* const sub = app.add_subcommand(entry.name, Describe(entry));
    auto verb = entry.make();
    Declare(sub, *verb, line);
    verbs[sub] = {&entry, std::move(verb)};
  }
  try {
    // CLI11 takes the words in reverse.
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    // It quotes what was typed.
    std::ostringstream message;
    const int code = app.exit(error, out, message);
    err << runtime::PrintableLines(message.str());
    return code == 0 ? kDone : kUsage;
  }
  auto& [entry, verb] = verbs[app.get_subcommands().front()];
  line->entry = entry;
  line->verb = std::move(verb);
  return kDone;
}

std::vector<DeclaredOption> OptionsOf(const VerbEntry& entry) {
  CLI::App app;
  CommandLine line;
  const auto verb = entry.make();
  Declare(&app, *verb, &line);
  std::vector<DeclaredOption> options;
  for (const CLI::Option* const option : std::as_const(app).get_options()) {
    DeclaredOption declared;
    for (const std::string& name : option->get_snames()) declared.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) declared.flags.push_back("--" + name);
    declared.word = option->get_single_name();
    declared.help = option->get_description();
    declared.takes_value = option->get_items_expected_min() > 0;
    declared.repeats = declared.flags.empty() && option->get_items_expected_max() > 1;
    options.push_back(std::move(declared));
  }
  return options;
}

}  // namespace yard
