#ifndef RUNTIME_SQLITE_WAL_COPIER_H_
#define RUNTIME_SQLITE_WAL_COPIER_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

struct sqlite3;

namespace runtime {

// Copies SQLite's write-ahead log into the database (a checkpoint, in its words) on a thread of its
// own, through a connection of its own, because that waits for the disk: who commits does not.
// Only where that thread falls far behind is it done by who commits. What it fails in is logged,
// once a minute; it is tried again, and the log grows meanwhile.
class WalCopier {
 public:
  // The database of that path need not be there yet.
  explicit WalCopier(const std::string& path);
  ~WalCopier();  // Waits for a copy that is under way.
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // From now on the commits of this connection (one, of one thread) are what it looks at, instead
  // of SQLite itself. The connection ends before the copier does.
  void Serve(SQLite::Database& database);
  // Soon all of the log is copied and it is emptied: it still has what was deleted since.
  void Empty();

 private:
  static int OnCommit(void* self, sqlite3* database, const char* name, int pages);
  void Note(int pages);
  void Ask(bool empties);
  enum class Asked { kCopy, kEmpty, kEnd };
  Asked Await();
  void Run();

  const std::string path_;
  int asked_at_ = 0;  // Of the thread that commits.
  Mutex mutex_;
  CondVar changed_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool empties_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last: it begins at once.
};

}  // namespace runtime

#endif  // RUNTIME_SQLITE_WAL_COPIER_H_
