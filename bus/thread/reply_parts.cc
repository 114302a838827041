#include "bus/thread/reply_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/reply_vectors.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kSmallestTable = 8;  // Bytes: its offset in a vector, and its vtable's.
constexpr std::size_t kAimedAt = kMaxPartBytes / 10 * 9;
constexpr std::size_t kTablesAimedAt = kMaxPartTables / 10 * 9;

// Visits the lists of an answer, each as member pointer and table. (The value is null if a sender
// set a type without a table.)
template <typename Visit>
void VisitMembers(const msg::BodyUnion& body, Visit&& visit) {
  if (body.value == nullptr) return;
  rpc::VisitReplyVectors(body.type,
                         [&]<typename Table, typename Item>(std::vector<Item> Table::*list) {
                           visit(list, *static_cast<Table*>(body.value));
                         });
}

template <typename Visit>
void VisitLists(const msg::BodyUnion& body, Visit&& visit) {
  VisitMembers(body, [&](auto list, auto& table) { visit(table.*list); });
}

// Returns the length of the longest list.
std::size_t Rows(const msg::BodyUnion& body) {
  std::size_t rows = 0;
  VisitLists(body, [&](const auto& list) { rows = std::max(rows, list.size()); });
  return rows;
}

std::size_t Entries(const msg::BodyUnion& body) {
  std::size_t entries = 0;
  VisitLists(body, [&]<typename Item>(const std::vector<Item>& list) {
    if (sizeof(Item) > 1) entries = std::max(entries, list.size());
  });
  return entries;
}

bool IsLarge(const Frame& frame) {
  if (frame.size() > kMaxPartBytes) return true;
  if (frame.size() < kSmallestTable * kMaxPartTables) return false;
  flatbuffers::Verifier verifier(frame.bytes().data(), frame.size(), kMaxDepth, kMaxPartTables);
  return !msg::VerifyEnvelopeBuffer(verifier);
}

absl::Status OverLimits(std::string_view method, std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("the answer", method.empty() ? "" : " of ",
                                                   runtime::Absl(method), " ", runtime::Absl(what),
                                                   "; ask for less at once"));
}

absl::Status OverWholeLimits(std::string_view method) {
  return OverLimits(method, absl::StrCat("has over ", kMaxAnswerBytes, " bytes or over ",
                                         kMaxAnswerEntries, " entries"));
}

// Returns an error if the receiver would refuse the frame.
absl::Status CheckSendable(const Frame& frame, std::string_view method) {
  if (!IsLarge(frame) || Receive(frame.bytes(), kMaxMessageBytes).ok()) return absl::OkStatus();
  return OverLimits(method, absl::StrCat("is over the limits of a message: it has ", frame.size(),
                                         " bytes (at most ", kMaxMessageBytes, ") or over ",
                                         kMaxTables, " entries"));
}

// Moves all but the last entries out of `reply`, into parts of `rows` entries each.
std::vector<msg::EnvelopeT> CutOff(msg::EnvelopeT& reply, std::size_t rows) {
  std::vector<msg::EnvelopeT> parts((Rows(reply.body) - 1) / rows);
  VisitMembers(reply.body, [&]<typename Table>(auto list, Table& table) {
    auto& all = table.*list;
    const auto at = [&](std::size_t i) { return all.begin() + std::min(i * rows, all.size()); };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      msg::BodyUnion& body = parts[i].body;
      if (body.value == nullptr) body.Set(Table());
      (static_cast<Table*>(body.value)->*list)
          .assign(std::make_move_iterator(at(i)), std::make_move_iterator(at(i + 1)));
    }
    all.erase(all.begin(), at(parts.size()));
  });
  return parts;
}

// Appends frames of `message`, whose encoding is `frame`. Each frame is small enough or has one
// entry; the last one has the kind of `message`.
absl::Status Split(msg::EnvelopeT& message, Frame frame, std::vector<Frame>& frames,
                   std::string_view method) {
  const std::size_t rows = Rows(message.body);
  if (rows < 2 || !IsLarge(frame)) {
    absl::Status sendable = CheckSendable(frame, method);
    frames.push_back(std::move(frame));
    return sendable;
  }
  const std::size_t pieces = std::clamp<std::size_t>(
      std::max(frame.size() / kAimedAt, rows / kTablesAimedAt) + 1, 2, rows);
  frame = Frame();
  for (msg::EnvelopeT& part : CutOff(message, (rows + pieces - 1) / pieces)) {
    part.kind = msg::Kind::ReplyPart;
    part.corr = message.corr;
    if (absl::Status split = Split(part, Encode(part), frames, method); !split.ok()) return split;
  }
  return Split(message, Encode(message), frames, method);
}

// Appends the entries of `from` to those of `to`.
absl::Status Append(msg::BodyUnion& from, msg::BodyUnion& to) {
  if (from.type != to.type || from.value == nullptr) {
    return absl::InternalError("the parts of an answer are of different types");
  }
  VisitMembers(from, [&]<typename Table>(auto list, Table& table) {
    auto& more = table.*list;
    auto& all = static_cast<Table*>(to.value)->*list;
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  });
  return absl::OkStatus();
}

}  // namespace

std::size_t ReplyFrames::bytes() const {
  std::size_t bytes = reply.size();
  for (const Frame& part : parts) bytes += part.size();
  return bytes;
}

absl::StatusOr<ReplyFrames> EncodeReply(msg::EnvelopeT& reply, std::uint64_t corr, bool in_parts,
                                        std::string_view method) {
  reply.kind = msg::Kind::Reply;
  reply.corr = corr;
  if (Entries(reply.body) > kMaxAnswerEntries) return OverWholeLimits(method);
  ReplyFrames frames;
  frames.reply = Encode(reply);
  if (!IsLarge(frames.reply)) return frames;
  if (frames.reply.size() > kMaxAnswerBytes) return OverWholeLimits(method);
  if (!in_parts) {
    if (absl::Status one = CheckSendable(frames.reply, method); !one.ok()) return one;
    return frames;
  }
  absl::Status split = Split(reply, std::move(frames.reply), frames.parts, method);
  if (!split.ok()) return split;
  frames.reply = std::move(frames.parts.back());
  frames.parts.pop_back();
  if (frames.bytes() > kMaxAnswerBytes) return OverWholeLimits(method);
  return frames;
}

absl::Status ReplyMerge::Count(const msg::BodyUnion& body, std::size_t bytes) {
  bytes_ += bytes;
  entries_ += Entries(body);
  if (bytes_ > kMaxAnswerBytes || entries_ > kMaxAnswerEntries) return OverWholeLimits("");
  return absl::OkStatus();
}

absl::Status ReplyMerge::Add(msg::BodyUnion part, std::size_t bytes) {
  if (absl::Status counted = Count(part, bytes); !counted.ok()) return counted;
  if (merged_.value != nullptr) return Append(part, merged_);
  merged_ = std::move(part);
  return absl::OkStatus();
}

absl::Status ReplyMerge::Finish(msg::BodyUnion& reply, std::size_t bytes) {
  if (merged_.value == nullptr) return absl::OkStatus();
  if (absl::Status counted = Count(reply, bytes); !counted.ok()) return counted;
  if (absl::Status added = Append(reply, merged_); !added.ok()) return added;
  VisitMembers(reply, [&]<typename Table>(auto list, Table& table) {
    std::swap(table.*list, static_cast<Table*>(merged_.value)->*list);
  });
  return absl::OkStatus();
}

}  // namespace bus
