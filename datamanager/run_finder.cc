#include "datamanager/run_finder.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace datamanager {
namespace {

constexpr int kMaxDepth = 64;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Walks the tree; each directory once, known by its device and inode.
class Walk {
 public:
  explicit Walk(FoundRuns* found) : found_(found) {}

  bool Enter(const std::string& directory, const std::string& name, int depth) {
    struct stat info;
    if (stat(directory.c_str(), &info) != 0) return false;
    if (!seen_.insert({info.st_dev, info.st_ino}).second) return true;
    std::unique_ptr<DIR, CloseDirectory> handle(opendir(directory.c_str()));
    if (handle == nullptr) return false;
    found_->directories.push_back(directory);
    FoundRun run{.name = name, .directory = directory, .files = {}};
    std::vector<std::string> children;
    Read(handle.get(), directory, &run.files, &children);
    if (!run.files.empty()) {
      std::sort(run.files.begin(), run.files.end());
      found_->runs.push_back(std::move(run));
    }
    std::sort(children.begin(), children.end());
    for (const std::string& child : children) {
      const std::string child_name = name == "." ? child : absl::StrCat(name, "/", child);
      if (depth >= kMaxDepth ||
          !Enter(absl::StrCat(directory, "/", child), child_name, depth + 1)) {
        ++found_->skipped;
      }
    }
    return true;
  }

 private:
  static void Read(DIR* handle, const std::string& directory, std::vector<std::string>* files,
                   std::vector<std::string>* children) {
    while (const dirent* entry = readdir(handle)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (name == ".trash") continue;  // Removed runs: the trainer's.
      int type = entry->d_type;
      if (type == DT_LNK || type == DT_UNKNOWN) type = TypeOf(absl::StrCat(directory, "/", name));
      if (type == DT_DIR) children->push_back(name);
      if (type == DT_REG && IsEventFileName(name)) files->push_back(name);
    }
  }
  static int TypeOf(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return DT_UNKNOWN;
    return S_ISDIR(info.st_mode) ? DT_DIR : S_ISREG(info.st_mode) ? DT_REG : DT_UNKNOWN;
  }

  FoundRuns* const found_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

bool IsEventFileName(const std::string& name) {
  return absl::StrContains(name, "tfevents") && !absl::EndsWith(name, ".profile-empty");
}

absl::StatusOr<FoundRuns> FindRuns(const std::string& root) {
  FoundRuns found;
  if (!Walk(&found).Enter(root, ".", 0)) {
    return absl::NotFoundError(
        absl::StrCat("cannot look for runs in ", root, ": ", std::strerror(errno)));
  }
  std::sort(found.runs.begin(), found.runs.end(),
            [](const FoundRun& a, const FoundRun& b) { return a.name < b.name; });
  return found;
}

}  // namespace datamanager
