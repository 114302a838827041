#include "tools/yard/along/git_files.h"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/yard/trial/git_program.h"

namespace yard {
namespace {

constexpr std::size_t kShort = 64 << 10;
constexpr std::size_t kMaxList = 64 << 20;
constexpr int kMaxDepth = 8;  // Limit of nested submodules.
constexpr char kSubmodule[] = "160000 ";

class Lister {
 public:
  Lister(const std::vector<std::string>& environment, absl::Duration deadline)
      : environment_(environment), deadline_(deadline) {}

  // Adds the files below `directory`, whose path relative to the root is `prefix`.
  absl::Status Add(const std::string& directory, const std::string& prefix, int depth,
                   GitFiles* files) const {
    const auto known = List(directory, {"--cached", "--stage"});
    if (!known.ok()) return known.status();
    const auto others = List(directory, {"--others", "--exclude-standard"});
    if (!others.ok()) return others.status();
    for (const std::string& entry : *known) {
      // Format of an entry: "MODE HASH STAGE\tPATH".
      const std::size_t tab = entry.find('\t');
      if (tab == entry.npos) continue;
      const std::string path = entry.substr(tab + 1);
      if (!absl::StartsWith(entry, kSubmodule)) {
        files->tracked.insert(prefix + path);
        continue;
      }
      const std::string below = absl::StrCat(directory, "/", path);
      std::error_code error;
      // A submodule that was not fetched has no files.
      if (depth >= kMaxDepth || !std::filesystem::exists(below + "/.git", error)) continue;
      auto added = Add(below, absl::StrCat(prefix, path, "/"), depth + 1, files);
      if (!added.ok()) return added;
    }
    for (const std::string& path : *others) {
      // Nested repositories end with a slash.
      if (!absl::EndsWith(path, "/")) files->untracked.insert(prefix + path);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory,
                                                std::vector<std::string> options) const {
    std::vector<std::string> words = {"ls-files", "-z"};
    words.insert(words.end(), options.begin(), options.end());
    const ProgramOutput listed = AskGit(words, directory, environment_, kMaxList, deadline_);
    if (!listed.ok || listed.is_cut) {
      return absl::UnavailableError(
          absl::StrCat("git does not list the files of ", directory,
                       "; next: see what `git ls-files` says there, or take a directory along with "
                       "--sync DIR"));
    }
    std::vector<std::string> entries = absl::StrSplit(listed.text, '\0', absl::SkipEmpty());
    return entries;
  }

  const std::vector<std::string>& environment_;
  const absl::Duration deadline_;
};

}  // namespace

absl::StatusOr<std::optional<GitFiles>> ListGitFiles(const std::string& directory,
                                                     const std::vector<std::string>& environment,
                                                     absl::Duration deadline) {
  if (!MayBeInRepository(directory)) return std::nullopt;
  const ProgramOutput root =
      AskGit({"rev-parse", "--show-toplevel"}, directory, environment, kShort, deadline);
  if (!root.ok) {
    return absl::UnavailableError(absl::StrCat(
        "git does not answer in ", directory,
        "; next: see what `git status` says there, or take a directory along with --sync DIR"));
  }
  GitFiles files;
  files.root = std::string(absl::StripSuffix(root.text, "\n"));
  auto added = Lister(environment, deadline).Add(files.root, "", 0, &files);
  if (!added.ok()) return added;
  return files;
}

}  // namespace yard
