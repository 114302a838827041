#ifndef BUS_ALERT_ALERT_ROWS_H_
#define BUS_ALERT_ALERT_ROWS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bus/schema/common_generated.h"

namespace bus {

// The table of alerts in the database of a service. Its functions are parts of the caller's
// transactions and throw as SQLiteCpp does. On the database's thread.
extern const char kAlertTables[];

// An alert that is to be stored.
struct NewAlert {
  // The condition that it tells of: "t-abcde/ended/1". A cause has one alert, until it is released.
  std::string cause;
  msg::AlertT alert;  // Id, number and acknowledgement are set when it is stored.
  // Command line that its owner runs once; kept until the alert is handed on. Empty: none.
  std::string command = {};
};

// Text of an alert is cut to these sizes, in bytes; of `lines` the last ones stay.
inline constexpr std::size_t kLongestReason = 1000;
inline constexpr std::size_t kLongestLine = 500;
inline constexpr std::size_t kMostLines = 40;

// The alert as it is stored; nothing if its cause has one already. Only alerts of urgent kinds wait
// for somebody to acknowledge them.
std::optional<msg::AlertT> InsertAlert(SQLite::Database& database, const NewAlert& alert);

// "a/KIND/NAME/"
std::string TopicOfAlert(const msg::AlertT& alert);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_ROWS_H_
