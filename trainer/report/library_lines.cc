#include "trainer/report/library_lines.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "trainer/report/printed_number.h"

namespace trainer {
namespace {

using runtime::Absl;

constexpr int kMaxValues = 1000;

// Collects the members of a JSON object.
class Values {
 public:
  bool is_full() const { return count_ == kMaxValues; }
  void Add(std::string_view name, std::string_view json) {
    if (is_full()) return;
    absl::StrAppend(&object_, count_++ == 0 ? "{" : ",", runtime::Quote(name), ":", Absl(json));
  }
  // Returns the object, in which the last value of a name wins; nullopt if it is empty.
  std::optional<std::string> Object() {
    if (count_ == 0) return std::nullopt;
    object_ += '}';
    const auto json = runtime::ParseJson(object_);
    if (!json.ok()) return std::nullopt;
    return runtime::CompactJson(*json);
  }

 private:
  std::string object_;
  int count_ = 0;
};

// Removes the leading digits from `text` and returns them.
std::string_view TakeDigits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool TakeWord(std::string_view word, std::string_view& text) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

// Removes and returns the text before `end`, and removes `end` too; without `end`, takes
// everything.
std::string_view TakeUntil(std::string_view end, std::string_view& text) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  return taken;
}

// Adds "1.36", or "1.36+0.03" with "+" as `between`: a mean and its standard deviation.
bool AddMean(const std::string& name, std::string_view text, std::string_view between,
             Values& values) {
  const std::size_t plus = text.find(between, 1);
  const auto mean = NumberIn(text.substr(0, plus));
  if (plus == text.npos || !mean) {
    const auto number = NumberIn(text);  // Such as "1e+05".
    if (number) values.Add(name, *number);
    return number.has_value();
  }
  const auto deviation = NumberIn(text.substr(plus + between.size()));
  if (!deviation) return false;
  values.Add(name, *mean);
  values.Add(name + "-std", *deviation);
  return true;
}

// Parses "[3]\t", with which the lines of both libraries begin, and passes each tab-separated field
// after it to `add`.
template <typename Add>
std::optional<std::string> RoundMetrics(std::string_view line, Add add) {
  if (!TakeWord("[", line)) return std::nullopt;
  const std::string_view round = TakeDigits(line);
  if (round.empty() || round.size() > 18 || !TakeWord("]\t", line)) return std::nullopt;
  Values values;
  const auto step = NumberIn(round);
  values.Add("step", step ? *step : "0");
  bool has_metric = false;
  while (!line.empty() && !values.is_full()) {
    const std::string_view field = TrimmedSpaces(TakeUntil("\t", line));
    if (field.empty()) continue;
    if (!add(field, values)) return std::nullopt;
    has_metric = true;
  }
  return has_metric ? values.Object() : std::nullopt;
}

bool AddXgboostField(std::string_view field, Values& values) {
  const std::size_t colon = field.rfind(':');
  const std::size_t dash = field.find('-');
  if (colon == field.npos || dash == 0 || dash >= colon) return false;
  const std::string name = absl::StrCat(Absl(field.substr(0, dash)), "/",
                                        Absl(field.substr(dash + 1, colon - dash - 1)));
  return AddMean(name, field.substr(colon + 1), "+", values);
}

bool AddLightgbmField(std::string_view field, Values& values) {
  const std::size_t colon = field.rfind(": ");
  const std::size_t of = field.find("'s ");
  if (colon == field.npos || of == 0 || of >= colon) return false;
  const std::string name =
      absl::StrCat(Absl(field.substr(0, of)), "/", Absl(field.substr(of + 3, colon - of - 3)));
  return AddMean(name, field.substr(colon + 2), " + ", values);
}

bool IsName(std::string_view text) {
  if (text.empty() || !IsLetter(text.front())) return false;
  for (const char c : text) {
    if (!IsOfName(c)) return false;
  }
  return true;
}

// Converts Python literals to JSON, token by token. Unbalanced or misplaced tokens give invalid
// JSON.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  std::optional<std::string> Json() {
    for (int tokens = 0; !Skipped().empty(); ++tokens) {
      if (tokens > 8 * kMaxValues || !Token()) return std::nullopt;
    }
    return std::move(json_);
  }

 private:
  // Two values without a comma between them give invalid JSON.
  void Append(std::string_view value) { absl::StrAppend(&json_, " ", Absl(value)); }

  std::string_view Skipped() { return text_ = TrimmedSpaces(text_); }

  bool Token() {
    const char c = text_.front();
    if (c == '\'' || c == '"') return Text();
    if (c == '{' || c == '}' || c == '[' || c == ']' || c == ':') return Mark(c);
    if (c == '(' || c == ')') return Mark(c == '(' ? '[' : ']');
    if (c == ',') {
      text_.remove_prefix(1);
      // Python allows a comma before a closing bracket.
      if (Skipped().empty() || !IsIn("]})", text_.front())) json_ += ',';
      return true;
    }
    return Word();
  }

  bool Mark(char c) {
    json_ += c;
    text_.remove_prefix(1);
    return true;
  }

  bool Text() {
    const char quote = text_.front();
    std::string content;
    std::size_t at = 1;
    for (; at < text_.size() && text_[at] != quote; ++at) {
      if (text_[at] == '\\' && ++at == text_.size()) return false;
      content += text_[at];
    }
    if (at == text_.size()) return false;
    text_.remove_prefix(at + 1);
    const bool is_name = !Skipped().empty() && text_.front() == ':';
    const auto number = is_name ? std::nullopt : NumberIn(content);
    Append(number ? *number : runtime::Quote(content));
    return true;
  }

  bool Word() {
    std::size_t size = 0;
    while (size < text_.size() && !IsIn(" \t,:()[]{}'\"", text_[size])) ++size;
    std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    if (!text_.empty() && text_.front() == '(') return Call(word);
    if (word == "None") {
      Append("null");
      return true;
    }
    const auto number = NumberIn(word);
    if (number) Append(*number);
    return number.has_value();
  }

  // Parses NAME(NUMBER, ...) and appends the number.
  bool Call(std::string_view name) {
    if (!IsName(name)) return false;
    text_.remove_prefix(1);
    std::string_view arguments = TakeUntil(")", text_);
    // The arguments contain no ")": "tensor(0.5, grad_fn=<MseLossBackward0>)".
    const auto number = NumberIn(TrimmedSpaces(TakeUntil(",", arguments)));
    if (number) Append(*number);
    return number.has_value();
  }

  std::string_view text_;
  std::string json_;
};

}  // namespace

