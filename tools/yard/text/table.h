#ifndef TOOLS_YARD_TEXT_TABLE_H_
#define TOOLS_YARD_TEXT_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"

namespace yard {

// A table without borders, with columns two spaces apart. Cells are made Printable().
class Table {
 public:
  // A header that begins with ">" makes its column right-aligned (">PID" prints "PID"); one that
  // begins with "?" hides its column if all of its cells are empty.
  explicit Table(std::vector<std::string> headers);
  // Missing cells are empty; surplus cells are a programming error.
  void AddRow(std::vector<std::string> cells);
  // If `width` is not 0, cuts the widest cells (ending in an ellipsis), so that the table fits into
  // `width` terminal columns if possible. With 0, no cell is cut.
  std::string ToString(int width = 0) const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> right_, optional_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns "12 s", "3 min", "5 h", "2 d", for tables.
std::string ShortDuration(absl::Duration duration);
using bus::IsoTime;
// Like IsoTime, in a time zone: "2026-05-02T14:30:05.000000+02:00"; for UTC the same as IsoTime.
std::string LocalTime(std::int64_t microseconds, absl::TimeZone zone);
// Returns "0.0811", "1.2e-05", "nan": at most 6 significant digits.
std::string ShortNumber(double value);
// Formats several numbers for comparison, with as many digits as needed to tell them apart.
std::vector<std::string> ShortNumbers(std::span<const double> values);
// Returns "12.3 MB".
std::string ShortBytes(std::uint64_t bytes);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TABLE_H_
