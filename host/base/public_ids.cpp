// One block of AES: the id, and eight bytes that tell a text of ours from any other.
#include "base/public_ids.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <stdexcept>

#include "base/hex.h"

namespace waybill {
namespace {

constexpr std::string_view kPrefix = "d_", kMark = "delivery";
constexpr std::size_t kBlock = 16;
using Block = std::array<unsigned char, kBlock>;

Block crypt(const Secret& key, const Block& in, bool encrypts) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  Block out{};
  int size = 0;
  if (!context ||
      EVP_CipherInit_ex(context.get(), EVP_aes_128_ecb(), nullptr, reinterpret_cast<const unsigned char*>(key.expose().data()),
                        nullptr, encrypts ? 1 : 0) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1 ||
      EVP_CipherUpdate(context.get(), out.data(), &size, in.data(), kBlock) != 1 || size != static_cast<int>(kBlock))
    throw std::runtime_error("OpenSSL has no AES");
  return out;
}

std::optional<Block> block_of(std::string_view digits) {
  if (digits.size() != 2 * kBlock || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  const auto bytes = from_hex(digits);
  Block block{};
  std::copy(bytes.begin(), bytes.end(), block.begin());
  return block;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

PublicIds::PublicIds(const Secret& key, std::int64_t shown_until) : key_(key), shown_until_(shown_until) {
  if (key.expose().size() != kKeyBytes) throw std::invalid_argument("the key of ids has not 16 bytes");
}

PublicIds PublicIds::taking_any_number() const {
  auto any = *this;
  any.shown_until_ = std::numeric_limits<std::int64_t>::max();
  return any;
}

std::string PublicIds::text(std::int64_t id) const {
  if (key_.expose().empty()) return std::to_string(id);
  Block plain{};
  for (std::size_t i = 0; i < 8; ++i) {
    plain[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(id) >> (56 - 8 * i));
    plain[8 + i] = static_cast<unsigned char>(kMark[i]);
  }
  const auto block = crypt(key_, plain, true);
  return std::string(kPrefix) + to_hex({reinterpret_cast<const char*>(block.data()), block.size()});
}

std::optional<std::int64_t> PublicIds::read(std::string_view text) const {
  if (!text.starts_with(kPrefix)) {
    const auto number = number_of(text);
    return number && *number <= shown_until_ ? number : std::nullopt;
  }
  const auto block = block_of(text.substr(kPrefix.size()));
  if (!block || key_.expose().empty()) return std::nullopt;
  const auto plain = crypt(key_, *block, false);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    if (plain[8 + i] != static_cast<unsigned char>(kMark[i])) return std::nullopt;
    id = id << 8 | plain[i];
  }
  return id == 0 || id > INT64_MAX ? std::nullopt : std::optional(static_cast<std::int64_t>(id));
}

}  // namespace waybill
