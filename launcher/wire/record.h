#ifndef LAUNCHER_WIRE_RECORD_H_
#define LAUNCHER_WIRE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launcher {

// An ordered list of (key, bytes), the one encoding of everything the launcher and the shim
// exchange or keep: control messages, the attempt's spec and exit file, a job's stored spec.
// Values are arbitrary bytes; a key may repeat. Not thread safe. No dependencies, because the
// static shim links it.
//
// Encoded: "YARD-RECORD 1 KIND\n", then "KEY LENGTH\nBYTES\n" for each field. Readers ignore keys
// they do not know; a change that old readers would misread raises the version.
class Record {
 public:
  explicit Record(std::string kind) : kind_(std::move(kind)) {}

  // Nothing if the bytes are no whole record of a version this program knows.
  static std::optional<Record> Parse(std::string_view bytes);
  std::string Encode() const;

  const std::string& kind() const { return kind_; }
  void Add(std::string_view key, std::string_view value);
  void AddNumber(std::string_view key, std::int64_t value);
  void AddAll(std::string_view key, const std::vector<std::string>& values);
  bool Has(std::string_view key) const;
  // The first value of `key`; empty (0) if the record has no such key.
  std::string Get(std::string_view key) const;
  std::int64_t GetNumber(std::string_view key) const;
  std::vector<std::string> GetAll(std::string_view key) const;

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_RECORD_H_
