// How expected failures travel: as values. Exceptions are for bugs, and stay inside the adapter that met them.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace waybill {

struct Error {
  enum class Kind {
    not_found,
    conflict,     // somebody else was first, or the request contradicts what is stored
    unavailable,  // a part that we need is away; the same call may succeed later
    locked,       // no key that this host has opens what is stored
    invalid,      // the input is wrong; `what` names the place
    bug
  };
  Kind kind;
  std::string what;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error::Kind kind, std::string what) {
  return tl::unexpected<Error>(Error{kind, std::move(what)});
}

}  // namespace waybill

// Returns from the function that it stands in if `result`, a tl::expected, is an error: with that error.
#define TRY(result)                                                                                               \
  do {                                                                                                            \
    if (auto&& tried_ = (result); !tried_) return tl::unexpected(std::forward<decltype(tried_)>(tried_).error()); \
  } while (false)
