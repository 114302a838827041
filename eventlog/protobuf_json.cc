#include "eventlog/protobuf_json.h"

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "eventlog/number_type.h"
#include "eventlog/wire.h"
#include "protozero/pbf_reader.hpp"

namespace eventlog {
namespace {

using protozero::pbf_reader;
using wire::Error;

class Writer {
 public:
  void AppendMessage(const JsonMessage& type, std::string_view bytes) {
    Level level(this);
    if (type.unwrapped) return AppendUnwrapped(type, bytes);
    Append("{");
    bool first = true;
    for (const JsonField& field : type.fields) {
      pbf_reader message = wire::OpenNumbers(bytes);
      if (!message.next(field.number)) continue;
      if (!first) Append(",");
      first = false;
      AppendText(field.name);
      Append(":");
      AppendField(field, bytes);
    }
    Append("}");
  }

  // Appends a google.protobuf.Value.
  void AppendValue(std::string_view bytes) {
    Level level(this);
    const std::size_t start = out_.size();
    Append("null");
    pbf_reader value = wire::OpenNumbers(bytes);
    while (value.next()) {
      if (value.tag() < 1 || value.tag() > 6) {
        value.skip();
        continue;
      }
      // If a singular field is repeated, the last one wins.
      out_.resize(start);
      switch (value.tag()) {
        case 1:
          wire::TakeEnum(value);
          Append("null");
          break;
        case 2:
          AppendDouble(wire::TakeDouble(value));
          break;
        case 3:
          AppendText(wire::TakeBytes(value));
          break;
        case 4:
          Append(wire::TakeInt64(value) != 0 ? "true" : "false");
          break;
        case 5:
          AppendStruct(wire::TakeBytes(value));
          break;
        default:
          AppendListValue(wire::TakeBytes(value));
      }
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  // Tracks the nesting depth of messages.
  class Level {
   public:
    explicit Level(Writer* writer) : writer_(writer) {
      if (++writer_->depth_ > kMaxJsonNesting)
        throw Error("messages within messages, over 64 deep");
    }
    ~Level() { --writer_->depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Writer* const writer_;
  };

  void Append(std::string_view text) {
    if (text.size() > kMaxJsonBytes - out_.size()) throw Error("over 16 MiB of JSON");
    out_ += text;
  }

  void AppendText(std::string_view text) {
    using nlohmann::json;
    Append(json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace));
  }

  template <typename Number>
  void AppendNumber(Number number) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    Append(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  template <typename Real>
  void AppendReal(Real number) {
    if (std::isnan(number)) return Append("\"NaN\"");
    if (std::isinf(number)) return Append(number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    AppendNumber(number);
  }
  void AppendDouble(double number) { AppendReal(number); }

  void AppendType(std::string_view name, std::int32_t number) {
    if (name == NameOf(NumberType::kUnknown)) {
      AppendNumber(number);
    } else {
      AppendText(name);
    }
  }

  void AppendUnwrapped(const JsonMessage& type, std::string_view bytes) {
    const JsonField* last = nullptr;
    pbf_reader message = wire::OpenNumbers(bytes);
    while (message.next()) {
      for (const JsonField& field : type.fields) {
        if (field.number == message.tag()) last = &field;
      }
      message.skip();
    }
    if (last == nullptr) return Append("null");
    AppendField(*last, bytes);
  }

  // Appends a field of a message that contains it at least once.
  void AppendField(const JsonField& field, std::string_view bytes) {
    if (field.kind == JsonKind::kMap) return AppendMap(field, bytes);
    if (field.repeated) return AppendRepeated(field, bytes);
    const std::size_t start = out_.size();
    pbf_reader message = wire::OpenNumbers(bytes);
    while (message.next(field.number)) {
      out_.resize(start);
      AppendOne(field, message);
    }
  }

  void AppendRepeated(const JsonField& field, std::string_view bytes) {
    Append("[");
    bool first = true;
    const auto separate = [&] {
      if (!first) Append(",");
      first = false;
    };
    pbf_reader message = wire::OpenNumbers(bytes);
    while (message.next(field.number)) {
      if (message.wire_type() == wire::Type::length_delimited && IsNumber(field.kind)) {
        AppendPacked(field.kind, message, separate);
      } else {
        separate();
        AppendOne(field, message);
      }
    }
    Append("]");
  }

  static bool IsNumber(JsonKind kind) {
    return kind == JsonKind::kInteger || kind == JsonKind::kUnsigned || kind == JsonKind::kBool ||
           kind == JsonKind::kFloat || kind == JsonKind::kDouble ||
           kind == JsonKind::kTensorFlowType || kind == JsonKind::kMindSporeType;
  }

  template <typename Separate>
  void AppendPacked(JsonKind kind, pbf_reader& message, const Separate& separate) {
    if (kind == JsonKind::kFloat) {
      for (const float number : message.get_packed_float()) {
        separate();
        AppendReal(number);
      }
    } else if (kind == JsonKind::kDouble) {
      for (const double number : message.get_packed_double()) {
        separate();
        AppendReal(number);
      }
    } else {
      for (const std::uint64_t bits : message.get_packed_uint64()) {
        separate();
        AppendVarint(kind, bits);
      }
    }
  }

  void AppendVarint(JsonKind kind, std::uint64_t bits) {
    const auto number = static_cast<std::int32_t>(bits);
    switch (kind) {
      case JsonKind::kUnsigned:
        return AppendNumber(bits);
      case JsonKind::kBool:
        return Append(bits != 0 ? "true" : "false");
      case JsonKind::kTensorFlowType:
        return AppendType(NameOf(NumberTypeOfTensorFlow(number)), number);
      case JsonKind::kMindSporeType:
        return AppendType(NameOf(NumberTypeOfMindSpore(number)), number);
      default:
        return AppendNumber(static_cast<std::int64_t>(bits));
    }
  }

  void AppendOne(const JsonField& field, pbf_reader& message) {
    switch (field.kind) {
      case JsonKind::kFloat:
        return AppendReal(wire::TakeFloat(message));
      case JsonKind::kDouble:
        return AppendReal(wire::TakeDouble(message));
      case JsonKind::kText:
        return AppendText(wire::TakeBytes(message));
      case JsonKind::kMessage:
      case JsonKind::kMap:
        return AppendMessage(field.message(), wire::TakeBytes(message));
      case JsonKind::kValue:
        return AppendValue(wire::TakeBytes(message));
      case JsonKind::kListValue:
        return AppendListValue(wire::TakeBytes(message));
      default:
        return AppendVarint(field.kind, static_cast<std::uint64_t>(wire::TakeInt64(message)));
    }
  }

  // Returns a map's entries by key; the last entry of a key wins.
  static std::map<std::string_view, std::string_view> EntriesOf(std::uint32_t number,
                                                                std::string_view bytes) {
    std::map<std::string_view, std::string_view> entries;
    pbf_reader message = wire::OpenNumbers(bytes);
    while (message.next(number)) {
      const std::string_view entry = wire::TakeBytes(message);
      std::string_view key;
      pbf_reader fields = wire::OpenNumbers(entry);
      while (fields.next(1)) key = wire::TakeBytes(fields);
      entries[key] = entry;
      if (entries.size() > 1'000'000) throw Error("over 1,000,000 entries");
    }
    return entries;
  }

  void AppendMap(const JsonField& field, std::string_view bytes) {
    const JsonField& value = field.message().fields[1];
    Append("{");
    bool first = true;
    for (const auto& [key, entry] : EntriesOf(field.number, bytes)) {
      if (!first) Append(",");
      first = false;
      AppendText(key);
      Append(":");
      pbf_reader fields = wire::OpenNumbers(entry);
      if (fields.next(value.number)) {
        AppendField(value, entry);
      } else {
        AppendDefault(value);
      }
    }
    Append("}");
  }

  // Appends the value of an entry that omits it: the default of the value's kind.
  void AppendDefault(const JsonField& value) {
    switch (value.kind) {
      case JsonKind::kText:
        return Append("\"\"");
      case JsonKind::kBool:
        return Append("false");
      case JsonKind::kMessage:
        return AppendMessage(value.message(), {});
      case JsonKind::kValue:
        return Append("null");
      default:
        return Append("0");
    }
  }

  // Appends a google.protobuf.Struct.
  void AppendStruct(std::string_view bytes) {
    Append("{");
    bool first = true;
    for (const auto& [key, entry] : EntriesOf(1, bytes)) {
      if (!first) Append(",");
      first = false;
      AppendText(key);
      Append(":");
      std::string_view value;
      pbf_reader fields = wire::OpenNumbers(entry);
      while (fields.next(2)) value = wire::TakeBytes(fields);
      AppendValue(value);
    }
    Append("}");
  }

  void AppendListValue(std::string_view bytes) {
    Append("[");
    bool first = true;
    pbf_reader list = wire::OpenNumbers(bytes);
    while (list.next(1)) {
      if (!first) Append(",");
      first = false;
      AppendValue(wire::TakeBytes(list));
    }
    Append("]");
  }

  std::string out_;
  int depth_ = 0;
};

template <typename Write>
absl::StatusOr<std::string> Written(std::string_view bytes, Write write) {
  Writer writer;
  const absl::Status status = wire::Guarded("the message", [&] {
    if (bytes.size() > kMaxJsonInputBytes) throw Error("over 64 MiB");
    write(&writer);
  });
  if (!status.ok()) return status;
  return writer.Take();
}

}  // namespace

absl::StatusOr<std::string> ProtobufAsJson(const JsonMessage& message, std::string_view bytes) {
  return Written(bytes, [&](Writer* writer) { writer->AppendMessage(message, bytes); });
}

absl::StatusOr<std::string> ProtobufValueAsJson(std::string_view bytes) {
  return Written(bytes, [&](Writer* writer) { writer->AppendValue(bytes); });
}

}  // namespace eventlog
