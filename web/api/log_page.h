#ifndef WEB_API_LOG_PAGE_H_
#define WEB_API_LOG_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace web {

// The last lines of a job's output that a search finds, from the parts of a Logs call. Not thread
// safe.
class LogPage {
 public:
  struct Options {
    std::string find = {};  // Only lines with this text; without capitals, case is ignored.
    std::size_t limit = 200;
  };
  explicit LogPage(Options options) : options_(std::move(options)) {}

  void Add(const msg::LogsReplyT& part);
  // {"lines": [{"task": ..., "attempt": N, "stream": "stdout", "end": offset behind it, "text":
  // ...}, ...], "found": N, "read": lines}. A line without an end yet counts, too. Bytes that are
  // no UTF-8 become U+FFFD when the line is written. A line of more than kMostLineBytes is cut.
  nlohmann::json Finish();

 private:
  struct Line {
    std::string task;
    std::uint32_t attempt = 0;
    msg::LogStream stream = msg::LogStream::Stdout;
    std::uint64_t end = 0;
    std::string text;
  };
  using Source = std::pair<std::string, std::pair<std::uint32_t, msg::LogStream>>;

  void Take(const Source& source, std::uint64_t end, std::string_view text);
  bool Finds(std::string_view text) const;

  const Options options_;
  std::map<Source, std::pair<std::uint64_t, std::string>> begun_;  // Lines without their ends.
  std::deque<Line> lines_;
  std::uint64_t found_ = 0;
  std::uint64_t read_ = 0;
};
inline constexpr std::size_t kMostLineBytes = 16 << 10;

}  // namespace web

#endif  // WEB_API_LOG_PAGE_H_
