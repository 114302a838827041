#include "launcher/node/own_programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

constexpr std::size_t kMostMaps = 1 << 20;
constexpr std::size_t kMostBytes = 256 << 20;  // Limit of one mapping.
constexpr std::size_t kMostProgram = 256 << 20;

// (The sanitizer would report a read between two variables.)
__attribute__((no_sanitize("address"))) void ReadByte(std::uint64_t at) {
  (void)*reinterpret_cast<const volatile char*>(at);
}

// Reads a mapping's pages, and returns its size; 0 if the mapping is not of a program. A line is
// "7f0000000000-7f0000001000 r-xp 00000000 00:2a 17 /path".
std::size_t LoadMapping(absl::string_view line) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::MaxSplits(' ', 5), absl::SkipEmpty());
  const auto slash = line.find('/');
  if (fields.size() < 5 || slash == absl::string_view::npos || fields[1].empty()) return 0;
  if (fields[1][0] != 'r' || line.substr(slash, 5) == "/dev/") return 0;
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(fields[0], absl::MaxSplits('-', 1));
  std::uint64_t begin = 0, end = 0;
  if (!absl::SimpleHexAtoi(ends.first, &begin) || !absl::SimpleHexAtoi(ends.second, &end)) return 0;
  if (end <= begin || end - begin > kMostBytes) return 0;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (std::uint64_t at = begin; at < end; at += page) ReadByte(at);
  return end - begin;
}

}  // namespace

std::size_t LoadOwnProgram() {
  const auto maps = runtime::ReadFile("/proc/self/maps", kMostMaps);
  std::size_t bytes = 0;
  if (!maps.ok()) return bytes;
  for (const absl::string_view line : absl::StrSplit(*maps, '\n')) bytes += LoadMapping(line);
  return bytes;
}

absl::StatusOr<std::string> CopyProgram(const std::string& program, const std::string& directory) {
  const auto content = runtime::ReadFile(program, kMostProgram);
  if (!content.ok()) return content.status();
  std::string copy =
      absl::StrCat(directory, "/", std::filesystem::path(program).filename().string());
  absl::Status written =
      runtime::WriteFileAtomically(copy, *content, runtime::FileMode::Exactly(0700));
  if (!written.ok()) return written;
  if (access(copy.c_str(), X_OK) == 0) return copy;
  const int error = errno;
  std::error_code ignored;
  std::filesystem::remove(copy, ignored);
  return absl::FailedPreconditionError(absl::StrCat("no program can be executed in ", directory,
                                                    ": ", std::generic_category().message(error)));
}

}  // namespace launcher
