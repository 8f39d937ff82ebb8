// Reads TZif files and the rule at their end.
#include "base/time_zone.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace waybill {
namespace {

constexpr char kDatabase[] = "/usr/share/zoneinfo/";
constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kNear = 2 * kDay;  // longer than any offset and any jump of one
constexpr std::size_t kMaxChanges = 10'000;

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return size == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}

// Days since 1970 of a date.
std::int64_t days_of(int year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

int year_of(std::int64_t seconds) {
  const std::chrono::sys_days day(std::chrono::days(seconds >= 0 ? seconds / kDay : (seconds - kDay + 1) / kDay));
  return static_cast<int>(std::chrono::year_month_day(day).year());
}

struct Header {
  char version = 0;
  std::size_t isut = 0, isstd = 0, leaps = 0, times = 0, types = 0, letters = 0;

  std::size_t size(std::size_t time) const {
    return times * (time + 1) + types * 6 + letters + leaps * (time + 4) + isstd + isut;
  }
};
constexpr std::size_t kHeaderBytes = 44;

std::optional<Header> header_in(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with("TZif")) return std::nullopt;
  const auto count = [&](int i) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, big_endian(bytes, 20 + 4 * static_cast<std::size_t>(i), 4)));
  };
  const Header header{bytes[4], count(0), count(1), count(2), count(3), count(4), count(5)};
  for (const auto number : {header.isut, header.isstd, header.leaps, header.times, header.types, header.letters})
    if (number > kMaxChanges) return std::nullopt;
  return header;
}

// "+02:00"
std::optional<Seconds> fixed_offset(std::string_view text) {
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const std::size_t i : {1, 2, 4, 5})
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
  const int hours = (text[1] - '0') * 10 + text[2] - '0', minutes = (text[4] - '0') * 10 + text[5] - '0';
  if (hours > 14 || minutes > 59) return std::nullopt;
  return Seconds((text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60));
}

bool is_name(std::string_view name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' ||
           c == '+';
  });
  return good && !name.empty() && name.size() <= 64 && name.front() != '/' && name.find("//") == std::string_view::npos;
}

tl::unexpected<Error> damaged() { return fail(Error::Kind::invalid, "is no file of a time zone"); }

}  // namespace

// A rule of POSIX: "GMT0BST,M3.5.0/1,M10.5.0".
class TimeZone::RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  std::optional<Rule> read() {
    Rule rule;
    if (!skip_name()) return std::nullopt;
    const auto standard = time();
    if (!standard) return std::nullopt;
    rule.standard = rule.summer = Seconds(-*standard);
    if (rest_.empty()) return rule;
    if (!skip_name()) return std::nullopt;
    rule.has_summer = true;
    rule.summer = rule.standard + std::chrono::hours(1);
    if (!rest_.starts_with(',')) {
      const auto summer = time();
      if (!summer) return std::nullopt;
      rule.summer = Seconds(-*summer);
    }
    if (!day(rule.begin) || !day(rule.end) || !rest_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip_name() {
    if (take('<')) {
      const auto end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::size_t letters = 0;
    while (letters < rest_.size() && ((rest_[letters] | 0x20) >= 'a' && (rest_[letters] | 0x20) <= 'z')) ++letters;
    rest_.remove_prefix(letters);
    return letters >= 3;
  }
  std::optional<int> number(int most) {
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value < 0 || value > most) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // [+-]h[h][:mm[:ss]]
  std::optional<std::int64_t> time() {
    const int sign = take('-') ? -1 : (static_cast<void>(take('+')), 1);
    const auto hours = number(167);
    if (!hours) return std::nullopt;
    std::int64_t seconds = std::int64_t{*hours} * 3600;
    for (const int unit : {60, 1}) {
      if (!take(':')) break;
      const auto more = number(59);
      if (!more) return std::nullopt;
      seconds += std::int64_t{*more} * unit;
    }
    return sign * seconds;
  }
  bool day(Day& into) {
    if (!take(',')) return false;
    std::optional<int> month, week, weekday, day;
    if (take('M')) {
      into.kind = Day::Kind::week;
      month = number(12);
      if (!month || *month == 0 || !take('.')) return false;
      week = number(5);
      if (!week || *week == 0 || !take('.')) return false;
      weekday = number(6);
      if (!weekday) return false;
      into.month = *month;
      into.week = *week;
      into.weekday = *weekday;
    } else {
      into.kind = take('J') ? Day::Kind::julian : Day::Kind::plain;
      day = number(365);
      if (!day || (into.kind == Day::Kind::julian && *day == 0)) return false;
      into.day = *day;
    }
    if (!take('/')) return true;
    const auto at = time();
    if (at) into.seconds = *at;
    return at.has_value();
  }

  std::string_view rest_;
};

std::int64_t TimeZone::Day::in(int year) const {
  using namespace std::chrono;
  switch (kind) {
    case Kind::plain:
      return (days_of(year, 1, 1) + day) * kDay + seconds;
    case Kind::julian: {  // from 1, and 29 February is not counted
      const bool later = std::chrono::year(year).is_leap() && day >= 60;
      return (days_of(year, 1, 1) + day - 1 + (later ? 1 : 0)) * kDay + seconds;
    }
    case Kind::week:
      break;
  }
  const auto of_month = std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month));
  const std::chrono::weekday on(static_cast<unsigned>(weekday));
  const sys_days date = week == 5 ? sys_days(of_month / on[last]) : sys_days(of_month / on[static_cast<unsigned>(week)]);
  return date.time_since_epoch().count() * kDay + seconds;
}

