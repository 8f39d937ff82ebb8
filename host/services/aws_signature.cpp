// The canonical request, what is signed of it, and the key for that day.
#include "services/aws_signature.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "base/ascii.h"
#include "base/hex.h"
#include "domain/idempotency.h"
#include "services/sign.h"

namespace waybill {
namespace {

constexpr std::string_view kAwsAlgorithm = "AWS4-HMAC-SHA256", kAwsEnd = "aws4_request";

// As in 20150830T123600Z.
std::string aws_time(std::int64_t unix_now) {
  const auto at = static_cast<std::time_t>(unix_now);
  std::tm utc{};
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", gmtime_r(&at, &utc))};
}

std::string aws_hash(std::string_view bytes) { return to_hex(as_view(sha256(bytes))); }

std::string aws_mac(std::string key, std::string_view text) {
  const Secret secret(std::move(key));
  std::string mac;
  sign_hmac_sha256({&secret, 1}, std::span(&text, 1),
                   [&](const Mac& made) { mac.assign(reinterpret_cast<const char*>(made.data()), made.size()); });
  return mac;
}

// `kept`: what stays as it is, besides letters, digits and "-._~".
std::string aws_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || std::string_view("-._~").find(c) != std::string_view::npos || kept.find(c) != std::string_view::npos)
      out += c;
    else
      out.append(1, '%').append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return out;
}

// Behind the authority: the path, and what follows the "?".
std::pair<std::string_view, std::string_view> aws_path_and_query(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const auto begin = url.find_first_of("/?", url.find("://") + 3);
  auto rest = begin == std::string_view::npos ? std::string_view() : url.substr(begin);
  const auto mark = rest.find('?');
  const auto query = mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
  rest = rest.substr(0, mark);
  return {rest.empty() ? "/" : rest, query};
}

// In the order of its parameters; it is encoded already, as a URL must be.
std::string aws_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const auto one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.empty()) continue;
    const auto equals = one.find('=');
    parameters.emplace_back(aws_encoded(one.substr(0, equals), "%"),
                            equals == std::string_view::npos ? "" : aws_encoded(one.substr(equals + 1), "%"));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string text;
  for (const auto& [name, value] : parameters) text.append(text.empty() ? "" : "&").append(name).append("=").append(value);
  return text;
}

// Those that are signed, by their names in lower case; values without needless blanks.
std::map<std::string, std::string> aws_headers(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> all;
  for (const auto& line : lines) {
    const auto colon = std::min(line.find(':'), line.size());
    const auto name = lower_ascii(line.substr(0, colon));
    if (name != "host" && name != "content-type" && !name.starts_with("x-amz-")) continue;
    std::string value;
    for (const char c : line.substr(std::min(line.size(), colon + 1)))
      if (const bool blank = c == ' ' || c == '\t'; !blank || (!value.empty() && value.back() != ' ')) value += blank ? ' ' : c;
    if (value.ends_with(' ')) value.pop_back();
    auto& known = all[name];
    known += (known.empty() ? "" : ",") + value;
  }
  return all;
}

std::string aws_host(const AwsRequest& request) {
  auto host = request.authority;
  const std::string_view usual = request.url.starts_with("https:") ? ":443" : ":80";
  if (host.ends_with(usual)) host.remove_suffix(usual.size());
  return std::string(host);
}

}  // namespace

std::vector<std::string> aws_signature(const AwsRequest& request, const AwsKey& key, std::int64_t unix_now) {
  const auto time = aws_time(unix_now), body_hash = aws_hash(request.body);
  const bool is_s3 = key.service == "s3";
  std::vector<std::string> lines{"Host: " + aws_host(request), "X-Amz-Date: " + time};
  if (is_s3) lines.push_back("X-Amz-Content-Sha256: " + body_hash);

  auto all = request.headers;
  all.insert(all.end(), lines.begin(), lines.end());
  const auto [path, query] = aws_path_and_query(request.url);
  auto canonical = std::string(request.method) + '\n' + aws_encoded(path, is_s3 ? "/%" : "/") + '\n' + aws_query(query) + '\n';
  std::string names;
  for (const auto& [name, value] : aws_headers(all)) {
    canonical.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  canonical += '\n' + names + '\n' + body_hash;

  const auto day = time.substr(0, 8), region = std::string(key.region), service = std::string(key.service);
  const auto scope = day + '/' + region + '/' + service + '/' + std::string(kAwsEnd);
  auto signing = aws_mac("AWS4" + key.secret.expose(), day);
  for (const std::string_view word : {std::string_view(region), std::string_view(service), kAwsEnd})
    signing = aws_mac(std::move(signing), word);
  const auto to_sign = std::string(kAwsAlgorithm) + '\n' + time + '\n' + scope + '\n' + aws_hash(canonical);
  lines.push_back("Authorization: " + std::string(kAwsAlgorithm) + " Credential=" + key.id.expose() + '/' + scope +
                  ", SignedHeaders=" + names + ", Signature=" + to_hex(aws_mac(std::move(signing), to_sign)));
  return lines;
}

}  // namespace waybill
