#ifndef WEB_API_SERIES_FORMAT_H_
#define WEB_API_SERIES_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bus/schema/datamanager_generated.h"

namespace web {

// A series for drawing: columns in the order of steps; each column covers the points from its first
// to its last step.
struct SeriesColumns {
  std::string run;
  std::string tag;
  std::uint64_t points = 0;  // Number of points of the whole series.
  std::uint64_t generation = 0;
  bool incomplete = false;  // Its files are still being read.
  // Wall times are those of the last points, in seconds since 1970.
  std::unique_ptr<msg::PackedColumnsT> columns = {};
  // Smoothed value at the last point of each column. Empty if not requested, or if too many points
  // would have to be read.
  std::vector<double> smooths = {};
  // For each column, the last value of the x-axis metric up to the column's last step; NaN if it
  // has no value yet. Empty if not requested.
  std::vector<double> xs = {};
};

// The body of an answer with series: "YSR1", the length of a JSON text as a 32-bit number, that
// text, then arrays at multiples of 8 bytes; all is little endian. The text is
//   {"series": [{"run": ..., "tag": ..., "points": N, "columns": N, "generation": N,
//                "incomplete": B, "first_step": A, "last_step": A, "time": A,
//                "min": A, "max": A, "last": A, "nan": A, "smooth": A, "x": A}, ...]}
// where A is {"at": offset from the beginning of the body, "type": "f64" | "f32" | "i64" | "u32"}.
// The format is lossless: f32 is used only if every value is a 32-bit float, and u32 for steps, to
// which "base" (a string of digits) must be added, only if the differences fit. Omitted members:
// last_step if equal to first_step, min and max if equal to last, nan if no point is NaN or
// infinite, smooth and x if not requested.
// Equal arrays share one offset.
//
// Not thread-safe.
class SeriesEncoder {
 public:
  // Adds a series, which must have columns, with arrays of matching lengths; otherwise returns
  // false and adds nothing.
  bool Add(const SeriesColumns& series);
  // Returns the body. Call once, at the end.
  std::string Finish();

 private:
  void AddText(std::string_view name, const std::string& value);
  void AddArray(std::string_view name, const msg::PackedNumbersT& numbers);
  void AddNumbers(std::string_view name, std::span<const double> numbers);
  // Returns the offset of these bytes among the arrays, and appends them unless they exist.
  std::size_t Place(const std::vector<std::uint8_t>& data);

  std::string text_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // Offsets in the text and the arrays.
  std::string arrays_;
  // By hash: the offset among the arrays, and the number of bytes.
  std::unordered_map<std::uint64_t, std::pair<std::size_t, std::size_t>> by_hash_;
};
inline constexpr std::string_view kSeriesType = "application/vnd.yard.series";

}  // namespace web

#endif  // WEB_API_SERIES_FORMAT_H_
