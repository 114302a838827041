#include "runtime/query/query_text.h"

#include <algorithm>
#include <utility>

#include "runtime/query/query_error.h"

namespace runtime {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Signs of two characters precede those of one.
constexpr QueryText::Sign kComparisons[] = {
    {Comparison::kLessOrEqual, "<="},    {Comparison::kLess, "<"},
    {Comparison::kGreaterOrEqual, ">="}, {Comparison::kGreater, ">"},
    {Comparison::kEqual, "=="},          {Comparison::kEqual, "="},
    {Comparison::kNotEqual, "!="}};

}  // namespace

void QueryText::SkipSpaces() {
  while (!at_end() && IsSpace(next())) ++at_;
}

bool QueryText::TakeSign(char sign) {
  SkipSpaces();
  if (next() != sign) return false;
  ++at_;
  if (next() == sign) ++at_;
  return true;
}

std::string QueryText::ReadBare() {
  const std::size_t start = at_;
  while (!at_end() && !IsSpace(next()) && signs_.find(next()) == signs_.npos) ++at_;
  return std::string(text_.substr(start, at_ - start));
}

bool QueryText::ReadQuoted(std::string* word) {
  const std::size_t start = at_;
  const char quote = text_[at_++];
  for (; !at_end(); ++at_) {
    if (next() == quote) {
      ++at_;
      return true;
    }
    // Any other backslash is literal, since patterns are full of them.
    const char behind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (next() == '\\' && (behind == quote || behind == '\\')) ++at_;
    *word += next();
  }
  return Fail(start, "this quote is not closed");
}

bool QueryText::ReadWord(std::string* word) {
  if (IsQuote()) return ReadQuoted(word);
  *word = ReadBare();
  return true;
}

std::optional<QueryText::Sign> QueryText::TakeComparison() {
  SkipSpaces();
  for (const Sign& sign : kComparisons) {
    if (!rest().starts_with(sign.text)) continue;
    at_ += sign.text.size();
    return sign;
  }
  return std::nullopt;
}

bool QueryText::Fail(std::size_t offset, std::string_view message) {
  error_ = QueryError(kind_, text_, offset, message);
  return false;
}

std::size_t QueryText::ColumnOf(std::size_t offset) const {
  return 1 + static_cast<std::size_t>(std::count_if(
                 text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset),
                 [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace runtime