std::optional<std::string> KerasMetrics(std::string_view line) {
  const std::string plain = WithoutTerminalCodes(line);
  std::string_view rest = TrimmedSpaces(plain);
  const std::string_view done = TakeDigits(rest);
  if (done.empty() || !TakeWord("/", rest)) return std::nullopt;
  if (TakeDigits(rest) != done || rest.empty() || rest.front() != ' ') return std::nullopt;
  Values values;
  (void)TakeUntil(" - ", rest);
  while (!rest.empty() && !values.is_full()) {
    std::string_view field = TakeUntil(" - ", rest);
    const std::string_view name = TakeUntil(": ", field);
    const auto number = NumberIn(TrimmedSpaces(field));
    if (number && IsName(name)) values.Add(name, *number);
  }
  return values.Object();
}

std::optional<std::string> XgboostMetrics(std::string_view line) {
  return RoundMetrics(line, AddXgboostField);
}

std::optional<std::string> LightgbmMetrics(std::string_view line) {
  return RoundMetrics(line, AddLightgbmField);
}

std::optional<std::string> DictionaryMetrics(std::string_view line) {
  line = TrimmedSpaces(line);
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  const auto text = Literal(line).Json();
  if (!text) return std::nullopt;
  const auto json = runtime::ParseJson(*text);
  const bool is_object = json.ok() && json->kind == runtime::JsonValue::Kind::kObject;
  if (!is_object || json->members.empty()) return std::nullopt;
  return runtime::CompactJson(*json);
}

std::optional<BarState> TqdmState(std::string_view text) {
  const std::string plain = WithoutTerminalCodes(text);
  const std::string_view bar = TrimmedSpaces(plain);
  if (bar.empty() || bar.back() != ']') return std::nullopt;
  const std::size_t bracket = bar.rfind(" [");
  // Matches "00:00<00:01, 9.1it/s" or "1.2s/it".
  const bool has_rate = bracket != bar.npos && bar.find(':', bracket) != bar.npos &&
                        bar.find('/', bracket) != bar.npos;
  if (!has_rate) return std::nullopt;
  // Matches "| 1/4", or "5it" for a bar without a known total.
  std::size_t begin = bracket;
  while (begin > 0 && !IsIn(" |", bar[begin - 1])) --begin;
  std::string_view place = bar.substr(begin, bracket - begin);
  BarState state;
  state.place = std::string(place);
  const std::string_view done = TakeDigits(place);
  if (done.empty()) return std::nullopt;
  const bool has_end = TakeWord("/", place);
  state.is_edge = done == "0" || (has_end && place == done);
  const std::size_t percent = bar.find("%|");
  if (has_end && percent == bar.npos) return std::nullopt;
  // The bar's name precedes ": 25%|", and may contain values.
  std::string words(bar);
  const std::size_t colon = has_end ? words.rfind(": ", percent) : words.npos;
  if (colon != words.npos) words[colon] = ' ';
  auto metrics = AssignedMetrics(words);
  if (!metrics) return std::nullopt;
  state.metrics = *std::move(metrics);
  return state;
}

std::optional<std::string> AssignedMetrics(std::string_view text) {
  Values values;
  for (std::size_t equals = text.find('='); equals != text.npos && !values.is_full();
       equals = text.find('=', equals + 1)) {
    std::size_t name_end = equals;
    while (name_end > 0 && IsIn(kPrintedSpaces, text[name_end - 1])) --name_end;
    std::size_t begin = name_end;
    while (begin > 0 && IsOfName(text[begin - 1])) --begin;
    const bool is_name = begin < name_end && IsLetter(text[begin]) &&
                         (begin == 0 || IsIn(" \t,;|([{:", text[begin - 1]));
    if (!is_name) continue;
    std::size_t value = equals + 1;
    while (value < text.size() && IsIn(kPrintedSpaces, text[value])) ++value;
    std::size_t end = value;
    while (end < text.size() && !IsIn(" \t,;|)]}", text[end])) ++end;
    const auto number = NumberIn(text.substr(value, end - value));
    if (number) values.Add(text.substr(begin, name_end - begin), *number);
  }
  return values.Object();
}

std::string WithoutTerminalCodes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x1B && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;  // Skips "\x1b[1;32m" up to its letter.
      while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x40) ++i;
      continue;
    }
    if ((c >= 0x20 && c != 0x7F) || c == '\t') plain += text[i];
  }
  return plain;
}

}  // namespace trainer
