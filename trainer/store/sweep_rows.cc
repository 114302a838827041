#include "trainer/store/sweep_rows.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/envelope_generated.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "runtime/sqlite/statement_columns.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxMessage = 64 << 20;

template <typename Message>
std::string Pack(const Message& message) {
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Request;
  envelope.body.Set(Message(message));
  const bus::Frame frame = bus::Encode(envelope);
  const auto bytes = frame.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Leaves `message` at its default if the bytes are damaged.
template <typename Table, typename Message>
void Unpack(const std::string& bytes, Message& message) {
  const auto received = bus::Receive(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, kMaxMessage);
  const Table* const body = received.ok() ? (*received)->template body_as<Table>() : nullptr;
  if (body != nullptr) body->UnPackTo(&message);
}

msg::RunSweepReplyT AsReply(const msg::SweepT& sweep) {
  msg::RunSweepReplyT reply;
  reply.sweep = std::make_unique<msg::SweepT>(sweep);
  return reply;
}

SweepRecord ReadSweep(SQLite::Statement& statement) {
  runtime::Reader read(statement);
  SweepRecord sweep;
  sweep.number = read.Number();
  sweep.id = read.Text();
  sweep.name = read.Text();
  sweep.request_id = read.Text();
  Unpack<msg::RunSweepRequest>(read.Bytes(), sweep.request);
  sweep.trace = read.Text();
  sweep.created_us = read.Number();
  sweep.ended_us = read.Number();
  msg::RunSweepReplyT shown;
  Unpack<msg::RunSweepReply>(read.Bytes(), shown);
  if (shown.sweep != nullptr) sweep.summary = *shown.sweep;
  sweep.asked = read.Number();
  sweep.tries = read.Number();
  return sweep;
}

SweepEventRow ReadSweepEvent(SQLite::Statement& statement) {
  runtime::Reader read(statement);
  SweepEventRow event;
  event.sweep = read.Number();
  event.seq = read.Number();
  event.kind = read.Number();
  event.trial = read.Number();
  event.number = read.Number();
  event.resource = read.MaybeReal().value_or(0);
  event.value = read.MaybeReal().value_or(std::numeric_limits<double>::quiet_NaN());
  event.whether = read.Truth();
  event.end = read.Number();
  event.decided = read.Number();
  event.text = read.Text();
  event.plan = read.Text();
  event.request_id = read.Text();
  event.time_us = read.Number();
  event.others = read.Text();
  return event;
}

}  // namespace

const char kSweepTables[] = R"sql(
  CREATE TABLE sweeps (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    request_id TEXT NOT NULL UNIQUE, request BLOB NOT NULL, trace TEXT NOT NULL,
    created_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, summary BLOB NOT NULL,
    asked INTEGER NOT NULL, tries INTEGER NOT NULL);
  CREATE TABLE sweep_events (
    sweep INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, trial INTEGER NOT NULL,
    number INTEGER NOT NULL, resource REAL NOT NULL, value REAL, whether INTEGER NOT NULL,
    end INTEGER NOT NULL, decided INTEGER NOT NULL, text TEXT NOT NULL, plan TEXT NOT NULL,
    request_id TEXT NOT NULL, time_us INTEGER NOT NULL,
    PRIMARY KEY (sweep, seq)) WITHOUT ROWID;
)sql";
const char kSweepColumnsSince7[] =
    "ALTER TABLE sweep_events ADD COLUMN others TEXT NOT NULL DEFAULT '';";

std::int64_t InsertSweep(SQLite::Database& database, const SweepRecord& sweep) {
  SQLite::Statement insert(
      database,
      "INSERT INTO sweeps (id, name, request_id, request, trace, created_us, ended_us, summary, "
      "asked, tries) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  runtime::Binder bind(insert);
  bind << sweep.id << sweep.name << sweep.request_id;
  bind.Bytes(Pack(sweep.request)) << sweep.trace << sweep.created_us << sweep.ended_us;
  bind.Bytes(Pack(AsReply(sweep.summary))) << sweep.asked << sweep.tries;
  insert.exec();
  return database.getLastInsertRowid();
}

void UpdateSweep(SQLite::Database& database, const SweepRecord& sweep) {
  SQLite::Statement update(
      database,
      "UPDATE sweeps SET ended_us = ?, summary = ?, asked = ?, tries = ? WHERE number = ?");
  runtime::Binder bind(update);
  bind << sweep.ended_us;
  bind.Bytes(Pack(AsReply(sweep.summary))) << sweep.asked << sweep.tries << sweep.number;
  update.exec();
}

void MoveSweeps(SQLite::Database& database, const runtime::RestoredState& restored) {
  std::vector<SweepRecord> moved;
  (void)ForEachSweep(database, [&](SweepRecord sweep) {
    if (sweep.request.trial == nullptr) return absl::OkStatus();
    std::string& logdir = sweep.request.trial->logdir;
    std::string now = restored.Moved(logdir);
    if (now == logdir) return absl::OkStatus();
    logdir = std::move(now);
    moved.push_back(std::move(sweep));
    return absl::OkStatus();
  });
  SQLite::Statement change(database, "UPDATE sweeps SET request = ? WHERE number = ?");
  for (const SweepRecord& sweep : moved) {
    runtime::Binder bind(change);
    bind.Bytes(Pack(sweep.request)) << sweep.number;
    change.exec();
    change.reset();
  }
}

const char kInsertSweepEvent[] =
    "INSERT INTO sweep_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

void InsertSweepEvent(SQLite::Statement& insert, const SweepEventRow& event) {
  insert.clearBindings();  // (Null values are left unbound.)
  std::optional<double> value;
  if (!std::isnan(event.value)) value = event.value;
  runtime::Binder(insert) << event.sweep << event.seq << event.kind << event.trial << event.number
                          << std::optional<double>(event.resource) << value
                          << std::int64_t{event.whether} << event.end << event.decided << event.text
                          << event.plan << event.request_id << event.time_us << event.others;
  insert.exec();
}

absl::Status ForEachSweep(SQLite::Database& database,
                          const std::function<absl::Status(SweepRecord)>& take) {
  SQLite::Statement select(
      database,
      "SELECT number, id, name, request_id, request, trace, created_us, ended_us, summary, asked, "
      "tries FROM sweeps ORDER BY number");
  while (select.executeStep()) {
    if (auto status = take(ReadSweep(select)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ForEachSweepEvent(SQLite::Database& database, std::int64_t sweep,
                               const std::function<absl::Status(SweepEventRow)>& take) {
  SQLite::Statement select(
      database,
      "SELECT sweep, seq, kind, trial, number, resource, value, whether, end, decided, text, plan, "
      "request_id, time_us, others FROM sweep_events WHERE sweep = ? ORDER BY seq");
  runtime::Binder(select) << sweep;
  while (select.executeStep()) {
    if (auto status = take(ReadSweepEvent(select)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void DeleteSweep(SQLite::Database& database, std::int64_t sweep) {
  for (const char* const text :
       {"DELETE FROM sweep_events WHERE sweep = ?", "DELETE FROM sweeps WHERE number = ?"}) {
    SQLite::Statement remove(database, text);
    runtime::Binder(remove) << sweep;
    remove.exec();
  }
}

}  // namespace trainer
