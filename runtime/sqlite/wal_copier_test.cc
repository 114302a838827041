#include "runtime/sqlite/wal_copier.h"

#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

constexpr std::uintmax_t kCopied = 3 << 20;

class WalCopierTest : public testing::Test {
 protected:
  WalCopierTest() {
    database_.exec("PRAGMA journal_mode=WAL");
    database_.exec("PRAGMA synchronous=OFF");
    copier_.Serve(database_);
    database_.exec("CREATE TABLE texts (text TEXT)");
  }

  // Commits `texts` texts, each the size of a page.
  void Write(int texts) {
    SQLite::Statement insert(database_, "INSERT INTO texts VALUES (?)");
    for (int i = 0; i < texts; ++i) {
      insert.bind(1, std::string(4000, 'x'));
      insert.exec();
      insert.reset();
    }
  }
  static std::uintmax_t SizeOf(const std::string& path) {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(path, none);
    return none ? 0 : size;
  }

  static std::string NewPath() {
    std::string directory = testing::TempDir() + "/wal_XXXXXX";
    return std::string(mkdtemp(directory.data())) + "/test.db";
  }

  const std::string path_ = NewPath();
  WalCopier copier_{path_};  // Constructed before the database exists.
  SQLite::Database database_{path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
};

TEST_F(WalCopierTest, CopiesWhatWasCommitted) {
  Write(1'100);
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (SizeOf(path_) < kCopied && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_GE(SizeOf(path_), kCopied);
}

TEST_F(WalCopierTest, AFewPagesStayInTheLog) {
  Write(500);
  EXPECT_LT(SizeOf(path_), kCopied);
}

// A page that is rewritten often is many times in the log, but once in the database.
TEST_F(WalCopierTest, TheLogOfOneWhoNeverStopsIsBounded) {
  Write(1);
  for (int i = 0; i < 25'000; ++i) database_.exec("UPDATE texts SET text = 'y' || substr(text, 2)");
  EXPECT_LT(SizeOf(path_ + "-wal"), 64u << 20) << "all of it were 100 MB and more";
}

TEST_F(WalCopierTest, ThatItCannotCopyFailsNoCommit) {
  // Holds the checkpoint lock, as a process that hangs during a checkpoint would.
  const UniqueFd file(open((path_ + "-shm").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 121;  // SQLite's checkpoint lock (WAL_CKPT_LOCK).
  lock.l_len = 1;
  ASSERT_EQ(fcntl(file.get(), F_OFD_SETLK, &lock), 0);
  Write(9'000);
  EXPECT_LT(SizeOf(path_), kCopied);
  EXPECT_EQ(database_.execAndGet("SELECT count(*) FROM texts").getInt(), 9'000);
}

}  // namespace
}  // namespace runtime
