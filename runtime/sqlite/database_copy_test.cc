#include "runtime/sqlite/database_copy.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

class DatabaseCopyTest : public testing::Test {
 protected:
  DatabaseCopyTest() {
    char name[] = "/tmp/copy-XXXXXX";
    directory_ = mkdtemp(name);
    database_.emplace(Path("a.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 10'000);
    database_->exec("PRAGMA journal_mode=WAL");
    database_->exec("CREATE TABLE pairs (a INTEGER PRIMARY KEY, b INTEGER)");
  }
  ~DatabaseCopyTest() override {
    database_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  static int Ask(const std::string& path, const char* question) {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    return database.execAndGet(question).getInt();
  }

  std::string directory_;
  std::optional<SQLite::Database> database_;
};

TEST_F(DatabaseCopyTest, HasWhatWasCommitted) {
  database_->exec("PRAGMA user_version=7");
  database_->exec("INSERT INTO pairs VALUES (1, 10), (2, 20)");
  const auto bytes = CopyDatabase(Path("a.db"), Path("b.db"));
  ASSERT_EQ(bytes.status(), absl::OkStatus());
  EXPECT_EQ(*bytes, std::filesystem::file_size(Path("b.db")));
  struct stat about {};
  ASSERT_EQ(stat(Path("b.db").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_EQ(Ask(Path("b.db"), "SELECT sum(b) FROM pairs"), 30);
  EXPECT_EQ(Ask(Path("b.db"), "PRAGMA user_version"), 7);

  database_->exec("DELETE FROM pairs WHERE a = 1");
  ASSERT_EQ(CopyDatabase(Path("a.db"), Path("b.db")).status(), absl::OkStatus());
  EXPECT_EQ(Ask(Path("b.db"), "SELECT sum(b) FROM pairs"), 20);
}

// Each transaction adds two rows, so a copy with an odd number of rows would not be a snapshot.
TEST_F(DatabaseCopyTest, IsOfOneMomentWhileOthersWrite) {
  std::atomic<bool> end = false;
  std::atomic<int> written = 0;
  Thread writer("writer", [&] {
    for (int i = 0; !end; ++i) {
      SQLite::Transaction transaction(*database_);
      SQLite::Statement insert(*database_, "INSERT INTO pairs (b) VALUES (?), (?)");
      insert.bind(1, i);
      insert.bind(2, i);
      insert.exec();
      transaction.commit();
      ++written;
    }
  });
  for (int copies = 0; copies < 20; ++copies) {
    const int before = written;
    ASSERT_EQ(CopyDatabase(Path("a.db"), Path("b.db")).status(), absl::OkStatus());
    const int after = written + 1;
    const int rows = Ask(Path("b.db"), "SELECT count(*) FROM pairs");
    EXPECT_EQ(rows % 2, 0);
    EXPECT_GE(rows, 2 * before);
    EXPECT_LE(rows, 2 * after);
  }
  end = true;
  writer.Join();
}

TEST_F(DatabaseCopyTest, AFailureLeavesNothingAndTheOldCopy) {
  EXPECT_EQ(CopyDatabase(Path("none.db"), Path("b.db")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(CopyDatabase(Path("a.db"), Path("a.db")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CopyDatabase(Path("a.db"), Path("none/b.db")).status().code(),
            absl::StatusCode::kUnavailable);
  std::ofstream(Path("junk.db")) << std::string(5000, 'x');
  std::ofstream(Path("b.db")) << "old";
  const auto junk = CopyDatabase(Path("junk.db"), Path("b.db"));
  EXPECT_EQ(junk.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(junk.status().message()), testing::HasSubstr(Path("junk.db")));
  EXPECT_EQ(std::filesystem::file_size(Path("b.db")), 3u);
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_THAT(entry.path().string(), testing::Not(testing::HasSubstr("partial")));
  }
}

}  // namespace
}  // namespace runtime