Result<TimeZone> TimeZone::find(const std::string& name) {
  TimeZone zone;
  if (name == "UTC") return zone;
  if (const auto offset = fixed_offset(name)) {
    zone.first_ = *offset;
    return zone;
  }
  const auto unknown =
      fail(Error::Kind::invalid,
           "\"" + name.substr(0, 64) + "\" is no time zone of this machine (" + std::string(kDatabase) +
               ", Debian's package tzdata): write UTC, an offset such as +02:00, or a name such as Europe/London");
  if (!is_name(name)) return unknown;
  std::error_code error;
  if (!std::filesystem::is_regular_file(kDatabase + name, error)) return unknown;
  std::ifstream in(kDatabase + name, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  auto read = parse(bytes);
  return read ? std::move(read) : Result<TimeZone>(unknown);
}

Result<TimeZone> TimeZone::of_rule(std::string_view text) {
  const auto rule = RuleReader(text).read();
  if (!rule) return damaged();
  TimeZone zone;
  zone.rule_ = *rule;
  zone.has_rule_ = true;
  zone.first_ = rule->standard;
  return zone;
}

// The second block of the file has times of 64 bits; the first one is for readers of another age.
Result<TimeZone> TimeZone::parse(std::string_view tzif) {
  const auto old = header_in(tzif);
  if (!old || old->version < '2') return damaged();
  const auto skipped = kHeaderBytes + old->size(4);
  if (skipped > tzif.size()) return damaged();
  tzif.remove_prefix(skipped);
  const auto header = header_in(tzif);
  if (!header || header->types == 0 || tzif.size() < kHeaderBytes + header->size(8)) return damaged();
  const std::size_t times = kHeaderBytes, kinds = times + 8 * header->times, types = kinds + header->times;
  const auto offset_of = [&](std::size_t type) { return Seconds(big_endian(tzif, types + 6 * type, 4)); };
  constexpr Seconds kWest{-(25 * 3600 - 1)}, kEast{26 * 3600 - 1};  // RFC 8536, 3.2: no offset is beyond
  for (std::size_t type = 0; type < header->types; ++type)
    if (offset_of(type) < kWest || offset_of(type) > kEast) return damaged();
  TimeZone zone;
  zone.first_ = offset_of(0);
  for (std::size_t i = 0; i < header->times; ++i) {
    const auto type = static_cast<unsigned char>(tzif[kinds + i]);
    if (type >= header->types) return damaged();
    const Change change{big_endian(tzif, times + 8 * i, 8), offset_of(type)};
    if (!zone.changes_.empty() && change.at <= zone.changes_.back().at) return damaged();
    zone.changes_.push_back(change);
  }
  auto footer = tzif.substr(kHeaderBytes + header->size(8));
  if (!footer.starts_with('\n') || footer.find('\n', 1) == std::string_view::npos) return damaged();
  footer = footer.substr(1, footer.find('\n', 1) - 1);
  if (footer.empty()) return zone;
  const auto rule = RuleReader(footer).read();
  if (!rule) return damaged();
  zone.rule_ = *rule;
  zone.has_rule_ = true;
  return zone;
}

Seconds TimeZone::offset_at(std::int64_t utc) const {
  const auto next =
      std::upper_bound(changes_.begin(), changes_.end(), utc, [](std::int64_t at, const Change& c) { return at < c.at; });
  if (next != changes_.end() || !has_rule_) return next == changes_.begin() ? first_ : std::prev(next)->offset;
  if (!rule_.has_summer) return rule_.standard;
  const int year = year_of(utc + rule_.standard.count());
  const auto begin = rule_.begin.in(year)-rule_.standard.count(), end = rule_.end.in(year)-rule_.summer.count();
  const bool is_summer = begin < end ? utc >= begin && utc < end : utc >= begin || utc < end;
  return is_summer ? rule_.summer : rule_.standard;
}

std::int64_t TimeZone::utc_of(std::int64_t local) const {
  const auto before = offset_at(local - kNear), after = offset_at(local + kNear);
  const auto early = local - std::max(before, after).count(), late = local - std::min(before, after).count();
  for (const auto utc : {early, late})
    if (utc + offset_at(utc).count() == local) return utc;
  auto low = local - kNear, high = local + kNear;  // the change lies in (low, high]
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (offset_at(middle) == before ? low : high) = middle;
  }
  return high;
}

}  // namespace waybill
