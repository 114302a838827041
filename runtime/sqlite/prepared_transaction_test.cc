#include "runtime/sqlite/prepared_transaction.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "gtest/gtest.h"

namespace runtime {
namespace {

class PreparedTransactionTest : public testing::Test {
 protected:
  PreparedTransactionTest() { database_.exec("CREATE TABLE numbers (number INTEGER UNIQUE)"); }
  int Count() { return database_.execAndGet("SELECT count(*) FROM numbers").getInt(); }
  void Add(int number) {
    SQLite::Statement insert(database_, "INSERT INTO numbers VALUES (?)");
    insert.bind(1, number);
    insert.exec();
  }

  SQLite::Database database_{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  PreparedTransaction transaction_{database_};
};

TEST_F(PreparedTransactionTest, WhatIsCommittedStands) {
  for (int i = 1; i <= 3; ++i) {
    PreparedTransaction::Run run(&transaction_);
    Add(i);
    run.Commit();
  }
  EXPECT_EQ(Count(), 3);
}

TEST_F(PreparedTransactionTest, WhatIsNotCommittedIsUndoneAndTheNextOneGoesOn) {
  for (int i = 1; i <= 3; ++i) {
    const PreparedTransaction::Run run(&transaction_);
    Add(i);
  }
  EXPECT_EQ(Count(), 0);
  const auto add_twice = [&] {
    const PreparedTransaction::Run run(&transaction_);
    Add(7);
    Add(7);
  };
  EXPECT_THROW(add_twice(), SQLite::Exception);
  EXPECT_EQ(Count(), 0);
  PreparedTransaction::Run run(&transaction_);
  Add(7);
  run.Commit();
  EXPECT_EQ(Count(), 1);
}

TEST_F(PreparedTransactionTest, OneAtATime) {
  const PreparedTransaction::Run run(&transaction_);
  EXPECT_THROW(database_.exec("BEGIN IMMEDIATE"), SQLite::Exception);
}

}  // namespace
}  // namespace runtime
