#include "runtime/wal_copier.h"

#include <sqlite3.h>

#include <exception>
#include <memory>

#include "glog/logging.h"

namespace runtime {
namespace {

// Of the log, for which a copy is asked: as SQLite does it by itself.
constexpr int kPages = 1000;
// More and more come than can be copied beside it, or the thread cannot.
constexpr int kMostPages = 8 * kPages;

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

// (That it cannot be done here either is not the commit's failure.)
int WalCopier::OnCommit(void* self, sqlite3* database, const char* name, int pages) {
  static_cast<WalCopier*>(self)->Note(pages);
  if (pages >= kMostPages) {
    (void)sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  return SQLITE_OK;
}

// Asks for a copy for each so many pages.
void WalCopier::Note(int pages) {
  if (pages < asked_at_) asked_at_ = 0;  // The log has begun anew.
  if (pages < asked_at_ + kPages) return;
  asked_at_ = pages;
  {
    const MutexLock lock(mutex_);
    asked_ = true;
  }
  changed_.Signal();
}

bool WalCopier::AwaitAsked() {
  const MutexLock lock(mutex_);
  while (!asked_ && !stopped_) changed_.Wait(mutex_);
  asked_ = false;
  return !stopped_;
}

void WalCopier::Run() {
  std::unique_ptr<SQLite::Database> database;
  while (AwaitAsked()) {
    try {
      if (database == nullptr) {
        database = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE);
        database->exec("PRAGMA synchronous=NORMAL");
      }
      database->exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (const std::exception& error) {
      LOG_EVERY_T(WARNING, 60) << "cannot copy the log of " << path_ << ": " << error.what();
    }
  }
}

}  // namespace runtime
