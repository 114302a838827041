#include "tools/yard/trial/git_program.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace yard {
namespace {

constexpr char kDefaultPath[] = "/usr/bin:/bin";

// Keeps only absolute directories, so that no program in the repository is run as git.
std::string AbsolutePath(const std::string& path) {
  std::vector<std::string> places = absl::StrSplit(path, ':');
  std::erase_if(places, [](const std::string& place) { return !absl::StartsWith(place, "/"); });
  return places.empty() ? kDefaultPath : absl::StrJoin(places, ":");
}

std::vector<std::string> GitEnvironment(const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  std::string path = kDefaultPath;
  for (const std::string& entry : environment) {
    if (absl::StartsWith(entry, "PATH=")) {
      path = entry.substr(5);
    } else if (!absl::StartsWith(entry, "GIT_")) {
      result.push_back(entry);
    }
  }
  result.push_back(absl::StrCat("PATH=", AbsolutePath(path)));
  for (const char* entry : {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
                            "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C"}) {
    result.emplace_back(entry);
  }
  return result;
}

}  // namespace

bool MayBeInRepository(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(directory, error);
  if (error) return true;
  for (std::filesystem::path at = real;; at = at.parent_path()) {
    // If this process cannot examine a directory, git decides.
    const auto status = std::filesystem::symlink_status(at / ".git", error);
    if (status.type() != std::filesystem::file_type::not_found) return true;
    if (at == at.root_path()) return false;
  }
}

ProgramOutput AskGit(const std::vector<std::string>& words, const std::string& where,
                     const std::vector<std::string>& environment, std::size_t limit,
                     absl::Duration deadline) {
  std::vector<std::string> argv = {"git", "--no-pager"};
  for (const char* setting : {"core.fsmonitor=false", "core.hooksPath=/dev/null",
                              "core.quotePath=false", "diff.orderFile=/dev/null"}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  argv.insert(argv.end(), words.begin(), words.end());
  return ReadProgram(argv, where, GitEnvironment(environment), limit, deadline);
}

}  // namespace yard
