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

// Collects the last lines that match a search, from the parts of a Logs call. Not
// thread-safe.
class LogPage {
 public:
  struct Options {
    std::string find = {};  // Text that lines must contain; case-insensitive if all lower case.
    std::size_t limit = 200;
  };
  explicit LogPage(Options options) : options_(std::move(options)) {}

  // Adds a part of the output. Parts of a stream arrive in order.
  void Add(const msg::LogsReplyT& part);
  // Returns {"lines": [{"task": ..., "attempt": N, "stream": "stdout", "end": offset after it,
  // "text": ...}, ...], "found": N, "read": lines}. Includes incomplete last lines. Invalid UTF-8
  // becomes U+FFFD when the JSON is serialized. Lines are cut to kMostLineBytes.
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
  std::map<Source, std::pair<std::uint64_t, std::string>> begun_;  // Incomplete; with end offset.
  std::deque<Line> lines_;
  std::uint64_t found_ = 0;
  std::uint64_t read_ = 0;
};
inline constexpr std::size_t kMostLineBytes = 16 << 10;

}  // namespace web

#endif  // WEB_API_LOG_PAGE_H_
