#include "runtime/process/usable_memory.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

using Fields = std::vector<std::string>;

// Where a hierarchy of control groups is mounted, and which group is at the mount point.
struct Mount {
  std::string group;
  std::string directory;
};

Fields Split(const std::string& text, char separator) { return absl::StrSplit(text, separator); }

bool Has(const Fields& fields, std::string_view field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

// mountinfo encodes a space as "\040", and so on.
std::string Unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Format: "36 25 0:30 ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE SUPER_OPTIONS".
std::optional<Mount> MountOf(const std::string& line, bool unified) {
  const Fields fields = Split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (fields.size() < 5 || fields.end() - dash < 4) return std::nullopt;
  const bool right =
      unified ? dash[1] == "cgroup2" : dash[1] == "cgroup" && Has(Split(dash[3], ','), "memory");
  if (!right) return std::nullopt;
  return Mount{Unescape(fields[3]), Unescape(fields[4])};
}

// Returns the path of `group` below its mount point; empty for the group at the mount point, and
// for a group that is not visible there.
std::string PathBelow(const Mount& mount, std::string_view group) {
  if (mount.group != "/") {
    const std::string around = mount.group + "/";
    if (group.substr(0, around.size()) != around) return "";
    group.remove_prefix(mount.group.size());
  }
  const bool seen = group.substr(0, 1) == "/" && group != "/" && group.substr(0, 3) != "/..";
  return seen ? std::string(group) : "";
}

std::optional<std::uint64_t> Number(const TextReader& read, const std::string& path) {
  const std::optional<std::string> text = read(path);
  std::uint64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) {
    return std::nullopt;
  }
  // Version 1 expresses "unlimited" as nearly 2^63.
  if (number >= std::uint64_t{1} << 62) return std::nullopt;
  return number;
}

void Lower(std::optional<std::uint64_t> limit, std::optional<std::uint64_t>* least) {
  if (limit.has_value()) *least = least->has_value() ? std::min(**least, *limit) : limit;
}

// Lowers `least` to the lowest limit of a group and its ancestors.
void LowerByGroup(const TextReader& read, const Mount& mount, std::string_view group, bool unified,
                  std::optional<std::uint64_t>* least) {
  for (std::string below = PathBelow(mount, group);; below.resize(below.rfind('/'))) {
    const std::string directory = absl::StrCat(mount.directory, below);
    if (unified) {
      Lower(Number(read, absl::StrCat(directory, "/memory.max")), least);
      Lower(Number(read, absl::StrCat(directory, "/memory.high")), least);
    } else {
      Lower(Number(read, absl::StrCat(directory, "/memory.limit_in_bytes")), least);
    }
    if (below.empty()) return;
  }
}

std::optional<std::uint64_t> HostMemory(const TextReader& read) {
  for (const std::string& line : Split(read("/proc/meminfo").value_or(""), '\n')) {
    const Fields fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::uint64_t kib = 0;
    if (fields.size() >= 2 && fields[0] == "MemTotal:" && absl::SimpleAtoi(fields[1], &kib) &&
        kib < (std::uint64_t{1} << 53)) {
      return kib << 10;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> UsableMemory(const TextReader& read) {
  std::optional<std::uint64_t> least = HostMemory(read);
  const Fields mounts = Split(read("/proc/self/mountinfo").value_or(""), '\n');
  for (const std::string& line : Split(read("/proc/self/cgroup").value_or(""), '\n')) {
    // Version 2: "0::/user.slice"; version 1: "4:memory:/docker/1f". A path may contain colons.
    const Fields fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool unified = fields[1].empty();
    if (!unified && !Has(Split(fields[1], ','), "memory")) continue;
    for (const std::string& mounted : mounts) {
      const std::optional<Mount> mount = MountOf(mounted, unified);
      if (mount.has_value()) LowerByGroup(read, *mount, fields[2], unified, &least);
    }
  }
  return least;
}

std::optional<std::uint64_t> UsableMemory() {
  return UsableMemory([](const std::string& path) -> std::optional<std::string> {
    absl::StatusOr<std::string> text = ReadFile(path, kMaxFileBytes);
    if (!text.ok()) return std::nullopt;
    return *std::move(text);
  });
}

}  // namespace runtime
