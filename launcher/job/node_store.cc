#include "launcher/job/node_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/statement_columns.h"

namespace launcher {

const char kNodeTables[] = R"sql(
  CREATE TABLE nodes (
    name TEXT PRIMARY KEY, pool TEXT NOT NULL, address TEXT NOT NULL, slots INTEGER NOT NULL,
    draining INTEGER NOT NULL);
)sql";

const char kAddAllocation[] = R"sql(
  ALTER TABLE nodes ADD COLUMN allocation TEXT NOT NULL DEFAULT '';
  ALTER TABLE nodes ADD COLUMN run TEXT NOT NULL DEFAULT '';
)sql";

namespace {

class SqliteNodes : public NodeStore {
 public:
  explicit SqliteNodes(const std::string& path)
      : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, 5000) {
    database_.exec("PRAGMA synchronous=NORMAL");
    database_.exec("PRAGMA cache_size=-64");
  }

  absl::StatusOr<std::vector<NodeRow>> Load() override {
    std::vector<NodeRow> nodes;
    auto status = Try("read the nodes", [&] {
      SQLite::Statement select(database_,
                               "SELECT name, pool, address, slots, draining, allocation, run "
                               "FROM nodes ORDER BY name");
      while (select.executeStep()) {
        runtime::Reader read(select);
        NodeRow& node = nodes.emplace_back();
        node.name = read.Text();
        node.pool = read.Text();
        node.address = read.Text();
        node.slots = static_cast<std::uint32_t>(read.Number());
        node.draining = read.Truth();
        node.allocation = read.Text();
        node.run = read.Text();
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return nodes;
  }

  absl::Status Set(const NodeRow& node) override {
    return Try("store a node", [&] {
      SQLite::Statement write(database_,
                              "INSERT INTO nodes (name, pool, address, slots, draining, "
                              "allocation, run) VALUES (?, ?, ?, ?, ?, ?, ?) "
                              "ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, "
                              "address = excluded.address, slots = excluded.slots, "
                              "draining = excluded.draining, allocation = excluded.allocation, "
                              "run = excluded.run");
      runtime::Binder(write) << node.name << node.pool << node.address
                             << static_cast<std::int64_t>(node.slots) << node.draining
                             << node.allocation << node.run;
      write.exec();
      return absl::OkStatus();
    });
  }

  absl::Status Claim(const std::string& allocation, const std::string& run) override {
    return Try("store whose an allocation is", [&] {
      SQLite::Statement claim(database_, "UPDATE nodes SET run = ? WHERE allocation = ?");
      runtime::Binder(claim) << run << allocation;
      claim.exec();
      return absl::OkStatus();
    });
  }

  absl::Status Remove(const std::string& name) override {
    return Try("remove a node", [&] {
      SQLite::Statement remove(database_, "DELETE FROM nodes WHERE name = ?");
      runtime::Binder(remove) << name;
      remove.exec();
      return absl::OkStatus();
    });
  }

 private:
  template <typename Body>
  absl::Status Try(const std::string& what, Body body) {
    return runtime::TryDatabase(database_, what, std::move(body));
  }

  SQLite::Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NodeStore>> NodeStore::Open(const std::string& path) {
  try {
    return std::make_unique<SqliteNodes>(path);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace launcher
