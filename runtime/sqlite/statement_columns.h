#ifndef RUNTIME_SQLITE_STATEMENT_COLUMNS_H_
#define RUNTIME_SQLITE_STATEMENT_COLUMNS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// Joins words, which must not contain NUL bytes, with a NUL after each.
inline std::string JoinWords(const std::vector<std::string>& words) {
  std::string bytes;
  for (const std::string& word : words) bytes.append(word.c_str(), word.size() + 1);
  return bytes;
}

inline std::vector<std::string> SplitWords(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    words.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  }
  return words;
}

// Binds the parameters of a statement in order. Throws SQLiteCpp's exceptions.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}
  Binder& operator<<(std::int64_t value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binder& operator<<(const std::string& text) {
    statement_.bind(++index_, text);
    return *this;
  }
  Binder& operator<<(const std::optional<double>& value) {
    ++index_;  // An unbound parameter is NULL, which SQLite also makes of a NaN.
    if (value) statement_.bind(index_, *value);
    return *this;
  }
  Binder& Bytes(const std::string& bytes) {
    statement_.bind(++index_, bytes.data(), static_cast<int>(bytes.size()));
    return *this;
  }
  Binder& operator<<(const std::vector<std::string>& words) { return Bytes(JoinWords(words)); }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

// Reads the columns of a result in order.
class Reader {
 public:
  explicit Reader(SQLite::Statement& statement) : statement_(statement) {}
  std::int64_t Number() { return statement_.getColumn(index_++).getInt64(); }
  int Int() { return statement_.getColumn(index_++).getInt(); }
  bool Truth() { return Number() != 0; }
  std::string Text() { return statement_.getColumn(index_++).getString(); }
  std::optional<double> MaybeReal() {
    const auto column = statement_.getColumn(index_++);
    return column.isNull() ? std::nullopt : std::optional<double>(column.getDouble());
  }
  std::string Bytes() {
    const auto column = statement_.getColumn(index_++);
    const int size = column.getBytes();
    return size == 0 ? "" : std::string(static_cast<const char*>(column.getBlob()), size);
  }
  std::vector<std::string> Words() { return SplitWords(Bytes()); }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

}  // namespace runtime

#endif  // RUNTIME_SQLITE_STATEMENT_COLUMNS_H_
