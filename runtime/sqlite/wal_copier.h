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
// own, through a connection of its own, because that waits for the disk: a thread that commits does
// not. A thread that commits copies the log itself only if the copier falls far behind. Failures
// are logged, once a minute; the copy is tried again, and the log grows meanwhile.
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
  int asked_at_ = 0;  // Used by the thread that commits alone.
  Mutex mutex_;
  CondVar changed_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool empties_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last: it begins at once.
};

}  // namespace runtime

#endif  // RUNTIME_SQLITE_WAL_COPIER_H_
