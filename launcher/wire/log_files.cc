#include "launcher/wire/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace launcher {
namespace {

constexpr std::size_t kDigits = 20;
// If a rotation happens during a search, the search is repeated, up to this many times; for a log
// that is rotated faster than its folder can be read, the last result is returned.
constexpr int kMaxLooks = 20;

std::optional<std::uint64_t> BeginIn(std::string_view name, std::string_view prefix) {
  if (name.size() != prefix.size() + kDigits || !name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint64_t begin = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), begin);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return begin;
}

std::vector<LogSegment> FindSegments(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string prefix = path.substr(slash == std::string::npos ? 0 : slash + 1) + ".";
  std::vector<LogSegment> segments;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return segments;
  while (const dirent* entry = readdir(directory)) {
    const auto begin = BeginIn(entry->d_name, prefix);
    if (!begin) continue;
    LogSegment segment{LogSegmentPath(path, *begin), *begin, *begin};
    struct stat about = {};
    if (stat(segment.path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    segment.end += static_cast<std::uint64_t>(about.st_size);
    segments.push_back(std::move(segment));
  }
  closedir(directory);
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return segments;
}

// True if PATH is still the file that was opened before the folder was read. The inode cannot be
// reused, because the file is open.
bool IsStill(const std::string& path, const runtime::UniqueFd& file) {
  struct stat now = {}, then = {};
  if (stat(path.c_str(), &now) != 0) return !file.valid();
  return file.valid() && fstat(file.get(), &then) == 0 && now.st_dev == then.st_dev &&
         now.st_ino == then.st_ino;
}

}  // namespace

std::string LogSegmentPath(const std::string& path, std::uint64_t begin) {
  const std::string digits = std::to_string(begin);
  return path + "." + std::string(kDigits - digits.size(), '0') + digits;
}

runtime::UniqueFd OpenLogFile(const std::string& path) {
  runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about = {};
  if (!file.valid() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return file;
}

LogFiles FindLogFiles(const std::string& path) {
  LogFiles files;
  for (int look = 0; look < kMaxLooks; ++look) {
    files.current = OpenLogFile(path);
    files.segments = FindSegments(path);
    // PATH may be missing for a moment during a rotation. A missing PATH is checked twice, because
    // a whole rotation may have happened between two such moments.
    if (files.current.valid() ? IsStill(path, files.current) : look > 0) break;
  }
  files.current_begin = files.segments.empty() ? 0 : files.segments.back().end;
  files.current_end = files.current_begin;
  struct stat about = {};
  if (files.current.valid() && fstat(files.current.get(), &about) == 0) {
    files.current_end += static_cast<std::uint64_t>(about.st_size);
  }
  return files;
}

}  // namespace launcher
