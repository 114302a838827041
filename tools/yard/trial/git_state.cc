// Git runs programs named in a repository's configuration for a dozen reasons. This file and
// git_program.cc disable those that apply to `rev-parse`, `status`, `diff` and `ls-files`:
// - filters (filter.NAME.clean, .process) have no switch, so each one that `git config --list`
//   names is set to empty; if a name cannot be given to `-c`, or git does not answer, no command
//   that would run filters is run;
// - external and textual diffs, the pager, renamed prefixes: by options;
// - the file system monitor and hooks: by our own configuration, which comes last;
// - fetching missing objects (a promisor remote's uploadpack, ssh, helpers): by environment
//   variables;
// - submodules: git would run itself in them with their own filters enabled, so git only compares
//   their commits, and ReadGit() runs git in each submodule in the same safe way.

#include "tools/yard/trial/git_state.h"

#include <string.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tools/yard/follow/program_output.h"
#include "tools/yard/trial/git_program.h"

namespace yard {
namespace {

constexpr std::size_t kShort = 64 << 10;
constexpr std::size_t kMaxConfiguration = 256 << 10;
constexpr std::size_t kNamesShown = 100;
constexpr std::size_t kMaxSubmodules = 100;  // Limit of submodules of one repository.
constexpr int kMaxDepth = 8;                 // Limit of nested submodules.
constexpr char kIgnored[] = "--ignore-submodules=dirty";

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Returns true for a relative path without "." and "..".
bool IsBelow(const std::string& path) {
  for (const auto name : absl::StrSplit(path, '/')) {
    if (name.empty() || name == "." || name == "..") return false;
  }
  return true;
}

// Returns a filter's name from a configuration key such as "filter.lfs.clean".
std::optional<std::string> FilterOf(const std::string& key) {
  constexpr char kSection[] = "filter.";
  const std::size_t begin = strlen(kSection), end = key.rfind('.');
  if (!absl::StartsWith(key, kSection) || end < begin) return std::nullopt;
  return key.substr(begin, end - begin);
}

class Git {
 public:
  Git(const std::vector<std::string>& environment, absl::Duration deadline)
      : environment_(environment), deadline_(deadline) {}

  GitState Read(const std::string& directory);

 private:
  // Options and paths that make git examine the files of `root` without running filters.
  struct Filters {
    bool are_known = false;
    std::vector<std::string> off;       // Options of git.
    std::vector<std::string> pathspec;  // Files without a filter; empty for all.
  };

  ProgramOutput Ask(const std::vector<std::string>& options, const std::vector<std::string>& words,
                    const std::string& where, std::size_t limit) const;
  Filters FiltersOf(const std::string& root) const;
  // Returns the entries of `git status`, "XY PATH" each.
  std::optional<std::vector<std::string>> Status(const std::string& root, const Filters& filters,
                                                 std::vector<std::string> words) const;
  void ReadStatus(const Filters& filters, GitState* git) const;
  void ReadDiff(const Filters& filters, GitState* git) const;
  std::vector<std::string> Submodules(const std::string& root) const;
  std::optional<bool> IsAnySubmoduleDirty(const std::string& root, absl::Time until,
                                          int depth) const;
  std::optional<bool> IsSubmoduleDirty(const std::string& root, absl::Time until, int depth) const;

