#ifndef TOOLS_YARD_TEXT_TABLE_H_
#define TOOLS_YARD_TEXT_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/json/things_json.h"

namespace yard {

// A table without borders, one row a thing, columns two spaces apart. Cells are made Printable().
class Table {
 public:
  // A column whose header begins with ">" is aligned to the right (">PID" shows as "PID"); one
  // whose header begins with "?" is left out where all of its cells are empty.
  explicit Table(std::vector<std::string> headers);
  // Missing cells are empty, surplus ones an error of the program.
  void AddRow(std::vector<std::string> cells);
  // Not wider than `width` columns of a terminal, if that can be, unless it is 0: the widest cells
  // are cut, and end with an ellipsis. With 0 all are whole.
  std::string ToString(int width = 0) const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> right_, optional_;
  std::vector<std::vector<std::string>> rows_;
};

// "12 s", "3 min", "5 h", "2 d": for tables.
std::string ShortDuration(absl::Duration duration);
using bus::IsoTime;
// The same for people: "2026-05-02T14:30:05.000000+02:00", and as above where it is UTC.
std::string LocalTime(std::int64_t microseconds, absl::TimeZone zone);
// "0.0811", "1.2e-05", "nan": at most 6 significant digits.
std::string ShortNumber(double value);
// Several, which a person compares: with as many digits as it takes to tell them apart.
std::vector<std::string> ShortNumbers(std::span<const double> values);
// "12.3 MB"
std::string ShortBytes(std::uint64_t bytes);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TABLE_H_
