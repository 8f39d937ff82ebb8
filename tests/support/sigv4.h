// AWS Signature Version 4 as a receiver checks it: the signature is computed anew from the request as it came, by the description
// in the IAM user guide ("Create a signed AWS API request"), with nothing of the host's own code.
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace waybill::testing {

struct AwsAccount {
  std::string key_id, secret_key, region, service;
};

struct AwsRequest {
  std::string method;
  std::string path;   // in canonical form
  std::string query;  // the same
  std::string head;   // header lines as they came
  std::string body;
};

namespace aws {

inline std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

inline std::string sha256(std::string_view text) {
  unsigned char out[32];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), out, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(out), size};
}

inline std::string hmac(const std::string& key, std::string_view text) {
  unsigned char out[32];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       out, &size);
  return {reinterpret_cast<const char*>(out), size};
}

// By name in lower case, the values trimmed and with single blanks.
inline std::map<std::string, std::string> canonical_headers(const std::string& head) {
  std::map<std::string, std::string> out;
  std::istringstream lines(head);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon), value;
    for (auto& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::istringstream words(line.substr(colon + 1));
    for (std::string word; words >> word;) value += (value.empty() ? "" : " ") + word;
    auto& all = out[name];
    all += (all.empty() ? "" : ",") + value;
  }
  return out;
}

inline std::string part(const std::string& text, const std::string& name) {  // "Name=..." up to a comma
  const auto at = text.find(name + "=");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 1;
  return text.substr(begin, text.find(',', begin) - begin);
}

inline std::time_t time_of(const std::string& stamp) {  // 20150830T123600Z
  std::tm t{};
  return strptime(stamp.c_str(), "%Y%m%dT%H%M%SZ", &t) != nullptr && stamp.size() == 16 ? timegm(&t) : 0;
}

}  // namespace aws

// What a service of AWS would say against the request; "" if nothing.
inline std::string fault_in_signature(const AwsRequest& request, const AwsAccount& account, std::time_t now) {
  const auto headers = aws::canonical_headers(request.head);
  const auto value = [&](const std::string& name) {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  };
  const auto authorization = value("authorization"), stamp = value("x-amz-date");
  if (authorization.rfind("AWS4-HMAC-SHA256 ", 0) != 0) return "MissingAuthenticationToken";
  const auto skew = static_cast<long>(aws::time_of(stamp) - now);
  if (skew < -300 || skew > 300) return "RequestTimeTooSkewed " + stamp;
  const auto scope = stamp.substr(0, 8) + '/' + account.region + '/' + account.service + "/aws4_request";
  if (aws::part(authorization, "Credential") != account.key_id + '/' + scope)
    return "InvalidClientTokenId " + aws::part(authorization, "Credential");

  const auto signed_headers = aws::part(authorization, "SignedHeaders");
  auto canonical = request.method + '\n' + request.path + '\n' + request.query + '\n';
  std::istringstream names(signed_headers);
  std::string before;
  for (std::string name; std::getline(names, name, ';'); before = name) {
    if (headers.find(name) == headers.end()) return "IncompleteSignature: no header " + name;
    if (name <= before) return "IncompleteSignature: not in order: " + signed_headers;
    canonical += name + ':' + value(name) + '\n';
  }
  for (const auto& [name, ignored] : headers)
    if ((name == "host" || name == "content-type" || name.rfind("x-amz-", 0) == 0) &&
        (';' + signed_headers + ';').find(';' + name + ';') == std::string::npos)
      return "IncompleteSignature: unsigned header " + name;
  canonical += '\n' + signed_headers + '\n' + aws::hex(aws::sha256(request.body));

  const auto to_sign = "AWS4-HMAC-SHA256\n" + stamp + '\n' + scope + '\n' + aws::hex(aws::sha256(canonical));
  auto key = aws::hmac("AWS4" + account.secret_key, stamp.substr(0, 8));
  for (const auto& word : {account.region, account.service, std::string("aws4_request")}) key = aws::hmac(key, word);
  return aws::part(authorization, "Signature") == aws::hex(aws::hmac(key, to_sign)) ? "" : "SignatureDoesNotMatch";
}

}  // namespace waybill::testing
