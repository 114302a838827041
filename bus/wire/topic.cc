#include "bus/wire/topic.h"

#include <array>
#include <cctype>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kMaxLevelBytes = 80;

constexpr std::array<bool, 256> MakeLegal() {
  std::array<bool, 256> legal{};
  for (int c = '0'; c <= '9'; ++c) legal[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c) legal[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) legal[c] = true;
  for (const char c : {'_', '.', '$', '-'}) legal[static_cast<unsigned char>(c)] = true;
  return legal;
}
constexpr std::array<bool, 256> kLegal = MakeLegal();

bool IsDots(std::string_view level) { return level == "." || level == ".."; }

bool IsLegal(char c) { return kLegal[static_cast<unsigned char>(c)]; }

// FNV-1a: must stay the same on every machine and in every version, because topics are stored and
// compared.
std::uint32_t Hash(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

absl::Status Bad(std::string_view topic, const std::string& why) {
  const std::string shown = absl::CHexEscape(runtime::Absl(topic.substr(0, kMaxTopicBytes)));
  return absl::InvalidArgumentError(absl::StrCat("topic \"", shown, "\": ", why));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::Status CheckTopic(std::string_view topic) {
  if (topic.empty()) return Bad(topic, "is empty");
  if (topic.size() > kMaxTopicBytes) {
    return Bad(topic, absl::StrCat("has ", topic.size(), " bytes, at most ", kMaxTopicBytes));
  }
  if (topic.back() != '/') return Bad(topic, "must end in \"/\"");
  int levels = 0;
  std::size_t begin = 0;  // Start of the current level.
  for (std::size_t i = 0; i < topic.size(); ++i) {
    if (topic[i] == '/') {
      if (i == begin) return Bad(topic, absl::StrCat("empty level at byte ", i));
      if (IsDots(topic.substr(begin, i - begin))) {
        return Bad(topic, absl::StrCat("the level at byte ", begin,
                                       " would be a directory's own or upper one in a path"));
      }
      begin = i + 1;
      ++levels;
    } else if (!IsLegal(topic[i])) {
      return Bad(topic, absl::StrCat("byte ", i, " is not one of A-Z a-z 0-9 _ . $ -"));
    }
  }
  if (levels > kMaxTopicLevels) {
    return Bad(topic, absl::StrCat("has ", levels, " levels, at most ", kMaxTopicLevels));
  }
  return absl::OkStatus();
}

std::string EncodeLevel(std::string_view text) {
  std::string level;
  const bool is_dots = IsDots(text);
  for (const char c : text) {
    // Also encodes "$", so that decoding is exact.
    if (IsLegal(c) && c != '$' && !is_dots) {
      level += c;
    } else {
      absl::StrAppendFormat(&level, "$%02X", static_cast<unsigned char>(c));
    }
  }
  // An empty level is illegal; "$" alone represents it.
  if (level.empty()) return "$";
  if (level.size() <= kMaxLevelBytes) return level;
  return absl::StrFormat("%s$%08x", level.substr(0, kMaxLevelBytes), Hash(text));
}

std::string DecodeLevel(std::string_view level) {
  if (level == "$") return "";
  if (level.size() > kMaxLevelBytes) return std::string(level);
  std::string text;
  for (std::size_t i = 0; i < level.size(); ++i) {
    const int high = level[i] == '$' && i + 2 < level.size() ? HexDigit(level[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(level[i + 2]) : -1;
    if (low < 0) {
      text += level[i];
    } else {
      text += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return text;
}

std::string TopicOf(std::initializer_list<std::string_view> levels) {
  std::string topic;
  bool first = true;
  for (const std::string_view level : levels) {
    // Roots such as "$sys" are legal already and are not encoded.
    absl::StrAppend(&topic, first ? std::string(level) : EncodeLevel(level), "/");
    first = false;
  }
  return topic;
}

}  // namespace bus
