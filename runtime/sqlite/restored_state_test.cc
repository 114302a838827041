#include "runtime/sqlite/restored_state.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

class RestoredStateTest : public ::testing::Test {
 protected:
  RestoredStateTest() {
    char name[] = "/tmp/restoredXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~RestoredStateTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) const {
    ASSERT_EQ(WriteFileAtomically(folder_ + "/restored", text, 0600), absl::OkStatus());
  }
  // Returns how often the restoration was applied.
  int Apply() const {
    SQLite::Database database(folder_ + "/x.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    int calls = 0;
    EXPECT_EQ(ApplyRestored(database, [&](const RestoredState&) { ++calls; }), absl::OkStatus());
    return calls;
  }
  std::string folder_;
};

TEST_F(RestoredStateTest, PathsMoveWithTheirDirectories) {
  const RestoredState state{.id = "x", .moved = {{"/a/runs", "/b"}, {"/a", "/a/c"}}};
  EXPECT_EQ(state.Moved("/a/runs/first"), "/b/first");
  EXPECT_EQ(state.Moved("/a/runs"), "/b");
  EXPECT_EQ(state.Moved("/a/runsaway"), "/a/c/runsaway");
  EXPECT_EQ(state.Moved("/elsewhere"), "/elsewhere");
  EXPECT_EQ(state.Moved(""), "");
}

TEST_F(RestoredStateTest, EachRestorationIsAppliedOnce) {
  EXPECT_EQ(Apply(), 0);
  Write(RestoredState{.id = "first", .moved = {{"/a", "/b"}}}.Encode());
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Apply(), 0);
  Write(RestoredState{.id = "second", .moved = {}}.Encode());
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Apply(), 0);
}

TEST_F(RestoredStateTest, WhatFailsIsAppliedAgain) {
  Write(RestoredState{.id = "first", .moved = {}}.Encode());
  {
    SQLite::Database database(folder_ + "/x.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    EXPECT_THROW(
        (void)ApplyRestored(database, [](const RestoredState&) { throw SQLite::Exception("no"); }),
        SQLite::Exception);
  }
  EXPECT_EQ(Apply(), 1);
}

TEST_F(RestoredStateTest, AFileThatIsDamagedIsRefused) {
  for (const char* text : {"", "{", "[]", R"({"id": ""})", R"({"id": "x", "moved": 1})",
                           R"({"id": "x", "moved": [{"from": "a", "to": "/b"}]})"}) {
    Write(text);
    EXPECT_TRUE(absl::IsDataLoss(RestoredState::Read(folder_).status())) << text;
  }
}

}  // namespace
}  // namespace runtime
