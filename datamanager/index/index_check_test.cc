#include "datamanager/index/index_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"

namespace datamanager {
namespace {

constexpr auto kEvents = FileKind::kTensorBoard;

// Two files of 100 bytes, each read up to byte 90.
IndexedRun Indexed() {
  IndexedRun index;
  for (const char* name : {"a", "b"}) {
    IndexedFile file;
    file.name = name;
    file.format = static_cast<std::uint8_t>(kEvents);
    file.modified_ns = 1000;
    file.position.record.offset = 90;
    file.position.inode = 7;
    file.position.size = 100;
    file.position.change_ns = 5000;
    index.files.push_back(file);
  }
  return index;
}

ListedRun Listed() {
  ListedRun run;
  run.directory = "/logs/run";
  for (const char* name : {"a", "b"}) {
    ListedFile file;
    file.name = name;
    file.kind = kEvents;
    file.state.modified_ns = 1000;
    file.state.changed_ns = 5000;
    file.state.bytes = 100;
    file.state.identity.inode = 7;
    run.files.push_back(file);
  }
  return run;
}

struct Row {
  std::string name;
  std::function<void(IndexedFile&, ListedRun&)> change;  // Changes the second file.
  std::string wrong;                                     // The expected complaint; empty: none.
};

TEST(IndexCheckTest, WhatDirectoriesSay) {
  const std::vector<Row> rows = {
      {"nothing has changed", [](auto&, auto&) {}, ""},
      {"another file is new", [](auto&, ListedRun& run) { run.files.emplace_back().name = "c"; },
       ""},
      {"it has grown",
       [](auto&, ListedRun& run) {
         run.files[1].state.bytes = 101;
         run.files[1].state.modified_ns = 2000;
         run.files[1].state.changed_ns = 6000;
       },
       ""},
      {"copied, with its time",
       [](auto&, ListedRun& run) {
         run.files[1].state.identity.inode = 8;
         run.files[1].state.changed_ns = 6000;
       },
       ""},
      {"rewritten in the middle keeping its time",
       [](auto&, ListedRun& run) { run.files[1].state.changed_ns = 6000; }, "was changed"},
      {"the same, within the tick of the clock in which it was read",
       [](IndexedFile& file, ListedRun& run) {
         file.position.change_ns = 0;
         run.files[1].state.changed_ns = 6000;
       },
       ""},
      {"gone", [](auto&, ListedRun& run) { run.files.pop_back(); }, "is gone"},
      {"gone, and nothing was read of it",
       [](IndexedFile& file, ListedRun& run) {
         file.position.record.offset = 0;
         run.files.pop_back();
       },
       ""},
      {"shorter than what was read", [](auto&, ListedRun& run) { run.files[1].state.bytes = 89; },
       "is shorter"},
      {"shorter by what was not read yet",
       [](auto&, ListedRun& run) { run.files[1].state.bytes = 99; }, "is shorter"},
      {"written in place", [](auto&, ListedRun& run) { run.files[1].state.modified_ns = 1001; },
       "was written"},
      {"written in place, and nobody knows when before",
       [](IndexedFile& file, ListedRun& run) {
         file.modified_ns = 0;
         file.position.change_ns = 0;
         run.files[1].state.modified_ns = 1001;
       },
       ""},
      {"an older one that is longer",
       [](auto&, ListedRun& run) {
         run.files[1].state.bytes = 101;
         run.files[1].state.modified_ns = 999;
       },
       "is older"},
      {"of another kind", [](auto&, ListedRun& run) { run.files[1].kind = FileKind::kMindSpore; },
       "is of another kind"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    IndexedRun index = Indexed();
    ListedRun run = Listed();
    row.change(index.files[1], run);
    const absl::Status status = CheckIndex(index, run);
    EXPECT_EQ(status.ok(), row.wrong.empty()) << status;
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("/logs/run/b " + row.wrong), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace datamanager
