#ifndef RUNTIME_SQLITE_PREPARED_TRANSACTION_H_
#define RUNTIME_SQLITE_PREPARED_TRANSACTION_H_

#include <SQLiteCpp/SQLiteCpp.h>

namespace runtime {

// Transactions with precompiled statements: compiling them each time costs as much as storing a
// report. One at a time, on the database's thread; throws SQLiteCpp's exceptions.
class PreparedTransaction {
 public:
  // `database` is not owned and must outlive this object.
  explicit PreparedTransaction(SQLite::Database& database)
      : begin_(database, "BEGIN IMMEDIATE"),
        commit_(database, "COMMIT"),
        rollback_(database, "ROLLBACK") {}

  // A single transaction: the constructor begins it, the destructor rolls it back unless it was
  // committed.
  class Run {
   public:
    explicit Run(PreparedTransaction* of) : of_(of) { Execute(of_->begin_); }
    ~Run() {
      if (is_committed_) return;
      of_->rollback_.tryReset();
      // (After some errors SQLite has already rolled back.)
      (void)of_->rollback_.tryExecuteStep();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void Commit() {
      Execute(of_->commit_);
      is_committed_ = true;
    }

   private:
    static void Execute(SQLite::Statement& statement) {
      statement.tryReset();
      statement.exec();
    }

    PreparedTransaction* const of_;
    bool is_committed_ = false;
  };

 private:
  SQLite::Statement begin_, commit_, rollback_;
};

}  // namespace runtime

#endif  // RUNTIME_SQLITE_PREPARED_TRANSACTION_H_
