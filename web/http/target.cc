#include "web/http/target.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/utf8.h"

namespace web {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsText(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = runtime::Utf8Bytes(bytes);
    if (length == 0 || bytes.front() == '\0') return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// `plus_is_space`: decodes '+' as a space, as in the query of a form.
absl::StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return absl::InvalidArgumentError("a \"%\" without two hexadecimal digits behind it");
      }
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!IsText(decoded)) {
    return absl::InvalidArgumentError("bytes that are no UTF-8, or a zero byte");
  }
  return decoded;
}

// Removes the text up to the first `separator`, and the separator, from `rest`; returns the text.
std::string_view TakeUntil(char separator, std::string_view& rest) {
  const std::size_t end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

absl::Status AddSegments(std::string_view path, Target& target) {
  if (path.empty()) return absl::OkStatus();
  // A trailing "/" is followed by an empty segment.
  for (bool more = true; more;) {
    more = path.find('/') != std::string_view::npos;
    auto segment = Decode(TakeUntil('/', path), false);
    if (!segment.ok()) return segment.status();
    if (segment->empty() || *segment == "." || *segment == "..") {
      return absl::InvalidArgumentError("an empty segment, \".\" or \"..\" in the path");
    }
    target.segments.push_back(*std::move(segment));
  }
  return absl::OkStatus();
}

absl::Status AddQuery(std::string_view query, Target& target) {
  while (!query.empty()) {
    std::string_view value = TakeUntil('&', query);
    if (value.empty()) continue;
    auto name = Decode(TakeUntil('=', value), true);
    if (!name.ok()) return name.status();
    auto decoded = Decode(value, true);
    if (!decoded.ok()) return decoded.status();
    target.query.emplace_back(*std::move(name), *std::move(decoded));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string_view> Target::Find(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  if (text.size() > kMaxTarget) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxTarget, " bytes"));
  }
  if (text.empty() || text.front() != '/') {
    return absl::InvalidArgumentError("no path that begins with \"/\"");
  }
  for (const char c : text) {
    if (c <= ' ' || c == '\x7f' || c == '#' || c == '\\') {
      return absl::InvalidArgumentError("a character that has to be written as %XX");
    }
  }
  Target target;
  std::string_view query = text.substr(1);
  const std::string_view path = TakeUntil('?', query);
  if (auto added = AddSegments(path, target); !added.ok()) return added;
  if (auto added = AddQuery(query, target); !added.ok()) return added;
  return target;
}

}  // namespace web
