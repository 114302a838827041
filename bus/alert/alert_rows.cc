#include "bus/alert/alert_rows.h"

#include <string_view>
#include <utility>
#include <vector>

#include "bus/alert/alert_kinds.h"
#include "bus/call/stored_table.h"
#include "bus/wire/topic.h"
#include "runtime/sqlite/statement_columns.h"
#include "runtime/text/random_id.h"
#include "runtime/text/utf8.h"

namespace bus {
namespace {

// Cuts `text` to at most `most` bytes, without splitting a UTF-8 character.
void Cut(std::string& text, std::size_t most) {
  text = runtime::LossyUtf8(text);
  if (text.size() <= most) return;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "...";
}

void CutToSize(msg::AlertT& alert) {
  for (std::string* const text : {&alert.name, &alert.reason, &alert.metric, &alert.value}) {
    Cut(*text, kLongestReason);
  }
  if (alert.lines.size() > kMostLines) {
    alert.lines.erase(alert.lines.begin(), alert.lines.end() - kMostLines);
  }
  for (std::string& line : alert.lines) Cut(line, kLongestLine);
}

}  // namespace

// Numbers are never reused, because a number is also a position in the record of a topic.
// `previous` is the number of the topic's previous alert. `handed`: the launcher has received the
// alert.
const char kAlertTables[] = R"sql(
  CREATE TABLE alerts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, cause TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL, previous INTEGER NOT NULL, kind TEXT NOT NULL, trial TEXT NOT NULL,
    time_us INTEGER NOT NULL, acknowledged_us INTEGER NOT NULL, handed INTEGER NOT NULL,
    command TEXT NOT NULL, body BLOB NOT NULL);
  CREATE INDEX alerts_of_topic ON alerts (topic, number);
  CREATE INDEX alerts_of_trial ON alerts (trial) WHERE trial <> '';
  CREATE INDEX alerts_not_acknowledged ON alerts (number) WHERE acknowledged_us = 0;
  CREATE INDEX alerts_not_handed ON alerts (number) WHERE handed = 0;
)sql";

std::string TopicOfAlert(const msg::AlertT& alert) {
  return TopicOf({"a", alert.kind, alert.name});
}

std::optional<msg::AlertT> InsertAlert(SQLite::Database& database, const NewAlert& asked) {
  msg::AlertT alert = asked.alert;
  CutToSize(alert);
  alert.id = runtime::RandomName("a-") + runtime::RandomName("").substr(0, 2);
  const AlertKind* const kind = FindAlertKind(alert.kind);
  const bool is_urgent = kind == nullptr || kind->is_urgent;
  alert.acknowledged_us = is_urgent ? 0 : alert.time_us;
  alert.acknowledged = !is_urgent;
  const std::string topic = TopicOfAlert(alert);
  SQLite::Statement insert(
      database,
      "INSERT INTO alerts (id, cause, topic, previous, kind, trial, time_us, acknowledged_us, "
      "handed, command, body) VALUES (?1, ?2, ?3, (SELECT coalesce(max(number), 0) FROM alerts "
      "WHERE topic = ?3), ?4, ?5, ?6, ?7, 0, ?8, ?9) ON CONFLICT (cause) DO NOTHING");
  runtime::Binder bind(insert);
  bind << alert.id << asked.cause << topic << alert.kind << alert.trial << alert.time_us
       << alert.acknowledged_us << asked.command;
  bind.Bytes(EncodeStored<msg::Alert>(alert));
  if (insert.exec() == 0) return std::nullopt;
  alert.number = static_cast<std::uint64_t>(database.getLastInsertRowid());
  return alert;
}

}  // namespace bus
