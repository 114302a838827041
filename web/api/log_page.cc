#include "web/api/log_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "runtime/text/string_view.h"

namespace web {

using nlohmann::json;

bool LogPage::Finds(std::string_view text) const {
  if (options_.find.empty()) return true;
  const bool any_case = absl::AsciiStrToLower(options_.find) == options_.find;
  const std::string line =
      any_case ? absl::AsciiStrToLower(runtime::Absl(text)) : std::string(text);
  return absl::StrContains(line, options_.find);
}

void LogPage::Take(const Source& source, std::uint64_t end, std::string_view text) {
  ++read_;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (!Finds(text)) return;
  ++found_;
  if (options_.limit == 0) return;
  if (lines_.size() == options_.limit) lines_.pop_front();
  lines_.push_back({.task = source.first,
                    .attempt = source.second.first,
                    .stream = source.second.second,
                    .end = end,
                    .text = std::string(text.substr(0, kMostLineBytes))});
}

void LogPage::Add(const msg::LogsReplyT& part) {
  const Source source = {part.task, {part.attempt, part.stream}};
  auto& [end, begun] = begun_[source];
  std::string_view data(reinterpret_cast<const char*>(part.data.data()), part.data.size());
  end = part.offset + part.data.size();
  for (std::size_t at = 0; (at = data.find('\n')) != std::string_view::npos;) {
    const std::string_view rest = data.substr(0, at);
    data.remove_prefix(at + 1);
    const std::uint64_t line_end = end - data.size();
    if (begun.empty()) {
      Take(source, line_end, rest);
    } else {
      begun += rest;
      Take(source, line_end, begun);
      begun.clear();
    }
  }
  // A longer line is cut anyway, so it need not grow further.
  if (begun.size() < kMostLineBytes) begun += data;
}

json LogPage::Finish() {
  for (auto& [source, begun] : begun_) {
    if (!begun.second.empty()) Take(source, begun.first, begun.second);
  }
  begun_.clear();
  json lines = json::array();
  for (Line& line : lines_) {
    lines.push_back({{"task", std::move(line.task)},
                     {"attempt", line.attempt},
                     {"stream", line.stream == msg::LogStream::Stderr ? "stderr" : "stdout"},
                     {"end", line.end},
                     {"text", std::move(line.text)}});
  }
  return {{"lines", std::move(lines)}, {"found", found_}, {"read", read_}};
}

}  // namespace web
