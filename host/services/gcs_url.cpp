// Encoding, sorting and joining as Google's servers do it again from the request that they get.
#include "services/gcs_url.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <ctime>
#include <map>

#include "base/ascii.h"
#include "domain/idempotency.h"

namespace waybill {
namespace {

constexpr std::string_view kAlgorithm = "GOOG4-RSA-SHA256";

std::string percent_encode(std::string_view text, bool keep_slashes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                            c == '.' || c == '~';
    if (unreserved || (c == '/' && keep_slashes)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      ((encoded += '%') += kDigits[byte >> 4]) += kDigits[byte & 15];
    }
  }
  return encoded;
}

std::string format_utc(std::int64_t unix_seconds, const char* format) {
  const std::time_t time = unix_seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &utc)};
}

std::string timestamp(const GcsRequest& request) { return format_utc(request.unix_seconds, "%Y%m%dT%H%M%SZ"); }
std::string scope(const GcsRequest& request) {
  return format_utc(request.unix_seconds, "%Y%m%d") + "/auto/storage/goog4_request";
}

// Without blanks at the ends, runs of them as one space.
std::string collapsed(std::string_view value) {
  std::string text;
  bool blank = false;
  for (const char c : value) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      blank = true;
      continue;
    }
    if (blank && !text.empty()) text += ' ';
    blank = false;
    text += c;
  }
  return text;
}

std::string host(const GcsRequest& request) {
  return request.style == GcsStyle::virtual_hosted ? request.bucket + "." + request.endpoint.host : request.endpoint.host;
}

std::string path(const GcsRequest& request) {
  std::string path = "/";
  if (request.style == GcsStyle::path) path += percent_encode(request.bucket, false) + (request.object.empty() ? "" : "/");
  return path + percent_encode(request.object, true);
}

// By lower-case name. The host is signed without its port, as the published vectors have it.
std::map<std::string, std::string> headers(const GcsRequest& request) {
  std::map<std::string, std::string> headers{{"host", host(request)}};
  for (const auto& [name, value] : request.headers) {
    const auto [place, added] = headers.emplace(lower_ascii(name), collapsed(value));
    if (!added && place->first != "host") place->second += "," + collapsed(value);
  }
  return headers;
}

std::string signed_headers(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& header : headers) {
    if (!names.empty()) names += ';';
    names += header.first;
  }
  return names;
}

std::string query(const GcsRequest& request, std::string_view email) {
  auto parameters = request.query;
  parameters.emplace_back("X-Goog-Algorithm", kAlgorithm);
  parameters.emplace_back("X-Goog-Credential", std::string(email) + "/" + scope(request));
  parameters.emplace_back("X-Goog-Date", timestamp(request));
  parameters.emplace_back("X-Goog-Expires", std::to_string(request.lifetime.count()));
  parameters.emplace_back("X-Goog-SignedHeaders", signed_headers(headers(request)));
  for (auto& [name, value] : parameters) {
    name = percent_encode(name, false);
    value = percent_encode(value, false);
  }
  std::sort(parameters.begin(), parameters.end());
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

}  // namespace

Result<GcsEndpoint> GcsEndpoint::parse(std::string_view text) {
  const std::string whole = (text.find("://") == std::string_view::npos ? "https://" : "") + std::string(text);
  const auto url = boost::urls::parse_uri(whole);
  const bool good = url && (url->scheme() == "https" || url->scheme() == "http") && !url->encoded_host().empty() &&
                    !url->has_userinfo() && url->encoded_path().size() <= 1 && !url->has_query() && !url->has_fragment();
  if (!good) return fail(Error::Kind::invalid, "not an endpoint (https://host or https://host:port)");
  return GcsEndpoint{std::string(url->scheme()), std::string(url->encoded_host()), std::string(url->port())};
}

std::string canonical_request(const GcsRequest& request, std::string_view email) {
  const auto all = headers(request);
  const auto payload_hash = all.find("x-goog-content-sha256");
  std::string text = request.method + "\n" + path(request) + "\n" + query(request, email) + "\n";
  for (const auto& [name, value] : all) text.append(name).append(":").append(value).append("\n");
  return text + "\n" + signed_headers(all) + "\n" + (payload_hash == all.end() ? "UNSIGNED-PAYLOAD" : payload_hash->second);
}

std::string string_to_sign(const GcsRequest& request, std::string_view canonical_request) {
  const auto hash = sha256(canonical_request);
  return std::string(kAlgorithm) + "\n" + timestamp(request) + "\n" + scope(request) + "\n" + to_hex(as_view(hash));
}

Result<std::string> signed_url(const GcsRequest& request, const GcsKey& key) {
  const auto signature = key.sign(string_to_sign(request, canonical_request(request, key.email())));
  TRY(signature);
  const auto& port = request.endpoint.port;
  return request.endpoint.scheme + "://" + host(request) + (port.empty() ? "" : ":" + port) + path(request) + "?" +
         query(request, key.email()) + "&X-Goog-Signature=" + to_hex(*signature);
}

}  // namespace waybill
