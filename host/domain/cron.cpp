// Reads schedules, and walks the days of the calendar for the next time that fits one.
#include "domain/cron.h"

#include <array>
#include <charconv>
#include <chrono>
#include <vector>

#include "base/ascii.h"

namespace waybill {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kMaxDays = 366 * 9;  // 29 February may be eight years away

struct FieldRule {
  const char* name;
  int least, most;
  std::vector<std::string_view> names;  // of least, least + 1, ...
};

const std::array<FieldRule, 5>& field_rules() {
  static const std::array<FieldRule, 5> kRules{
      {{"minute", 0, 59, {}},
       {"hour", 0, 23, {}},
       {"day of the month", 1, 31, {}},
       {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
       {"day of the week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}};
  return kRules;
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(between, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const auto word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && !text.starts_with('-');
  return good ? std::optional(value) : std::nullopt;
}

std::optional<int> number_in(std::string_view text, const FieldRule& rule) {
  const auto lower = lower_ascii(text);
  for (std::size_t i = 0; i < rule.names.size(); ++i)
    if (lower == rule.names[i]) return rule.least + static_cast<int>(i);
  const auto value = whole(text);
  return value && *value >= rule.least && *value <= rule.most ? value : std::nullopt;
}

tl::unexpected<Error> refused(const FieldRule& rule, std::string_view text, const std::string& why) {
  return fail(Error::Kind::invalid, std::string(rule.name) + " \"" + std::string(text.substr(0, 40)) + "\": " + why);
}

// One of the entries between commas: *, a, a-b, each perhaps with a step.
template <std::size_t size>
Result<void> read_entry(std::string_view entry, const FieldRule& rule, std::bitset<size>& into) {
  const std::string bounds = "from " + std::to_string(rule.least) + " to " + std::to_string(rule.most) +
                             (rule.names.empty() ? "" : ", or a name such as " + std::string(rule.names[1]));
  const auto parts = split(entry, '/');
  const auto step = parts.size() == 2 ? whole(parts[1]) : std::optional(1);
  if (parts.size() > 2 || !step || *step == 0) return refused(rule, entry, "a step is a number from 1, as in */5");
  int first = rule.least, last = rule.most;
  if (parts[0] != "*") {
    const auto ends = split(parts[0], '-');
    const auto from = number_in(ends[0], rule), to = number_in(ends.back(), rule);
    if (ends.size() > 2 || !from || !to) return refused(rule, entry, "must be " + bounds);
    first = *from;
    last = ends.size() == 1 && parts.size() == 2 ? rule.most : *to;
    if (size == 7 && last == 0 && first > 0 && ends.size() == 2) last = 7;  // fri-sun
    if (first > last) return refused(rule, entry, "the range runs backwards");
  }
  for (int value = first; value <= last; value += *step) into.set(static_cast<std::size_t>(value) % size);
  return {};
}

template <std::size_t size>
Result<void> read_field(std::string_view text, const FieldRule& rule, std::bitset<size>& into) {
  for (const auto entry : split(text, ',')) TRY(read_entry(entry, rule, into));
  return {};
}

struct Date {
  int month, day, weekday;
};

Date date_of(std::int64_t days) {
  const std::chrono::sys_days at{std::chrono::days(days)};
  const std::chrono::year_month_day date(at);
  return {static_cast<int>(static_cast<unsigned>(date.month())), static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(std::chrono::weekday(at).c_encoding())};
}

std::int64_t floor_days(std::int64_t seconds) { return seconds >= 0 ? seconds / kDay : (seconds - kDay + 1) / kDay; }

}  // namespace

bool CronSchedule::is_day(int month, int day, int weekday) const {
  if (!months[static_cast<std::size_t>(month)]) return false;
  const bool by_day = days[static_cast<std::size_t>(day)], by_weekday = weekdays[static_cast<std::size_t>(weekday)];
  return any_day || any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

Result<CronSchedule> parse_cron(std::string_view text) {
  const auto fields = words_of(text);
  if (fields.size() != 5)
    return fail(Error::Kind::invalid,
                "has " + std::to_string(fields.size()) +
                    " fields, not five: minute, hour, day of the month, month, day of the week, as in 0 9 * * *");
  const auto& rules = field_rules();
  CronSchedule schedule;
  TRY(read_field(fields[0], rules[0], schedule.minutes));
  TRY(read_field(fields[1], rules[1], schedule.hours));
  TRY(read_field(fields[2], rules[2], schedule.days));
  TRY(read_field(fields[3], rules[3], schedule.months));
  TRY(read_field(fields[4], rules[4], schedule.weekdays));
  schedule.any_day = fields[2].starts_with('*');
  schedule.any_weekday = fields[4].starts_with('*');
  const std::int64_t leap_years = 10'957;  // 1 January 2000
  for (std::int64_t day = leap_years; day < leap_years + kMaxDays; ++day) {
    const auto date = date_of(day);
    if (schedule.is_day(date.month, date.day, date.weekday)) return schedule;
  }
  return fail(Error::Kind::invalid,
              "day of the month \"" + std::string(fields[2].substr(0, 40)) + "\" is in none of these months");
}

Timestamp next_after(const CronSchedule& schedule, Timestamp time, const TimeZone& zone) {
  const std::int64_t seconds = time.micros >= 0 ? time.micros / 1'000'000 : (time.micros - 999'999) / 1'000'000;
  // A day earlier: what its clocks passed over may run only now.
  const auto first = floor_days(seconds + zone.offset_at(seconds).count()) - 1;
  for (auto day = first; day < first + kMaxDays; ++day) {
    const auto date = date_of(day);
    if (!schedule.is_day(date.month, date.day, date.weekday)) continue;
    for (std::size_t hour = 0; hour < 24; ++hour) {
      if (!schedule.hours[hour]) continue;
      for (std::size_t minute = 0; minute < 60; ++minute) {
        if (!schedule.minutes[minute]) continue;
        const Timestamp at{zone.utc_of(day * kDay + static_cast<std::int64_t>(hour * 60 + minute) * 60) * 1'000'000};
        if (at > time) return at;
      }
    }
  }
  return {time.micros + kMaxDays * kDay * 1'000'000};  // parse_cron() lets no such schedule through
}

}  // namespace waybill
