#if defined(__GNUC__) && !defined(__clang__)
// With the sanitizers, GCC reports a false over-read in FlatBuffers' key comparison.
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#include "tools/yard/json/message_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/json/state_names.h"
#include "flatbuffers/idl.h"
#include "flatbuffers/reflection.h"
#include "re2/re2.h"
#include "runtime/text/string_view.h"

// FlatBuffers' parser reads the JSON. It knows neither the words for states nor how to explain a
// mistake, so both start from its error: a state's word is replaced by the schema's name and the
// text is parsed again; any other error is rewritten for people.

namespace yard {
namespace {

using flatbuffers::Table;
using reflection::BaseType;

constexpr std::size_t kMaxTextBytes = 1 << 20;
// Limit of states given by words in one text, because each costs a parse.
constexpr int kMaxStates = 100;

// A position in a JSON text, with the names of the enclosing objects.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
  std::vector<std::string> path;
};

// Scans relaxed JSON for names of fields, by the same rules as the parser.
class NameScan {
 public:
  explicit NameScan(std::string_view text) : text_(text) {}
  std::size_t at() const { return at_; }  // Offset after the scanned text.

  // Finds the next name before a colon, with its position; returns false at the end.
  bool Next(std::string* name, Place* place) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        Keep(Quoted(c));
      } else if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') {
        Keep(Word());
      } else if (text_.substr(at_, 2) == "//" || text_.substr(at_, 2) == "/*") {
        SkipComment();
      } else {
        ++at_;
        if (c == '[') lists_.emplace_back(path_.size(), name_);
        if (c == ']' && !lists_.empty()) lists_.pop_back();
        if (c == '{') path_.push_back(IsInList() ? lists_.back().second : name_);
        if (c == '}' && !path_.empty()) path_.pop_back();
        if (c != ':') continue;
        *name = name_;
        *place = PlaceOfName();
        return true;
      }
    }
    return false;
  }

 private:
  void Keep(std::string name) { name_ = std::move(name); }
  bool IsInList() const { return !lists_.empty() && lists_.back().first == path_.size(); }
  std::string Quoted(char quote) {
    name_at_ = at_++;
    std::string result;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) result.push_back(text_[at_++]);
    }
    ++at_;
    return result;
  }
  std::string Word() {
    name_at_ = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    return std::string(text_.substr(name_at_, at_ - name_at_));
  }
  void SkipComment() {
    const bool line = text_[at_ + 1] == '/';
    const std::size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + (line ? 1 : 2);
  }
  Place PlaceOfName() const {
    Place place;
    const std::string_view before = text_.substr(0, name_at_);
    place.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t newline = before.rfind('\n');
    place.column += newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    // The outermost object has no name, so it is left out.
    if (path_.size() > 1) place.path.assign(path_.begin() + 1, path_.end());
    return place;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_at_ = 0;
  std::string name_;
  std::vector<std::string> path_;
  // Open lists: the size of path_ at each, and its name, which all its objects share.
  std::vector<std::pair<std::size_t, std::string>> lists_;
};

// Explains the parser's errors in terms of the schema.
class Mistakes {
 public:
  explicit Mistakes(const MessageSchema& schema) : schema_(schema) {}

  // `error` has the parser's format, "LINE: COLUMN: error: WORDS".
  std::string Explain(std::string_view text, const reflection::Object& type,
                      const std::string& error) const {
    std::size_t line = 0;
    std::size_t column = 0;
    std::string words;
    if (!RE2::FullMatch(error, R"((?s)(\d+): (\d+): error: (.*))", &line, &column, &words)) {
      return error;
    }
    if (absl::StartsWith(words, "unknown field")) {
      NameScan scan(text);
      std::string name;
      Place place;
      while (scan.Next(&name, &place)) {
        const auto* table = Follow(type, place.path);
        if (table == nullptr || table->fields()->LookupByKey(name.c_str()) != nullptr) continue;
        const auto fields = schema_.Fields(*table);
        return absl::StrCat("line ", place.line, ", column ", place.column, ": unknown field \"",
                            name, "\"; ", runtime::Absl(LastName(table->name())), " has ",
                            fields.empty() ? "none" : absl::StrJoin(fields, ", "));
      }
    }
    return absl::StrCat("line ", line, ", column ", column, ": ", Translate(words),
                        IsOfValue(words) ? Wanted(FieldAt(text, type, line, column)) : "");
  }

  // If `error` is about a word that ToJson() uses for a state, replaces it in `text` by the
  // schema's name, the only one that the parser knows. Returns true if it did.
  bool SpellState(const reflection::Object& type, const std::string& error,
                  std::string* text) const {
    std::size_t line = 0, column = 0;
    std::string words;
    if (!RE2::FullMatch(error, R"((?s)(\d+): (\d+): error: (.*))", &line, &column, &words) ||
        !absl::StartsWith(words, "unknown enum value")) {
      return false;
    }
    std::size_t after_name = 0;
    const reflection::Field* const field = FieldAt(*text, type, line, column, &after_name);
    if (field == nullptr || field->type()->index() < 0) return false;
    const std::size_t begin = text->find_first_not_of(": \t\r\n\"'", after_name);
    if (begin == std::string::npos) return false;
    const reflection::Enum& of = schema_.EnumAt(field->type()->index());
    for (const auto* member : *of.values()) {
      const char* const state = bus::StateNameOf(LastName(of.name()), member->value());
      const std::string name = member->name()->str();
      if (state == nullptr || name == state || text->compare(begin, strlen(state), state) != 0) {
        continue;
      }
      const std::size_t end = begin + strlen(state);
      const bool is_whole =
          end == text->size() || !absl::ascii_isalnum(static_cast<unsigned char>((*text)[end]));
      // "stopped" is also the beginning of "stopped early".
      if (!is_whole || text->compare(end, 6, " early") == 0) continue;
      text->replace(begin, strlen(state), name);
      return true;
    }
    return false;
  }

