#include "tools/yard/command_line.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/cli/yard_version.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

std::string Describe(const VerbEntry& entry) {
  return absl::StrCat("  ", entry.examples[0], "\n  ", entry.examples[1], "\n\n", entry.summary);
}

const VerbEntry* FindVerb(const std::string& word) {
  const auto found = std::find_if(Verbs().begin(), Verbs().end(),
                                  [&](const VerbEntry& entry) { return entry.name == word; });
  return found == Verbs().end() ? nullptr : &*found;
}

std::string ListOfVerbs() {
  std::string text = "  yard up\n  yard run -- python3 train.py\n\nVerbs:\n";
  for (const VerbGroup& group : VerbGroups()) {
    absl::StrAppend(&text, group.task, ":\n");
    for (const char* const name : group.verbs) {
      const VerbEntry& entry = *FindVerb(name);
      absl::StrAppend(&text, "  ", entry.name,
                      std::string(13 - std::string(entry.name).size(), ' '), entry.summary, "\n");
    }
  }
  return text +
         "\nyard VERB --help says more. yard --at HOST VERB ...: by the yard of another machine, "
         "over ssh.";
}

// Declares the options of the verb, and those common to all verbs; the values go to `verb` and
// `line`.
void Declare(CLI::App* app, Verb& verb, CommandLine* line) {
  OptionSet options(app);
  verb.Declare(options);
  app->add_flag("--json", line->json, "Print JSON, one object a line.");
  app->add_flag("--utc", line->utc)->group("");  // Hidden, so that a verb's help fits on a screen.
  app->add_option("--color", line->color, "Default: auto.")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("auto|always|never");
  // The help omits --help, which its reader already knows.
  app->get_help_ptr()->group("");
}

// CLI11's formatter, without its list of subcommands: ours has groups.
class Formatter : public CLI::Formatter {
 public:
  std::string make_subcommands(const CLI::App*, CLI::AppFormatMode) const override { return ""; }
};

// Translates "help" to `--help`, and "help run" to `run --help`.
std::vector<std::string> HelpOf(std::vector<std::string> words) {
  if (words.size() == 1 || words[1] == "help") return {"--help"};
  return {words[1], "--help"};
}

// Returns "; did you mean WORD?", or an empty string.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string nearest(runtime::NearestWord(word, words));
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

int NoVerb(const std::string& word, std::ostream& err) {
  std::vector<std::string> names;
  for (const VerbEntry& entry : Verbs()) names.emplace_back(entry.name);
  err << "yard: no verb " << runtime::Printable(word) << DidYouMean(word, names)
      << "; yard --help lists them\n";
  return kUsage;
}

std::vector<std::string> FlagsOf(const VerbEntry& entry) {
  std::vector<std::string> flags;
  for (const DeclaredOption& option : OptionsOf(entry)) {
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  }
  return flags;
}

// Turns "--max-restarts=1" into "--max_restarts=1" if that is a flag; else returns the word
// unchanged.
std::string WithUnderscores(const std::string& word, const std::vector<std::string>& flags) {
  if (!word.starts_with("--")) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::string flag = word.substr(0, end);
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  const bool is_one = std::find(flags.begin(), flags.end(), flag) != flags.end();
  return is_one ? flag + word.substr(end) : word;
}

// Returns the words for the verb itself, with flags in their declared spelling; moves a program's
// words to `line`.
std::vector<std::string> WordsOf(const VerbEntry& entry, std::vector<std::string> words,
                                 CommandLine* line) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const bool has_dashes = dashes != words.end();
  const bool help = words.size() == 2 && words[1] == "--help";
  if (entry.words == VerbEntry::Words::kAllWords && !has_dashes && !help) {
    line->rest.assign(words.begin() + 1, words.end());
    return {words[0]};
  }
  const std::vector<std::string> flags = FlagsOf(entry);
  for (auto word = words.begin() + 1; word < dashes; ++word) {
    *word = WithUnderscores(*word, flags);
  }
  if (has_dashes && entry.words != VerbEntry::Words::kOwn) {
    line->rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  return words;
}

// Reports one of `words`, all unknown to the verb: the first flag that was typed, else the first
// word.
int NotExpected(const VerbEntry* entry, const std::vector<std::string>& typed,
                const std::vector<std::string>& words, std::ostream& err) {
  const auto end = std::find(typed.begin(), typed.end(), "--");
  const auto flag = std::find_if(typed.begin(), end, [&](const std::string& word) {
    return word.size() > 1 && word[0] == '-' &&
           std::find(words.begin(), words.end(), word) != words.end();
  });
  const bool is_flag = flag != end;
  const auto other = std::find_if(words.begin(), words.end(),
                                  [](const std::string& word) { return word != "--"; });
  const std::string word = is_flag                ? flag->substr(0, flag->find('='))
                           : other == words.end() ? "--"
                                                  : *other;
  const std::string name = entry == nullptr ? "" : absl::StrCat(" ", entry->name);
  err << "yard" << name << ": " << (is_flag ? "no flag " : "this word is one too many: ")
      << runtime::Printable(word);
  if (is_flag && word == "--at" && entry != nullptr) {
    err << "; it goes before the verb: yard --at HOST" << name << "\n";
    return kUsage;
  }
  // Short flags get no suggestion, because any two are similar.
  if (is_flag && word.starts_with("--") && entry != nullptr)
    err << DidYouMean(word, FlagsOf(*entry));
  if (entry != nullptr && entry->words == VerbEntry::Words::kProgram) {
    err << "; a program and its words go behind --: yard" << name << " -- PROGRAM ...";
  }
  err << "; yard" << name << " --help lists all\n";
  return kUsage;
}

}  // namespace

int ParseCommandLine(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                     CommandLine* line) {
  if (words.empty()) words = {"status"};
  if (words[0] == "help") words = HelpOf(std::move(words));
  const VerbEntry* const entry = FindVerb(words[0]);
  if (entry == nullptr && words[0].substr(0, 1) != "-") return NoVerb(words[0], err);
  if (entry != nullptr) words = WordsOf(*entry, std::move(words), line);
  CLI::App app(ListOfVerbs(), "yard");
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  std::map<const CLI::App*, std::pair<const VerbEntry*, std::unique_ptr<Verb>>> verbs;
  for (const VerbEntry& each : Verbs()) {
    CLI::App* const sub = app.add_subcommand(each.name, Describe(each));
    auto verb = each.make();
    Declare(sub, *verb, line);
    verbs[sub] = {&each, std::move(verb)};
  }
  const std::vector<std::string> typed = words;
  try {
    // CLI11 expects the words in reverse order.
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    return NotExpected(entry, typed, app.remaining(true), err);
  } catch (const CLI::ParseError& error) {
    // The message quotes typed words, so it is made printable.
    std::ostringstream message;
    const int code = app.exit(error, out, message);
    err << runtime::PrintableLines(message.str());
    return code == 0 ? kDone : kUsage;
  }
  auto& [parsed, verb] = verbs[app.get_subcommands().front()];
  line->entry = parsed;
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
