#include "web/session/sessions.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "runtime/text/random_id.h"

namespace web {
namespace {

constexpr std::size_t kSecretDigits = 64;  // 256 bits.
constexpr std::size_t kMaxFile = 64 << 10;

std::string NewSecret() { return runtime::RandomHex128() + runtime::RandomHex128(); }

bool IsSecret(std::string_view text) {
  return text.size() == kSecretDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Constant-time comparison: its duration does not reveal how much of `guess` is right.
bool IsSame(std::string_view secret, std::string_view guess) {
  if (secret.size() != guess.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (secret[i] ^ guess[i]));
  }
  return difference == 0;
}

}  // namespace

std::unique_ptr<Sessions> Sessions::Open(Options options) {
  std::unique_ptr<Sessions> sessions(new Sessions(std::move(options)));
  sessions->Read();
  return sessions;
}

std::string Sessions::NewKey() {
  const runtime::MutexLock lock(mutex_);
  if (keys_.size() == kMaxKeys) keys_.pop_front();
  keys_.push_back({NewSecret(), options_.clock->Monotonic() + options_.key_life});
  return keys_.back().secret;
}

absl::StatusOr<Sessions::Session> Sessions::Exchange(std::string_view key) {
  const runtime::MutexLock lock(mutex_);
  const absl::Duration now = options_.clock->Monotonic();
  while (!tries_.empty() && tries_.front() + absl::Minutes(1) <= now) tries_.pop_front();
  if (tries_.size() >= static_cast<std::size_t>(options_.exchanges_a_minute)) {
    return absl::ResourceExhaustedError(
        "keys were tried too often; a minute later one is taken again");
  }
  tries_.push_back(now);
  if (!TakeKey(key, now)) {
    return absl::PermissionDeniedError(
        "the address was used before, or is older than a minute. Next step: yard ui");
  }
  while (sessions_.size() >= kMaxSessions) sessions_.pop_front();
  sessions_.push_back({NewSecret(), options_.clock->Now() + options_.session_life});
  Write();
  return Session{.token = sessions_.back().secret, .life = options_.session_life};
}

bool Sessions::Knows(std::string_view token) const {
  const runtime::MutexLock lock(mutex_);
  const absl::Time now = options_.clock->Now();
  bool known = false;
  for (const auto& [secret, end] : sessions_) known |= IsSame(secret, token) && now < end;
  return known;
}

bool Sessions::TakeKey(std::string_view key, absl::Duration now) {
  for (auto known = keys_.begin(); known != keys_.end(); ++known) {
    if (!IsSame(known->secret, key)) continue;
    const bool in_time = now < known->end;
    keys_.erase(known);
    return in_time;
  }
  return false;
}

// Format: one session a line, with its token and its end in microseconds since 1970.
void Sessions::Read() {
  const auto text = runtime::ReadFile(options_.file, kMaxFile);
  if (!text.ok()) return;
  const runtime::MutexLock lock(mutex_);
  const absl::Time now = options_.clock->Now();
  for (const auto line : absl::StrSplit(*text, '\n')) {
    const std::pair<std::string, std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    std::int64_t end_us = 0;
    if (!IsSecret(words.first) || !absl::SimpleAtoi(words.second, &end_us)) continue;
    const absl::Time end = absl::FromUnixMicros(end_us);
    // If the clock was set back, a session must not last longer than session_life.
    if (end <= now || end > now + options_.session_life) continue;
    sessions_.push_back({words.first, end});
    if (sessions_.size() > kMaxSessions) sessions_.pop_front();
  }
}

void Sessions::Write() {
  std::string text;
  for (const auto& [token, end] : sessions_) {
    absl::StrAppend(&text, token, " ", absl::ToUnixMicros(end), "\n");
  }
  const absl::Status written = runtime::WriteFileAtomically(options_.file, text, 0600);
  // The session stays valid in memory, until this service ends.
  if (!written.ok()) LOG(WARNING) << "sessions are not kept: " << written;
}

}  // namespace web
