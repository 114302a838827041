#include "runtime/sqlite/database_schema.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

constexpr char kFirst[] = "CREATE TABLE runs (id TEXT)";
const DatabaseSchema kOld = {.newest = kFirst};
const DatabaseSchema kNew = {
    .newest = "CREATE TABLE runs (id TEXT, score REAL DEFAULT 1, note TEXT DEFAULT 'none')",
    .migrations = {"ALTER TABLE runs ADD COLUMN score REAL DEFAULT 1",
                   "ALTER TABLE runs ADD COLUMN note TEXT DEFAULT 'none';"
                   "UPDATE runs SET score = score + 1"}};

class DatabaseSchemaTest : public testing::Test {
 protected:
  DatabaseSchemaTest() {
    char name[] = "/tmp/schema-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/a.db";
  }
  ~DatabaseSchemaTest() override { std::filesystem::remove_all(directory_); }

  SQLite::Database Open() const {
    return {path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 10'000};
  }
  void MakeOld() const {
    SQLite::Database database = Open();
    ASSERT_EQ(PrepareDatabase(database, kOld), absl::OkStatus());
    database.exec("INSERT INTO runs VALUES ('a'), ('b')");
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static int Ask(SQLite::Database& database, const char* question) {
    return database.execAndGet(question).getInt();
  }

  std::string directory_, path_;
};

TEST_F(DatabaseSchemaTest, AnEmptyOneIsRefusedWhereItWasInUse) {
  DatabaseSchema schema = kNew;
  schema.trace_of_use = [] { return "/state/jobs/j-1"; };
  {
    SQLite::Database database = Open();
    const absl::Status status = PrepareDatabase(database, schema);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("a.db is empty, but it was in use: /state/jobs/j-1 is there"));
  }
  EXPECT_EQ(Bytes(), "") << "nothing was changed";
  // A file with tables is not empty; without a trace of use, an empty file counts as new.
  MakeOld();
  SQLite::Database old = Open();
  EXPECT_EQ(PrepareDatabase(old, schema), absl::OkStatus());
  std::filesystem::remove(path_);
  SQLite::Database fresh = Open();
  schema.trace_of_use = [] { return ""; };
  EXPECT_EQ(PrepareDatabase(fresh, schema), absl::OkStatus());
}

TEST_F(DatabaseSchemaTest, AnEmptyOneGetsTheNewestTables) {
  SQLite::Database database = Open();
  ASSERT_EQ(PrepareDatabase(database, kNew), absl::OkStatus());
  EXPECT_EQ(Ask(database, "PRAGMA user_version"), 3);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "wal");
  database.exec("INSERT INTO runs (id) VALUES ('a')");
  EXPECT_EQ(Ask(database, "SELECT score FROM runs"), 1) << "nothing was migrated";
}

TEST_F(DatabaseSchemaTest, AnOldOneIsMigratedStepByStepAndOnce) {
  MakeOld();
  for (int i = 0; i < 2; ++i) {
    SQLite::Database database = Open();
    ASSERT_EQ(PrepareDatabase(database, kNew), absl::OkStatus());
    EXPECT_EQ(Ask(database, "PRAGMA user_version"), 3);
    EXPECT_EQ(Ask(database, "SELECT count(*) FROM runs WHERE score = 2 AND note = 'none'"), 2);
  }
}

TEST_F(DatabaseSchemaTest, ANewerOneIsRefusedAndNotTouched) {
  {
    SQLite::Database database = Open();
    database.exec("CREATE TABLE strange (a); PRAGMA user_version=9");
  }
  const std::string before = Bytes();
  {
    SQLite::Database database = Open();
    const absl::Status status = PrepareDatabase(database, kNew);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), path_ +
                                    " was written by a newer version (9, this one knows 3): "
                                    "install that version again, or restore a back-up of before");
  }
  EXPECT_EQ(Bytes(), before);
}

TEST_F(DatabaseSchemaTest, AMigrationThatFailsLeavesAllAsItWas) {
  MakeOld();
  DatabaseSchema broken = kNew;
  broken.migrations[1] += "; UPDATE nothing SET a = 1";
  SQLite::Database database = Open();
  EXPECT_THROW((void)PrepareDatabase(database, broken), SQLite::Exception);
  EXPECT_EQ(Ask(database, "PRAGMA user_version"), 1);
  EXPECT_EQ(Ask(database, "SELECT count(*) FROM pragma_table_info('runs')"), 1);
  EXPECT_EQ(PrepareDatabase(database, kNew), absl::OkStatus());
}

void Die(sqlite3_context*, int, sqlite3_value**) { (void)raise(SIGKILL); }

TEST_F(DatabaseSchemaTest, AMigrationThatIsKilledIsDoneTheNextTime) {
  testing::FLAGS_gtest_death_test_style = "fast";  // No exec: one thread, and the same file.
  MakeOld();
  DatabaseSchema killed = kNew;
  killed.migrations[1] += "; SELECT die()";
  EXPECT_EXIT(
      {
        SQLite::Database database = Open();
        // With this cache, the changes are already in the log, not only in memory, when it dies.
        database.exec("PRAGMA cache_size=1");
        sqlite3_create_function(database.getHandle(), "die", 0, SQLITE_UTF8, nullptr, Die, nullptr,
                                nullptr);
        (void)PrepareDatabase(database, killed);
      },
      testing::KilledBySignal(SIGKILL), "");
  SQLite::Database database = Open();
  EXPECT_EQ(Ask(database, "PRAGMA user_version"), 1);
  EXPECT_EQ(Ask(database, "SELECT count(*) FROM runs"), 2);
  ASSERT_EQ(PrepareDatabase(database, kNew), absl::OkStatus());
  EXPECT_EQ(Ask(database, "SELECT count(*) FROM runs WHERE score = 2"), 2);
}

}  // namespace
}  // namespace runtime
