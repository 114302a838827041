#include "runtime/sqlite/database_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DatabaseFileTest : public testing::Test {
 protected:
  DatabaseFileTest() {
    std::string pattern = testing::TempDir() + "/database_file.XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~DatabaseFileTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(DatabaseFileTest, IsOfThisUserAloneAndMadeOnce) {
  const std::string path = directory_ + "/a.db";
  const mode_t old = umask(0);
  const auto made = MakeDatabaseFile(path);
  umask(old);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(*made);
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto again = MakeDatabaseFile(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again);
}

TEST_F(DatabaseFileTest, AConnectionNeedsADatabaseThatExists) {
  const std::string path = directory_ + "/a.db";
  const auto missing = ConnectToDatabase(path, 64);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("cannot open "), HasSubstr(path)));
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(MakeDatabaseFile(path).ok());
  const auto first = ConnectToDatabase(path, 64);
  const auto second = ConnectToDatabase(path, 64);
  ASSERT_TRUE(first.ok() && second.ok());
  (*first)->exec("CREATE TABLE words (word TEXT)");
  EXPECT_TRUE((*second)->tableExists("words"));
}

// Moves a database away while a service is restarted again and again.
TEST_F(DatabaseFileTest, EveryEmptyFileIsSaidToBeNew) {
  const std::string path = directory_ + "/a.db", full = directory_ + "/full";
  ASSERT_TRUE(WriteFileAtomically(full, "a database", 0600).ok());
  std::atomic<bool> ends = false;
  int empty = 0;
  const auto take_away = [&] {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return;
    if (status.st_size == 0) ++empty;
    unlink(path.c_str());
  };
  Thread mover("mover", [&] {
    while (!ends) {
      (void)!link(full.c_str(), path.c_str());
      take_away();
    }
  });
  int made_new = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto made = MakeDatabaseFile(path);
    if (made.ok() && *made) ++made_new;
  }
  ends = true;
  mover.Join();
  take_away();
  EXPECT_EQ(empty, made_new);
}

TEST_F(DatabaseFileTest, NamesThePathThatCannotBeOpened) {
  const auto made = MakeDatabaseFile(directory_ + "/missing/a.db");
  EXPECT_TRUE(absl::IsInternal(made.status()));
  EXPECT_THAT(std::string(made.status().message()),
              AllOf(HasSubstr("cannot open"), HasSubstr("/missing/a.db")));
}

TEST_F(DatabaseFileTest, AnErrorHasTheCodeOfItsCauseAndNamesTheFile) {
  const std::string path = directory_ + "/a.db";
  SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
  const auto execute = [&](const std::string& sql) {
    return TryDatabase(database, "add a row", [&] {
      database.exec(sql);
      return absl::OkStatus();
    });
  };
  EXPECT_TRUE(execute("INSERT INTO t VALUES (1, 'x')").ok());
  const absl::Status twice = execute("INSERT INTO t VALUES (1, 'x')");
  EXPECT_TRUE(absl::IsAlreadyExists(twice)) << twice;
  EXPECT_THAT(std::string(twice.message()),
              AllOf(HasSubstr("cannot add a row in " + path), HasSubstr("UNIQUE")));
  database.exec("PRAGMA max_page_count=3");
  const absl::Status full = execute("INSERT INTO t VALUES (2, randomblob(1000000))");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_TRUE(absl::IsInternal(execute("INSERT INTO nothing VALUES (1)")));
}

TEST_F(DatabaseFileTest, OtherExceptionsBecomeAStatusToo) {
  SQLite::Database database(directory_ + "/a.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const absl::Status status = TryDatabase(
      database, "count", []() -> absl::Status { throw std::runtime_error("no more fingers"); });
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_EQ(status.message(), "cannot count: no more fingers");
}

}  // namespace
}  // namespace runtime
