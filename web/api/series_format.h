#ifndef WEB_API_SERIES_FORMAT_H_
#define WEB_API_SERIES_FORMAT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace web {

// A series as it is drawn: columns in the order of steps, each of the points from its first to its
// last step. All vectors that are set have the same length.
struct SeriesColumns {
  std::string run;
  std::string tag;
  std::uint64_t points = 0;  // Number of points of the whole series.
  std::uint64_t generation = 0;
  bool incomplete = false;  // Its files are still being read.
  std::vector<std::int64_t> first_steps = {};
  std::vector<std::int64_t> last_steps = {};
  std::vector<double> times = {};  // Time of the last point; seconds since 1970.
  std::vector<double> mins = {};   // Over finite values; NaN without a finite value.
  std::vector<double> maxs = {};
  std::vector<double> lasts = {};
  std::vector<std::uint32_t> nans = {};  // Points that are NaN or infinite.
  // Value of the smoothed curve at the last point. Empty: not asked for, or too many points to
  // read.
  std::vector<double> smooths = {};
  // The last value, up to the last step, of the metric on the x axis; NaN: no value yet. Empty: not
  // asked for.
  std::vector<double> xs = {};
};

// The body of an answer with series: "YSR1", the length of a JSON text as a 32-bit number, that
// text, then arrays at multiples of 8 bytes; all is little endian. The text is
//   {"series": [{"run": ..., "tag": ..., "points": N, "columns": N, "generation": N,
//                "incomplete": B, "first_step": A, "last_step": A, "time": A,
//                "min": A, "max": A, "last": A, "nan": A, "smooth": A, "x": A}, ...]}
// where A is {"at": offset from the beginning of the body, "type": "f64" | "f32" | "i64" | "u32"}.
// No number is rounded: f32 is used only if every value is a 32-bit float, and u32 for steps, with
// "base" (a string of digits) to be added, only if the differences fit. These are left out:
// last_step if equal to first_step, min and max if equal to last, nan if no point is NaN or
// infinite, smooth and x if not asked for.
// Equal arrays have the same place.
std::string EncodeSeries(std::span<const SeriesColumns> series);
inline constexpr std::string_view kSeriesType = "application/vnd.yard.series";

}  // namespace web

#endif  // WEB_API_SERIES_FORMAT_H_