  const std::vector<std::string> environment_;
  const absl::Duration deadline_;
};

ProgramOutput Git::Ask(const std::vector<std::string>& options,
                       const std::vector<std::string>& words, const std::string& where,
                       std::size_t limit) const {
  std::vector<std::string> all = options;
  all.insert(all.end(), words.begin(), words.end());
  return AskGit(all, where, environment_, limit, deadline_);
}

Git::Filters Git::FiltersOf(const std::string& root) const {
  Filters filters;
  const auto listed = Ask({}, {"config", "--list", "--name-only", "-z"}, root, kMaxConfiguration);
  if (!listed.ok || listed.is_cut) return filters;
  std::set<std::string> names;
  for (const auto key : absl::StrSplit(listed.text, '\0')) {
    if (const auto name = FilterOf(std::string(key)); name.has_value()) names.insert(*name);
  }
  for (const std::string& name : names) {
    // git's -c ends the name at the first '=', so such a filter cannot be disabled.
    if (absl::StrContains(name, '=')) return {};
    for (const char* setting : {".clean=", ".smudge=", ".process=", ".required=false"}) {
      filters.off.emplace_back("-c");
      filters.off.push_back(absl::StrCat("filter.", name, setting));
    }
  }
  filters.are_known = true;
  // Matches files whose filter attribute is unset or false.
  if (!names.empty()) filters.pathspec = {":(top,attr:!filter)", ":(top,attr:-filter)"};
  return filters;
}

std::optional<std::vector<std::string>> Git::Status(const std::string& root, const Filters& filters,
                                                    std::vector<std::string> words) const {
  words.insert(words.begin(), {"status", "--porcelain", "-z", "--no-renames", kIgnored});
  const ProgramOutput status = Ask(filters.off, words, root, kShort);
  if (!status.ok) return std::nullopt;
  // Entries end with NUL, so names may hold anything else. The last piece is empty or truncated.
  std::vector<std::string> entries = absl::StrSplit(status.text, '\0');
  entries.pop_back();
  return entries;
}

void Git::ReadStatus(const Filters& filters, GitState* git) const {
  if (!filters.are_known) return;
  const auto all = Status(git->root, filters, {});
  if (!all.has_value()) return;
  std::vector<std::string> plain = *all;
  if (!filters.pathspec.empty() && !all->empty()) {
    std::vector<std::string> words = {"--untracked-files=no", "--"};
    words.insert(words.end(), filters.pathspec.begin(), filters.pathspec.end());
    const auto without = Status(git->root, filters, words);
    if (!without.has_value()) return;
    plain = *without;
  }
  const std::set<std::string> known(plain.begin(), plain.end());
  bool dirty = false;
  for (const std::string& entry : *all) {
    const bool is_new = absl::StartsWith(entry, "?? ");
    const bool is_filtered = !is_new && known.count(entry) == 0;
    if (!is_filtered) dirty = true;
    std::vector<std::string>& names = is_new ? git->untracked : git->filtered;
    if ((is_new || is_filtered) && names.size() < kNamesShown) names.push_back(entry.substr(3));
  }
  if (dirty || git->filtered.empty()) git->dirty = dirty;
}

void Git::ReadDiff(const Filters& filters, GitState* git) const {
  git->diff_is_cut = true;
  if (!filters.are_known) return;
  std::vector<std::string> words = {
      "diff",        "--no-ext-diff",   "--no-textconv",   "--no-color",       "--binary",
      "--unified=3", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"};
  words.emplace_back(kIgnored);
  words.insert(words.end(), {"HEAD", "--"});
  words.insert(words.end(), filters.pathspec.begin(), filters.pathspec.end());
  ProgramOutput diff = Ask(filters.off, words, git->root, kMaxDiff);
  git->diff = std::move(diff.text);
  git->diff_is_cut = diff.is_cut || !diff.ok;
  if (diff.is_cut) EndAtAWholeFile(&git->diff);
  if (!git->diff.empty()) git->dirty = true;
}

// Returns the submodules' paths relative to `root`, except untrusted ones that lead outside it.
std::vector<std::string> Git::Submodules(const std::string& root) const {
  const std::string file = root + "/.gitmodules";
  if (!Exists(file)) return {};
  const ProgramOutput listed =
      Ask({}, {"config", "--file", file, "-z", "--get-regexp", "^submodule\\..*\\.path$"}, root,
          kShort);
  std::vector<std::string> paths;
  for (const auto entry : absl::StrSplit(listed.text, '\0')) {
    const std::size_t end = entry.find('\n');
    if (end == entry.npos || paths.size() == kMaxSubmodules) continue;
    const std::string path(entry.substr(end + 1));
    if (IsBelow(path) && Exists(absl::StrCat(root, "/", path, "/.git"))) paths.push_back(path);
  }
  return paths;
}

std::optional<bool> Git::IsSubmoduleDirty(const std::string& root, absl::Time until,
                                          int depth) const {
  if (depth > kMaxDepth || absl::Now() >= until) return std::nullopt;
  GitState git;
  git.root = root;
  ReadStatus(FiltersOf(root), &git);
  if (git.dirty != false) return git.dirty;
  return IsAnySubmoduleDirty(root, until, depth + 1);
}

// Returns nothing if a submodule gave no answer.
std::optional<bool> Git::IsAnySubmoduleDirty(const std::string& root, absl::Time until,
                                             int depth) const {
  std::optional<bool> dirty = false;
  for (const std::string& path : Submodules(root)) {
    const auto one = IsSubmoduleDirty(absl::StrCat(root, "/", path), until, depth);
    if (one == true) return true;
    if (!one.has_value()) dirty.reset();
  }
  return dirty;
}

GitState Git::Read(const std::string& directory) {
  GitState git;
  const ProgramOutput root = Ask({}, {"rev-parse", "--show-toplevel"}, directory, kShort);
  if (!root.ok) return git;
  git.found = true;
  git.root = std::string(absl::StripSuffix(root.text, "\n"));
  const ProgramOutput head =
      Ask({}, {"rev-parse", "HEAD", "--abbrev-ref", "HEAD"}, git.root, kShort);
  const std::vector<std::string> lines = absl::StrSplit(head.text, '\n');
  if (head.ok && lines.size() >= 2) {
    git.commit = lines[0];
    git.branch = lines[1];
  }
  const Filters filters = FiltersOf(git.root);
  ReadStatus(filters, &git);
  const bool has_diff = git.dirty != false && !git.commit.empty();
  if (has_diff) ReadDiff(filters, &git);
  if (git.dirty == false) git.dirty = IsAnySubmoduleDirty(git.root, absl::Now() + deadline_, 0);
  return git;
}

}  // namespace

GitState ReadGit(const std::string& directory, const std::vector<std::string>& environment,
                 absl::Duration deadline) {
  if (!MayBeInRepository(directory)) return {};
  return Git(environment, deadline).Read(directory);
}

void EndAtAWholeFile(std::string* diff) {
  const std::size_t last = diff->rfind("\ndiff --git ");
  if (last != diff->npos) diff->resize(last + 1);
}

}  // namespace yard
