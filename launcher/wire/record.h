#ifndef LAUNCHER_WIRE_RECORD_H_
#define LAUNCHER_WIRE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launcher {

// An ordered list of (key, bytes): the encoding of everything that the launcher and the shim
// exchange or store: control messages, the attempt's spec and exit file, a job's stored spec.
// Values are arbitrary bytes; a key may repeat. Not thread-safe. Has no dependencies, because the
// static shim links it.
//
// The encoding is "YARD-RECORD 1 KIND\n", then "KEY LENGTH\nBYTES\n" for each field. Readers ignore
// unknown keys; a change that old readers would misread increments the version.
class Record {
 public:
  explicit Record(std::string kind) : kind_(std::move(kind)) {}

  // Returns nullopt if the bytes are not a complete record of a version that this program knows.
  static std::optional<Record> Parse(std::string_view bytes);
  std::string Encode() const;

  const std::string& kind() const { return kind_; }
  // Append one field, or one for each of several values.
  void Add(std::string_view key, std::string_view value);
  void AddNumber(std::string_view key, std::int64_t value);
  void AddAll(std::string_view key, const std::vector<std::string>& values);
  bool Has(std::string_view key) const;
  // Return the first value of `key`; empty (or 0) if the record has no such key.
  std::string Get(std::string_view key) const;
  std::int64_t GetNumber(std::string_view key) const;
  // Returns all values of `key`, in their order.
  std::vector<std::string> GetAll(std::string_view key) const;

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_RECORD_H_
