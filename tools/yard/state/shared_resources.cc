#include "tools/yard/state/shared_resources.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

constexpr std::size_t kLongestName = 32;
constexpr std::size_t kLongestMember = 64;
constexpr std::size_t kMostMembers = 1024;
constexpr std::uint32_t kMostAmount = 1'000'000'000;

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

bool IsOf(std::string_view text, std::string_view more, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return IsAlnum(c) || more.find(c) != std::string_view::npos; });
}

bool IsAmount(const std::string& text) {
  std::uint32_t amount = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount);
  return error == std::errc() && stop == end && amount >= 1 && amount <= kMostAmount;
}

// Returns true for a range like "0-7".
bool IsSpan(const std::string& text) {
  const std::size_t dash = text.find('-');
  return dash != std::string::npos && dash > 0 && dash + 1 < text.size() &&
         text.find_first_not_of("0123456789-") == std::string::npos;
}

// Returns an error message for the members of a set; empty if they are valid.
std::string WrongMembers(const std::string& value) {
  std::vector<std::string> members = absl::StrSplit(value, ',');
  if (members.size() > 1 && members.back().empty()) members.pop_back();
  if (members.size() > kMostMembers) return absl::StrCat("more than ", kMostMembers, " members");
  std::set<std::string> known;
  for (const std::string& member : members) {
    if (IsSpan(member)) return "members are named one by one: 0,1,2";
    if (!IsOf(member, "_-.:/", kLongestMember) || !IsAlnum(member[0])) {
      return "a member is not a word";
    }
    if (!known.insert(member).second) return absl::StrCat(member, " is there twice");
  }
  return "";
}

std::string Wrong(const std::string& name, const std::string& value) {
  if (!IsOf(name, "_-", kLongestName)) return "expected NAME=AMOUNT or NAME=A,B,...";
  if (name == "gpu" || value.find(',') != std::string::npos) return WrongMembers(value);
  if (IsAmount(value)) return "";
  return absl::StrCat("an amount is from 1 to ", kMostAmount,
                      " (and a set of one member has a comma: ", name, "=a,)");
}

}  // namespace

absl::Status CheckSharedResources(const std::vector<std::string>& resources) {
  std::set<std::string> known;
  for (const std::string& text : resources) {
    const std::size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    std::string wrong = Wrong(name, equals == std::string::npos ? "" : text.substr(equals + 1));
    if (wrong.empty() && !known.insert(name).second) wrong = name + " is there twice";
    if (!wrong.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--resources \"", runtime::Printable(text), "\": ", wrong));
    }
  }
  return absl::OkStatus();
}

}  // namespace yard
