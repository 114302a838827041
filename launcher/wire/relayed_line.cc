#include "launcher/wire/relayed_line.h"

#include <stdio.h>

namespace launcher {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Returns the position of a string's closing quote; `at` is the position after the opening one.
std::size_t StringEnd(std::string_view line, std::size_t at) {
  while (at < line.size() && line[at] != '"') at += line[at] == '\\' ? 2 : 1;
  return at < line.size() ? at : std::string_view::npos;
}

// Returns the string value after a key, which ends at `at`, and a colon; empty if there is no
// string.
std::string_view StringValue(std::string_view line, std::size_t at) {
  at = line.find_first_not_of(kSpace, at);
  if (at == std::string_view::npos || line[at] != ':') return {};
  at = line.find_first_not_of(kSpace, at + 1);
  if (at == std::string_view::npos || line[at] != '"') return {};
  const std::size_t end = StringEnd(line, at + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(at + 1, end - at - 1);
}

}  // namespace

std::string_view ReportLineType(std::string_view line) {
  int depth = 0;
  bool is_key = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '{' || c == '[') {
      is_key = ++depth == 1;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      is_key = depth == 1;
    } else if (c == '"') {
      const std::size_t end = StringEnd(line, at + 1);
      if (end == std::string_view::npos) return {};
      if (is_key && line.substr(at + 1, end - at - 1) == "t") return StringValue(line, end + 1);
      is_key = false;
      at = end;
    }
  }
  return {};
}

bool WantsAnswer(std::string_view type) { return type != "log" && type != "hb" && type != "fail"; }

std::string ErrorLine(std::string_view code, std::string_view error) {
  std::string line = R"({"t":"error","code":")";
  line.append(code).append(R"(","error":")").append(error).append(R"("})");
  return line;
}

std::string StopInPlaceOf(std::string_view answer, double grace_s) {
  constexpr std::string_view kBegin = R"({"t":"ok")", kEnd = R"(,"events":[]})";
  if (!answer.starts_with(kBegin) || !answer.ends_with(kEnd)) return "";
  const std::string_view seq =
      answer.substr(kBegin.size(), answer.size() - kBegin.size() - kEnd.size());
  if (seq.find(R"(,"path":)") != std::string_view::npos) return "";
  char grace[32];
  (void)snprintf(grace, sizeof grace, "%g", grace_s);
  std::string line = R"({"t":"stop")";
  line.append(seq).append(R"(,"reason":"stop","grace_s":)").append(grace).append("}");
  return line;
}

}  // namespace launcher
