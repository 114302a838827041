#ifndef RUNTIME_SQLITE_WAL_COPIER_H_
#define RUNTIME_SQLITE_WAL_COPIER_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

struct sqlite3;

namespace runtime {

// Copies SQLite's write-ahead log to the database (a checkpoint) on its own thread and connection,
// because that waits for the disk and committing threads should not. A committing thread runs a
// checkpoint itself only if the copier falls far behind. Failures are logged once a minute and
// retried; meanwhile the log grows.
class WalCopier {
 public:
  // The database at `path` need not exist yet.
  explicit WalCopier(const std::string& path);
  ~WalCopier();  // Waits for a running checkpoint.
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // Makes this connection's commits (one connection, used by one thread) request checkpoints of
  // this copier instead of SQLite's automatic ones. The connection must be closed before the copier
  // is destroyed.
  void Serve(SQLite::Database& database);
  // Soon copies the whole log and empties it, because it still contains data that was deleted
  // since.
  void Empty();

 private:
  static int OnCommit(void* self, sqlite3* database, const char* name, int pages);
  void Note(int pages);
  void Ask(bool empties);
  enum class Asked { kCopy, kEmpty, kEnd };
  Asked Await();
  void Run();

  const std::string path_;
  int asked_at_ = 0;  // Used by the committing thread only.
  Mutex mutex_;
  CondVar changed_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool empties_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last, because it starts at once.
};

}  // namespace runtime

#endif  // RUNTIME_SQLITE_WAL_COPIER_H_
