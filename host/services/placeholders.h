// What stands for a secret in a request, "{secret:NAME}": filled in on the way out where it may stand, refused elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/placeholder.h"
#include "services/secrets.h"

namespace waybill {

// Whether a text holds a secret's name.
bool names_secret(std::string_view text);

// The names between `opens` and the next "}", as they come.
std::vector<std::string_view> names_in(std::string_view text, std::string_view opens);

// The text with each of them replaced by its value. Null from `value_of`: the name is unknown. The error says what is wrong,
// behind "the header x ", without any of the text.
using ValueOf = std::function<const std::string*(std::string_view name)>;
tl::expected<std::string, std::string> fill_names(std::string_view text, std::string_view opens, const ValueOf& value_of);
tl::expected<std::string, std::string> fill_secrets(std::string_view text, const Secrets& secrets);

// Secrets may stand in path and query; a value has none but the characters that a URL may hold there.
Result<std::string> filled_url(std::string_view url, const Secrets& secrets);

// As in application/x-www-form-urlencoded, with %20 for a blank.
std::string percent_encoded(std::string_view text);

enum class SecretForm : std::uint8_t {
  raw,   // as it is
  json,  // between the quotes of a JSON string
  form,  // percent-encoded, as in application/x-www-form-urlencoded
};
// A secret that is put into a body, in front of the byte at `offset`.
struct BodySecret {
  std::size_t offset = 0;
  std::string name;
  SecretForm form = SecretForm::raw;
};
// `inserts` are in the order of their offsets.
Result<std::string> filled_body(std::string body, std::span<const BodySecret> inserts, const Secrets& secrets);

// Whether a text has a placeholder of a secret or of an OAuth2 client.
bool names_any(std::string_view text);

// What came with a submission, as it came and with its JSON decoded. Costs a reading of it all.
class Submitted {
 public:
  Submitted(std::string_view payload, std::string_view context);
  bool holds(std::string_view placeholder) const;

 private:
  std::string raw_, decoded_;
};

// The first placeholder in `text` that did not come with the submission: text that did is text like any other.
std::optional<std::string> operators_placeholder(std::string_view text, const Submitted& submitted);
// The first one that did.
std::optional<std::string> submitted_placeholder(std::string_view text, const Submitted& submitted);

}  // namespace waybill