 private:
  // Returns the table at `path` from `type`; null if the path does not exist.
  const reflection::Object* Follow(const reflection::Object& type,
                                   const std::vector<std::string>& path) const {
    const reflection::Object* at = &type;
    for (const std::string& name : path) {
      const auto* field = at->fields()->LookupByKey(name.c_str());
      if (field == nullptr || field->type()->index() < 0) return nullptr;
      const BaseType base = field->type()->base_type();
      if (base != reflection::Obj && field->type()->element() != reflection::Obj) return nullptr;
      at = &schema_.TableAt(field->type()->index());
    }
    return at;
  }

  // Returns true if the parser's error is about a value of the wrong type.
  static bool IsOfValue(std::string_view words) {
    for (const char* start :
         {kNoNumber, "unknown enum value", "Cannot assign token", "invalid number",
          "expecting: string", "expecting: [", "expecting: {"}) {
      if (absl::StartsWith(runtime::Absl(words), start)) return true;
    }
    return false;
  }
  // Returns the field whose name ends last before a position; null if that name is not a field.
  // Sets `after_name` to the offset after the name.
  const reflection::Field* FieldAt(std::string_view text, const reflection::Object& type,
                                   std::size_t line, std::size_t column,
                                   std::size_t* after_name = nullptr) const {
    NameScan scan(text);
    std::string name;
    Place place;
    const reflection::Field* field = nullptr;
    while (scan.Next(&name, &place) &&
           std::pair(place.line, place.column) < std::pair(line, column)) {
      const auto* table = Follow(type, place.path);
      field = table == nullptr ? nullptr : table->fields()->LookupByKey(name.c_str());
      if (after_name != nullptr) *after_name = scan.at();
    }
    return field;
  }
  // Returns "; ranks is [uint]", or "; state is JobState: Running, Exited".
  std::string Wanted(const reflection::Field* field) const {
    if (field == nullptr) return "";
    const reflection::Type& type = *field->type();
    const BaseType base = type.base_type();
    std::string text = absl::StrCat("; ", field->name()->str(), " is ", schema_.TypeName(type));
    const BaseType element = base == reflection::Vector ? type.element() : base;
    if (element == reflection::UByte && type.index() < 0 && base == reflection::Vector) {
      absl::StrAppend(&text, ": a list of bytes is written [104, 105]");
    }
    if (type.index() < 0 || !flatbuffers::IsInteger(element)) return text;
    std::vector<std::string> members;
    for (const auto* member : *schema_.EnumAt(type.index()).values()) {
      members.push_back(schema_.WordOf(type, *member));
    }
    return absl::StrCat(text, ": ", absl::StrJoin(members, ", "));
  }
  static std::string Translate(std::string words) {
    const auto replace = [&](std::string_view from, std::string_view to) {
      const std::size_t at = words.find(from);
      if (at != std::string::npos) words.replace(at, from.size(), to);
    };
    replace(kNoNumber, "expected a number");
    replace("expecting: ", "expected ");
    replace(" instead got: ", ", found ");
    replace("Cannot assign token starting with ", "cannot use ");
    replace(" to value of <", " for a value of type ");
    replace("> type.", "");
    replace("end of file", "the end");
    return words;
  }

  // The parser's error for a word or string in the place of a number.
  static constexpr const char* kNoNumber = "enum values need to be qualified by an enum type";

  const MessageSchema& schema_;
};

msg::Body BodyNamed(std::string_view name) {
  for (const msg::Body body : msg::EnumValuesBody()) {
    if (body != msg::Body::NONE && name == msg::EnumNameBody(body)) return body;
  }
  return msg::Body::NONE;
}

}  // namespace

absl::StatusOr<msg::EnvelopeT> ReadJson(const MessageSchema& schema, std::string_view type,
                                        std::string_view text) {
  const auto* table = schema.TableNamed(type);
  const msg::Body body = BodyNamed(type);
  if (table == nullptr || body == msg::Body::NONE) {
    return absl::NotFoundError(absl::StrCat("no message type ", runtime::Absl(type)));
  }
  if (text.size() > kMaxTextBytes) return absl::InvalidArgumentError("over 1 MiB of JSON");
  if (text.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("the JSON has a zero byte");
  }
  flatbuffers::Parser parser;
  if (!parser.Deserialize(reinterpret_cast<const std::uint8_t*>(schema.bytes().data()),
                          schema.bytes().size()) ||
      !parser.SetRootType(table->name()->c_str())) {
    return absl::InternalError("cannot read the schema");
  }
  const Mistakes mistakes(schema);
  std::string spelled(text);
  for (int states = 0; !parser.ParseJson(spelled.c_str()); ++states) {
    if (states < kMaxStates && mistakes.SpellState(*table, parser.error_, &spelled)) continue;
    return absl::InvalidArgumentError(mistakes.Explain(spelled, *table, parser.error_));
  }
  msg::EnvelopeT envelope;
  envelope.body.type = body;
  envelope.body.value = msg::BodyUnion::UnPack(
      flatbuffers::GetRoot<Table>(parser.builder_.GetBufferPointer()), body, nullptr);
  return envelope;
}

}  // namespace yard
