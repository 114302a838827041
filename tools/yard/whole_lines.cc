#include "tools/yard/whole_lines.h"

#include <cstddef>

namespace yard {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

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
      take_(name.first, name.second, piece.substr(0, end));
    } else {
      take_(name.first, name.second, stream.rest.append(piece.substr(0, end)));
      stream.rest.clear();
    }
    piece.remove_prefix(end + 1);
  }
  stream.rest.append(piece);
  if (stream.rest.size() >= kLongestLine) Finish(name, &stream);
}

void WholeLines::Finish() {
  for (auto& [name, stream] : streams_) Finish(name, &stream);
}

void WholeLines::Finish(const Name& name, Stream* stream) {
  if (!stream->rest.empty()) take_(name.first, name.second, stream->rest);
  stream->rest.clear();
}

}  // namespace yard
