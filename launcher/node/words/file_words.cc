#include "launcher/node/words/file_words.h"

#include <algorithm>
#include <array>

#include "launcher/node/words/node_words.h"
#include "launcher/node/words/word_fields.h"
#include "launcher/wire/record.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

constexpr std::array<std::string_view, 5> kParts = {"tree", "directory", "end", "whole", "append"};
constexpr std::array<std::string_view, 5> kAnswers = {"has", "later", "gone", "again", "failed"};

// Parses a record of this kind with the key of an attempt; nullopt for others.
std::optional<Record> ParseOfAttempt(std::string_view bytes, std::string_view kind) {
  auto record = ParseWord(bytes, kind);
  return record && IsAttemptKey(record->Get("attempt")) ? record : std::nullopt;
}

}  // namespace

bool IsRunPath(std::string_view path) {
  if (path.empty() || path.size() > kMaxRunPath || path.find('\0') != path.npos) return false;
  int depth = 0;
  while (true) {
    const std::size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name == "." || name == ".." || ++depth > kMaxRunPathDepth) return false;
    if (end == path.npos) return true;
    path.remove_prefix(end + 1);
  }
}

std::string FilePart::Encode() const {
  Record record("file");
  record.Add("attempt", attempt);
  record.Add("kind", kParts[static_cast<std::size_t>(kind)]);
  record.AddNumber("transfer", Signed(transfer));
  record.Add("path", path);
  record.AddNumber("count", Signed(count));
  record.AddNumber("size", Signed(size));
  record.Add("sha256", sha256);
  record.Add("like", like);
  record.AddNumber("offset", Signed(offset));
  record.Add("bytes", bytes);
  return record.Encode();
}

std::optional<FilePart> FilePart::Decode(std::string_view bytes) {
  const auto record = ParseOfAttempt(bytes, "file");
  const auto kind = record ? NamedIn<Kind>(kParts, record->Get("kind")) : std::nullopt;
  if (!kind) return std::nullopt;
  FilePart part{.attempt = record->Get("attempt"),
                .kind = *kind,
                .transfer = Unsigned(*record, "transfer"),
                .path = record->Get("path"),
                .count = Unsigned(*record, "count"),
                .size = Unsigned(*record, "size"),
                .sha256 = record->Get("sha256"),
                .like = record->Get("like"),
                .offset = Unsigned(*record, "offset"),
                .bytes = record->Get("bytes")};
  const bool has_hash =
      part.kind == Kind::kTree || part.kind == Kind::kWhole || !part.sha256.empty();
  if (!IsRunPath(part.path) || (has_hash && !runtime::IsSha256(part.sha256)) ||
      (!part.like.empty() && !IsRunPath(part.like)) || part.bytes.size() > kMaxFilePiece ||
      part.size > kMaxFileBytes || part.offset > part.size ||
      part.bytes.size() > part.size - part.offset) {
    return std::nullopt;
  }
  return part;
}

std::string FileAnswer::Encode() const {
  Record record("file_answer");
  record.Add("attempt", attempt);
  record.Add("kind", kAnswers[static_cast<std::size_t>(kind)]);
  record.AddNumber("transfer", Signed(transfer));
  record.Add("path", path);
  record.AddNumber("offset", Signed(offset));
  record.AddNumber("is_whole", is_whole ? 1 : 0);
  record.Add("error", error);
  return record.Encode();
}

std::optional<FileAnswer> FileAnswer::Decode(std::string_view bytes) {
  const auto record = ParseOfAttempt(bytes, "file_answer");
  const auto kind = record ? NamedIn<Kind>(kAnswers, record->Get("kind")) : std::nullopt;
  if (!kind) return std::nullopt;
  return FileAnswer{.attempt = record->Get("attempt"),
                    .kind = *kind,
                    .transfer = Unsigned(*record, "transfer"),
                    .path = record->Get("path"),
                    .offset = Unsigned(*record, "offset"),
                    .is_whole = record->GetNumber("is_whole") != 0,
                    .error = record->Get("error")};
}

std::string FileList::Encode() const {
  Record record("file_list");
  record.AddAll("directory", directories);
  for (const File& file : files) {
    record.Add("path", file.path);
    record.Add("size", std::to_string(file.size));
    record.Add("sha256", file.sha256);
  }
  return record.Encode();
}

std::optional<FileList> FileList::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "file_list");
  if (!record) return std::nullopt;
  FileList list{.directories = record->GetAll("directory")};
  const auto paths = record->GetAll("path"), sizes = record->GetAll("size"),
             hashes = record->GetAll("sha256");
  if (sizes.size() != paths.size() || hashes.size() != paths.size() ||
      paths.size() + list.directories.size() > kMaxTreeFiles) {
    return std::nullopt;
  }
  for (const std::string& path : list.directories) {
    if (!IsRunPath(path)) return std::nullopt;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool is_number =
        !sizes[i].empty() && sizes[i].size() <= 15 &&
        std::all_of(sizes[i].begin(), sizes[i].end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || !IsRunPath(paths[i]) || !runtime::IsSha256(hashes[i])) return std::nullopt;
    list.files.push_back({.path = paths[i], .size = std::stoull(sizes[i]), .sha256 = hashes[i]});
  }
  return list;
}

std::string FileListAnswer::Encode() const {
  Record record("file_list_answer");
  record.Add("attempt", attempt);
  record.Add("checkpoint", checkpoint);
  record.Add("sha256", sha256);
  record.AddNumber("bytes", Signed(bytes));
  record.Add("error", error);
  return record.Encode();
}

std::optional<FileListAnswer> FileListAnswer::Decode(std::string_view bytes) {
  const auto record = ParseOfAttempt(bytes, "file_list_answer");
  if (!record) return std::nullopt;
  FileListAnswer answer{.attempt = record->Get("attempt"),
                        .checkpoint = record->Get("checkpoint"),
                        .sha256 = record->Get("sha256"),
                        .bytes = Unsigned(*record, "bytes"),
                        .error = record->Get("error")};
  const bool has_list = runtime::IsSha256(answer.sha256) && answer.bytes <= kMaxFileList;
  if (!has_list && answer.error.empty()) return std::nullopt;
  if (!has_list) answer.sha256.clear();
  return answer;
}

}  // namespace launcher
