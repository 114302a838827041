#ifndef RUNTIME_QUERY_QUERY_TEXT_H_
#define RUNTIME_QUERY_QUERY_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/query/comparison.h"

namespace runtime {

// The text of a query, read from left to right: its words, quotes, signs, and the first error. A
// word ends at white space or at one of the signs; what holds one of these stands in quotes of
// either kind, in which a backslash may stand before a quote or a backslash.
//
// A method that reads something returns false when it has noted an error.
class QueryText {
 public:
  static constexpr std::string_view kSigns = "<>=!&|()\"'";

  // `kind` is what errors call it, "query"; both texts outlive this.
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
  // Takes `sign`, once or twice, after white space. False: it is not there.
  bool TakeSign(char sign);

  bool IsQuote() const { return next() == '"' || next() == '\''; }
  // A word without quotes; empty if no such word stands here.
  std::string ReadBare();
  bool ReadQuoted(std::string* word);
  bool ReadWord(std::string* word);  // Reads a word of either kind.

  struct Sign {
    Comparison comparison;
    std::string_view text;
  };
  // Takes one of < <= > >= = == != after white space.
  std::optional<Sign> TakeComparison();

  // Notes an error of the characters at `offset` and returns false.
  bool Fail(std::size_t offset, std::string_view message);
  const absl::Status& error() const { return error_; }
  // Column of the character at `offset`, from 1.
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
