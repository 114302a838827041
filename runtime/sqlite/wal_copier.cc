#include "runtime/sqlite/wal_copier.h"

#include <sqlite3.h>

#include <exception>
#include <memory>
#include <utility>

#include "glog/logging.h"

namespace runtime {
namespace {

// Number of log pages after which a checkpoint is requested: SQLite's own default.
constexpr int kPages = 1000;
// From this size on, commits run checkpoints themselves, because they outpace the thread or the
// thread fails.
constexpr int kMostPages = 8 * kPages;
// How long emptying the log waits for a commit to end.
constexpr int kBusyMs = 1000;

}  // namespace

WalCopier::WalCopier(const std::string& path)
    : path_(path), thread_("wal-copier", [this] { Run(); }) {}

WalCopier::~WalCopier() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.Signal();
  thread_.Join();
}

void WalCopier::Serve(SQLite::Database& database) {
  sqlite3_wal_hook(database.getHandle(), OnCommit, this);
}

// (A failure of this checkpoint is not a failure of the commit.)
int WalCopier::OnCommit(void* self, sqlite3* database, const char* name, int pages) {
  static_cast<WalCopier*>(self)->Note(pages);
  if (pages >= kMostPages) {
    (void)sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  return SQLITE_OK;
}

// Requests a checkpoint each time the log has grown by kPages.
void WalCopier::Note(int pages) {
  if (pages < asked_at_) asked_at_ = 0;  // The log was restarted.
  if (pages < asked_at_ + kPages) return;
  asked_at_ = pages;
  Ask(false);
}

void WalCopier::Empty() { Ask(true); }

void WalCopier::Ask(bool empties) {
  {
    const MutexLock lock(mutex_);
    asked_ = true;
    empties_ |= empties;
  }
  changed_.Signal();
}

WalCopier::Asked WalCopier::Await() {
  const MutexLock lock(mutex_);
  while (!asked_ && !stopped_) changed_.Wait(mutex_);
  asked_ = false;
  if (stopped_) return Asked::kEnd;
  return std::exchange(empties_, false) ? Asked::kEmpty : Asked::kCopy;
}

void WalCopier::Run() {
  std::unique_ptr<SQLite::Database> database;
  for (Asked asked = Await(); asked != Asked::kEnd; asked = Await()) {
    try {
      if (database == nullptr) {
        database = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE, kBusyMs);
        database->exec("PRAGMA synchronous=NORMAL");
      }
      // (A passive checkpoint never waits.)
      database->exec(asked == Asked::kEmpty ? "PRAGMA wal_checkpoint(TRUNCATE)"
                                            : "PRAGMA wal_checkpoint(PASSIVE)");
    } catch (const std::exception& error) {
      LOG_EVERY_T(WARNING, 60) << "cannot copy the log of " << path_ << ": " << error.what();
    }
  }
}

}  // namespace runtime
