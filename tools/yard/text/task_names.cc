#include "tools/yard/text/task_names.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace yard {
namespace {

using Numbers = std::set<std::uint32_t>;

// Returns "0..7,9": three or more consecutive numbers become a range.
std::string Ranges(const Numbers& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    auto last = at;
    std::uint32_t length = 1;
    for (auto next = std::next(at); next != numbers.end() && *next == *at + length; ++next) {
      last = next;
      ++length;
    }
    if (length < 3) last = at;
    absl::StrAppend(&text, text.empty() ? "" : ",", *at);
    if (last != at) absl::StrAppend(&text, "..", *last);
    at = std::next(last);
  }
  return text;
}

}  // namespace

std::string_view TaskName(std::string_view task) { return task.substr(task.rfind('/') + 1); }

std::string TaskNames(const std::vector<std::string>& tasks) {
  std::map<std::string, Numbers> types;
  for (const std::string& task : tasks) {
    const std::string_view name = TaskName(task);
    const auto dash = name.rfind('-');
    std::uint32_t number = 0;
    const char* const end = name.data() + name.size();
    if (dash != std::string_view::npos) {
      const auto [stop, error] = std::from_chars(name.data() + dash + 1, end, number);
      if (error == std::errc() && stop == end) {
        types[std::string(name.substr(0, dash))].insert(number);
        continue;
      }
    }
    types[std::string(name)];
  }
  std::string text;
  for (const auto& [type, numbers] : types) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", type, numbers.empty() ? "" : "-",
                    Ranges(numbers));
  }
  return text;
}

}  // namespace yard
