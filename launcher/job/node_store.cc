#include "launcher/job/node_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

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

constexpr int kCacheKib = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<NodeStore>> NodeStore::Open(const std::string& path) {
  auto database = runtime::ConnectToDatabase(path, kCacheKib);
  if (!database.ok()) return database.status();
  return std::unique_ptr<NodeStore>(new NodeStore(*std::move(database)));
}

NodeStore::NodeStore(std::unique_ptr<SQLite::Database> database) : database_(std::move(database)) {}
NodeStore::~NodeStore() = default;

absl::StatusOr<std::vector<NodeRow>> NodeStore::Load() {
  std::vector<NodeRow> nodes;
  auto status = runtime::TryDatabase(*database_, "read the nodes", [&] {
    SQLite::Statement select(*database_,
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

absl::Status NodeStore::Set(const NodeRow& node) {
  return runtime::TryDatabase(*database_, "store a node", [&] {
    SQLite::Statement write(*database_,
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

absl::Status NodeStore::Claim(const std::string& allocation, const std::string& run) {
  return runtime::TryDatabase(*database_, "store whose an allocation is", [&] {
    SQLite::Statement claim(*database_, "UPDATE nodes SET run = ? WHERE allocation = ?");
    runtime::Binder(claim) << run << allocation;
    claim.exec();
    return absl::OkStatus();
  });
}

absl::Status NodeStore::Remove(const std::string& name) {
  return runtime::TryDatabase(*database_, "remove a node", [&] {
    SQLite::Statement remove(*database_, "DELETE FROM nodes WHERE name = ?");
    runtime::Binder(remove) << name;
    remove.exec();
    return absl::OkStatus();
  });
}

}  // namespace launcher
