#ifndef BUS_ALERT_ALERT_ROWS_H_
#define BUS_ALERT_ALERT_ROWS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bus/schema/common_generated.h"

namespace bus {

// The table of alerts in a service's database. The functions run within the caller's transactions,
// on the database's thread, and throw SQLiteCpp's exceptions.
extern const char kAlertTables[];

// An alert to store.
struct NewAlert {
  // Id of the condition that the alert reports: "t-abcde/ended/1". A cause has one alert until it
  // is released.
  std::string cause;
  msg::AlertT alert;  // Id, number and acknowledgement are set when it is stored.
  // Command line that the alert's owner runs once; stored until the alert is handed on. Empty: no
  // command.
  std::string command = {};
};

// Limits, in bytes and lines, to which the text of an alert is cut; of `lines` the last ones are
// kept.
inline constexpr std::size_t kLongestReason = 1000;
inline constexpr std::size_t kLongestLine = 500;
inline constexpr std::size_t kMostLines = 40;

// Stores the alert and returns it; returns null if its cause already has an alert. Only alerts of
// urgent kinds wait for an acknowledgement.
std::optional<msg::AlertT> InsertAlert(SQLite::Database& database, const NewAlert& alert);

// "a/KIND/NAME/"
std::string TopicOfAlert(const msg::AlertT& alert);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_ROWS_H_
