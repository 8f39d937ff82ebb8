// A fetched file as a part of a mail, or why it is none.
#pragma once

#include <variant>

#include "common/mail_address_rules.h"
#include "common/mail_body.h"
#include "common/mail_header.h"
#include "ses/job.h"

namespace waybill::plugins::ses {

// "image/png" of "Image/PNG; charset=x"; "" if it is no media type.
inline std::string media_type_of(std::string_view header) {
  header = header.substr(0, header.find(';'));
  std::string out;
  for (const char c : header) out += lower(c);
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
  return detail::is_media_type(out) ? out : "";
}

// The title with the ending of the URL's path behind it: "UK passport.png".
inline std::string file_name_of(const File& file) {
  const std::string_view url = file.url;
  const auto path = url.substr(0, url.find_first_of("?#"));
  const auto segment = path.substr(path.rfind('/') + 1);
  auto name = trimmed_line(file.title.empty() ? segment : file.title, 100);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '\\' || c == '"'; }, '_');
  if (name.empty()) name = "attachment";
  const auto dot = segment.rfind('.');
  const auto ending = dot == segment.npos ? std::string_view{} : segment.substr(dot);
  const bool usable = ending.size() > 1 && ending.size() <= 9 &&
                      std::all_of(ending.begin() + 1, ending.end(), [](char c) { return plugins::detail::is_alnum(c); });
  const bool has_it =
      name.size() >= ending.size() && same_name(std::string_view(name).substr(name.size() - ending.size()), ending);
  return usable && !has_it ? name.append(ending) : name;
}

// A file's name as RFC 2231 writes it where it is not plain and short: in numbered, percent-encoded pieces.
inline std::string file_name_parameter(const std::string& name) {
  if (is_printable_ascii(name) && name.size() <= 60 && name.find("=?") == std::string::npos)
    return ";\r\n filename=\"" + name + '"';
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out, piece = "UTF-8''";
  int number = 0;
  const auto flush = [&] {
    out += ";\r\n filename*" + std::to_string(number++) + "*=" + piece;
    piece.clear();
  };
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80 && piece.size() > 46) flush();  // never within a character, which takes up to 12 letters
    if (plugins::detail::is_alnum(c) || c == '-' || c == '_' || c == '.')
      piece += c;
    else
      piece += '%', piece += kHex[byte >> 4], piece += kHex[byte & 15];
  }
  flush();
  return out;
}

inline std::string mail_part(const std::string& type, const std::string& name, std::string_view bytes) {
  return "Content-Type:" + std::string(type.size() > 60 ? "\r\n " : " ") + type + "\r\nContent-Disposition: attachment" +
         file_name_parameter(name) + "\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64_lines(bytes);
}

// The part that the answer to a fetch makes; otherwise the outcome of the attempt. Nothing was sent to SES yet, whatever came.
inline std::variant<std::string, Outcome> part_of(const Response& response, const File& file, const Settings& settings) {
  const auto where = public_url(file.url);
  if (response.error != NetError::none) {
    auto outcome =
        response.error == NetError::cancelled ? Outcome::transient("cancelled") : Outcome::transient("attachment_unavailable");
    if (plugin::out_of_reach(response.error, response.reach)) outcome.scope(Scope::whole_target);
    return outcome.reach(Reach::not_sent).detail(where + ": " + one_line(response.error_text));
  }
  if (response.status / 100 != 2)
    return Outcome::transient("attachment_unavailable")
        .reach(Reach::not_sent)
        .code(response.status)
        .retry_after(response.retry_after)
        .detail(where + " answered " + std::to_string(response.status));
  const auto refused = [&](std::string_view reason, const std::string& why) {
    return Outcome::rejected(reason).reach(Reach::not_sent).detail(where + why);
  };
  if (response.truncated || response.body.size() > static_cast<std::size_t>(settings.max_attachment_bytes))
    return refused("attachment_too_large", " has more than " + std::to_string(settings.max_attachment_bytes) + " bytes");
  const auto type = media_type_of(response.header("content-type").value_or(""));
  if (std::find(settings.types.begin(), settings.types.end(), type) == settings.types.end())
    return refused("attachment_not_allowed", type.empty() ? " has no media type" : " is of the type " + type);
  return mail_part(type, file_name_of(file), response.body);
}

}  // namespace waybill::plugins::ses
