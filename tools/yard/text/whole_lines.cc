#include "tools/yard/text/whole_lines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace yard {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

// Returns the last form of a line that was redrawn with "\r".
std::string_view LastForm(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);
}

// Returns the number of bytes at the end that begin an incomplete UTF-8 character.
std::size_t BegunCharacter(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), 3); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;  // Continuation byte.
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return size > back ? back : 0;
  }
  return 0;
}

}  // namespace

void WholeLines::Add(const msg::LogsReplyT& part) {
  if (part.data.empty()) return;
  const Name name(part.task, part.stream == msg::LogStream::Stderr);
  Stream& stream = streams_[name];
  if (stream.attempt != part.attempt || stream.end != part.offset) Finish(name, &stream);
  stream.attempt = part.attempt;
  stream.end = part.offset + part.data.size();
  std::string_view piece(reinterpret_cast<const char*>(part.data.data()), part.data.size());
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    if (stream.rest.empty()) {
      Give(name, &stream, piece.substr(0, end));
    } else {
      Give(name, &stream, stream.rest.append(piece.substr(0, end)));
      stream.rest.clear();
    }
    piece.remove_prefix(end + 1);
  }
  stream.rest.append(piece);
  if (stream.rest.size() >= kLongestLine) Finish(name, &stream);
  if (stream.rest.empty()) {
    stream.due = absl::InfiniteDuration();
  } else if (stream.due == absl::InfiniteDuration()) {
    stream.due = clock_->Monotonic() + kPatience;
  }
}

// Passes on a whole line, or the remainder of one that was passed on in part.
void WholeLines::Give(const Name& name, Stream* stream, std::string_view line) {
  stream->due = absl::InfiniteDuration();
  if (std::exchange(stream->was_given, false)) {
    line = LastForm(line);
    if (line.empty()) return;
  }
  take_(name.first, name.second, line);
}

bool WholeLines::GiveDue() {
  const absl::Duration now = clock_->Monotonic();
  bool any = false;
  for (auto& [name, stream] : streams_) {
    if (stream.due > now) continue;
    stream.due = absl::InfiniteDuration();
    const std::size_t begun = BegunCharacter(stream.rest);
    const std::string_view whole(stream.rest.data(), stream.rest.size() - begun);
    if (const std::string_view form = LastForm(whole); !form.empty()) {
      take_(name.first, name.second, form);
      stream.was_given = any = true;
    }
    stream.rest.erase(0, whole.size());
  }
  return any;
}

absl::Duration WholeLines::NextDue() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [name, stream] : streams_) next = std::min(next, stream.due);
  return next;
}

void WholeLines::Finish() {
  for (auto& [name, stream] : streams_) Finish(name, &stream);
}

void WholeLines::Finish(const Name& name, Stream* stream) {
  if (!stream->rest.empty()) Give(name, stream, stream->rest);
  stream->rest.clear();
  stream->was_given = false;
  stream->due = absl::InfiniteDuration();
}

}  // namespace yard
