#include "runtime/sqlite/database_check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace runtime {
namespace {

class DatabaseCheckTest : public testing::Test {
 protected:
  DatabaseCheckTest() {
    char name[] = "/tmp/dc-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/a.db";
    Open();
    database_->exec(
        "PRAGMA journal_mode=WAL; CREATE TABLE runs (id INTEGER PRIMARY KEY, text TEXT)");
    for (int i = 0; i < 500; ++i) {
      database_->exec("INSERT INTO runs (text) VALUES ('" + std::string(200, 'x') + "')");
    }
  }
  ~DatabaseCheckTest() override { std::filesystem::remove_all(directory_); }

  void Open() { database_.emplace(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE); }

  std::string directory_, path_;
  std::optional<SQLite::Database> database_;
};

TEST_F(DatabaseCheckTest, OneThatWasClosedWasNotLeftOpen) {
  EXPECT_TRUE(WasLeftOpen(path_)) << "it is open";
  database_.reset();
  EXPECT_FALSE(WasLeftOpen(path_));
  EXPECT_FALSE(WasLeftOpen(directory_ + "/missing"));
}

TEST_F(DatabaseCheckTest, NamesWhatIsInADirectory) {
  EXPECT_EQ(FirstEntryIn(directory_ + "/missing"), "");
  std::filesystem::create_directory(directory_ + "/jobs");
  std::ofstream(directory_ + "/jobs/.hidden") << "x";
  EXPECT_EQ(FirstEntryIn(directory_ + "/jobs"), "");
  std::ofstream(directory_ + "/jobs/j-1") << "x";
  EXPECT_EQ(FirstEntryIn(directory_ + "/jobs"), directory_ + "/jobs/j-1");
}

TEST_F(DatabaseCheckTest, FindsNothingInAWholeOneThatIsInUse) {
  EXPECT_EQ(DamageOf(path_), "");
  database_.reset();
  EXPECT_EQ(DamageOf(path_), "");
}

TEST_F(DatabaseCheckTest, FindsBytesThatAreNoPage) {
  database_.reset();
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5 * 4096);
    file << std::string(4096, '\x5A');
  }
  EXPECT_NE(DamageOf(path_), "");
  std::ofstream(path_) << std::string(8192, 'x');
  EXPECT_NE(DamageOf(path_), "");
}

}  // namespace
}  // namespace runtime
