#ifndef RUNTIME_QUERY_QUERY_TEXT_H_
#define RUNTIME_QUERY_QUERY_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/query/comparison.h"

namespace runtime {

// Reads the text of a query from left to right: its words, quotes and signs; keeps the first error.
// A word ends at white space or at a sign; a word that contains one must be quoted, in either kind
// of quotes, within which a backslash escapes a quote or a backslash.
//
// A method that reads returns false when it has noted an error.
class QueryText {
 public:
  static constexpr std::string_view kSigns = "<>=!&|()\"'";

  // `kind` is the text's name in errors ("query"); both texts must outlive this object.
  QueryText(std::string_view kind, std::string_view text, std::string_view signs = kSigns)
      : kind_(kind), text_(text), signs_(signs) {}

  std::string_view kind() const { return kind_; }
  std::string_view text() const { return text_; }
  std::size_t at() const { return at_; }  // In bytes.
  bool at_end() const { return at_ == text_.size(); }
  // '\0' at the end.
  char next() const { return at_end() ? '\0' : text_[at_]; }
  std::string_view rest() const { return text_.substr(at_); }
  void Skip(std::size_t bytes) { at_ += bytes; }
  void SkipSpaces();
  // Skips white space and takes `sign`, written once or twice. Returns false if it does not follow.
  bool TakeSign(char sign);

  bool IsQuote() const { return next() == '"' || next() == '\''; }
  // Reads a word without quotes; empty if none follows.
  std::string ReadBare();
  bool ReadQuoted(std::string* word);
  bool ReadWord(std::string* word);  // Reads a word of either kind.

  struct Sign {
    Comparison comparison;
    std::string_view text;
  };
  // Skips white space and takes one of < <= > >= = == !=; null if none follows.
  std::optional<Sign> TakeComparison();

  // Notes an error about the characters at `offset`; returns false.
  bool Fail(std::size_t offset, std::string_view message);
  const absl::Status& error() const { return error_; }
  // Returns the column of the character at `offset`, from 1.
  std::size_t ColumnOf(std::size_t offset) const;

 private:
  const std::string_view kind_;
  const std::string_view text_;
  const std::string_view signs_;
  std::size_t at_ = 0;
  absl::Status error_;
};

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_TEXT_H_
