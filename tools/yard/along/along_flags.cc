#include "tools/yard/along/along_flags.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/along/git_files.h"
#include "tools/yard/along/work_archive.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"

namespace yard {
namespace {

constexpr std::size_t kNamed = 3;  // Number of links named in a note.

// Files and the directory that contains them.
struct Tree {
  std::string root;
  std::set<std::string> paths;
};

std::string RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// Returns `path` relative to `root`, both real paths; empty if it is the root or outside of it.
std::string Below(const std::string& root, const std::string& path) {
  const std::string begin = root == "/" ? root : root + "/";
  return absl::StartsWith(path, begin) ? path.substr(begin.size()) : "";
}

// Returns the yard's own directories, whose contents change all the time.
std::vector<std::string> OwnDirectories(const Context& context) {
  std::vector<std::string> all = {RealPath(context.locations.state_directory)};
  const auto wanted = ReadWanted(context.locations);
  if (wanted.ok() && wanted->has_value() && !(*wanted)->logdir.empty()) {
    all.push_back(RealPath((*wanted)->logdir));
  }
  return all;
}

void EraseBelow(const std::string& root, const std::vector<std::string>& directories,
                std::set<std::string>* paths) {
  for (const std::string& directory : directories) {
    const std::string below = Below(root, directory);
    if (below.empty()) continue;
    std::erase_if(*paths,
                  [&](const std::string& path) { return absl::StartsWith(path, below + "/"); });
  }
}

absl::StatusOr<std::optional<Tree>> GitTree(const Context& context, const std::string& directory) {
  auto files = ListGitFiles(directory, CallersEnvironment(context.environment));
  if (!files.ok()) return files.status();
  if (!files->has_value()) return std::nullopt;
  GitFiles& git = **files;
  EraseBelow(git.root, OwnDirectories(context), &git.untracked);
  if (auto sizes = CheckSizes(git.root, git.untracked, kMaxUntracked); !sizes.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("too much that git does not know would come along: ", sizes.message(),
                     "; next: name it in .gitignore, or take a directory along with --sync DIR"));
  }
  Tree tree{.root = git.root, .paths = std::move(git.tracked)};
  tree.paths.merge(git.untracked);
  return tree;
}

absl::StatusOr<std::optional<Tree>> SyncTree(const Context& context, const std::string& sync) {
  auto directory = CallersPath("--sync", sync, context.working_directory);
  if (!directory.ok()) return directory.status();
  std::error_code error;
  if (!std::filesystem::is_directory(*directory, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sync: ", runtime::Printable(*directory), " is no directory"));
  }
  Tree tree{.root = RealPath(*directory), .paths = {}};
  auto paths = FilesBelow(tree.root, OwnDirectories(context));
  if (!paths.ok()) return paths.status();
  tree.paths = *std::move(paths);
  return tree;
}

void SayLeftOut(const std::vector<std::string>& links, std::ostream* err) {
  if (links.empty() || err == nullptr) return;
  std::string named;
  for (std::size_t i = 0; i < std::min(kNamed, links.size()); ++i) {
    absl::StrAppend(&named, i == 0 ? "" : ", ", runtime::Printable(links[i]));
  }
  *err << "links that lead out of the directory do not come along: " << named
       << (links.size() > kNamed ? absl::StrCat(" and ", links.size() - kNamed, " more") : "")
       << std::endl;
}

}  // namespace

absl::Status AlongFlags::Check(const std::string& pool) const {
  if (sync_.empty() || !pool.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--sync ", runtime::Printable(sync_),
                   ": files come along to another host only; next: say which with --at POOL"));
}

absl::StatusOr<std::unique_ptr<msg::WorkT>> AlongFlags::Archive(
    const Context& context, const std::string& directory) const {
  if (IsElsewhere(context.locations)) {
    return absl::FailedPreconditionError(
        "--at: through a gate no files can come along; next: type it where the yard is");
  }
  auto tree = sync_.empty() ? GitTree(context, directory) : SyncTree(context, sync_);
  if (!tree.ok()) return tree.status();
  if (!tree->has_value()) return nullptr;
  auto archive = WriteWorkArchive((*tree)->root, (*tree)->paths, context.locations.state_directory);
  if (absl::IsFailedPrecondition(archive.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("these files cannot come along: ", archive.status().message(),
                     "; next: take a smaller directory along with --sync DIR"));
  }
  if (!archive.ok()) return archive.status();
  SayLeftOut(archive->links_left_out, context.err);
  auto work = std::make_unique<msg::WorkT>();
  work->sha256 = archive->sha256;
  work->bytes = archive->bytes;
  const std::string below = Below((*tree)->root, RealPath(directory));
  // The archive omits directories without files.
  const auto first = (*tree)->paths.lower_bound(below + "/");
  if (first != (*tree)->paths.end() && absl::StartsWith(*first, below + "/")) {
    work->subdirectory = below;
  }
  return work;
}

}  // namespace yard
