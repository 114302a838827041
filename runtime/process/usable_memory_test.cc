#include "runtime/process/usable_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace runtime {
namespace {

using Files = std::map<std::string, std::string>;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr char kMeminfo[] = "MemTotal:        8388608 kB\nMemFree:         1 kB\n";
constexpr char kUnified[] =
    "22 28 0:20 / /proc rw,relatime - proc proc rw\n"
    "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kVersion1[] =
    "31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 30 0:29 /docker/1f /sys/fs/cgroup/memory ro shared:9 master:2 - cgroup cgroup rw,memory\n";

std::optional<std::uint64_t> Usable(const Files& files) {
  return UsableMemory([&](const std::string& path) -> std::optional<std::string> {
    const auto it = files.find(path);
    if (it == files.end()) return std::nullopt;
    return it->second;
  });
}

struct Row {
  std::string name;
  Files files;
  std::optional<std::uint64_t> usable;
};

TEST(UsableMemoryTest, WhatAProcessMayUse) {
  const std::string meminfo = "/proc/meminfo", cgroup = "/proc/self/cgroup",
                    mounts = "/proc/self/mountinfo";
  const std::vector<Row> rows = {
      {"the host's memory", {{meminfo, kMeminfo}}, 8192 * kMiB},
      {"a group's own limit",
       {{meminfo, kMeminfo},
        {cgroup, "0::/a/b\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/a/b/memory.max", "1073741824\n"},
        {"/sys/fs/cgroup/a/memory.max", "max\n"}},
       1024 * kMiB},
      {"a limit around it",
       {{meminfo, kMeminfo},
        {cgroup, "0::/a/b\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/a/b/memory.max", "1073741824\n"},
        {"/sys/fs/cgroup/a/memory.max", "536870912\n"}},
       512 * kMiB},
      {"a group that is slowed down before it is full",
       {{meminfo, kMeminfo},
        {cgroup, "0::/a\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/a/memory.high", "268435456\n"},
        {"/sys/fs/cgroup/a/memory.max", "536870912\n"}},
       256 * kMiB},
      {"a container that sees its group as the root",
       {{meminfo, kMeminfo},
        {cgroup, "0::/\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/memory.max", "1073741824\n"}},
       1024 * kMiB},
      {"a group outside of what is mounted",
       {{meminfo, kMeminfo},
        {cgroup, "0::/../other\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/memory.max", "1073741824\n"}},
       1024 * kMiB},
      {"version 1, below the group that is mounted",
       {{meminfo, kMeminfo},
        {cgroup, "5:cpu,cpuacct:/docker/1f\n4:hugetlb,memory:/docker/1f/job\n0::/\n"},
        {mounts, kVersion1},
        {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"},
        {"/sys/fs/cgroup/cpu/docker/1f/memory.limit_in_bytes", "1\n"}},
       1024 * kMiB},
      {"version 1 without a limit, and the host unknown",
       {{cgroup, "4:memory:/docker/1f\n"},
        {mounts, kVersion1},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
       std::nullopt},
      {"a group of another name that begins alike",
       {{meminfo, kMeminfo},
        {cgroup, "4:memory:/docker/1fff\n"},
        {mounts, kVersion1},
        {"/sys/fs/cgroup/memory/ff/memory.limit_in_bytes", "1\n"}},
       8192 * kMiB},
      {"a limit above the host's memory",
       {{meminfo, kMeminfo},
        {cgroup, "0::/a\n"},
        {mounts, kUnified},
        {"/sys/fs/cgroup/a/memory.max", "1099511627776\n"}},
       8192 * kMiB},
      {"a mount with a space and a path with a colon",
       {{meminfo, kMeminfo},
        {cgroup, "0::/a:b\n"},
        {mounts, "30 23 0:27 / /my\\040groups rw - cgroup2 none rw\n"},
        {"/my groups/a:b/memory.max", "1073741824\n"}},
       1024 * kMiB},
      {"nothing to be read", {}, std::nullopt},
      {"nonsense",
       {{meminfo, "MemTotal: lots\nMemTotal:\nMemTotal: 99999999999999999999 kB"},
        {cgroup, "0::\n::\n0\n:\n0::a\n0:memory\n4:memory:b/c\n"},
        {mounts,
         "- cgroup2 a b\n1 2 3 4 5 - cgroup2\n\\04 \\0 \\ / - - - -\n30 23 0:27 / /m rw - "
         "cgroup2 none rw\n"},
        {"/m/memory.max", "-5\n"},
        {"/m/memory.high", "12 MiB\n"}},
       std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(Usable(row.files), row.usable) << row.name;
}

TEST(UsableMemoryTest, IsToBeHadHere) {
  ASSERT_TRUE(UsableMemory().has_value());
  EXPECT_GT(*UsableMemory(), 0U);
  EXPECT_LT(*UsableMemory(), std::uint64_t{1} << 60);
}

}  // namespace
}  // namespace runtime
