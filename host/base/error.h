// How expected failures travel: as values. Exceptions are for bugs, and stay inside the adapter that met them.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace waybill {

struct Error {
  enum class Kind {
    not_found,
    conflict,     // somebody else was first, or the request contradicts what is stored
    unavailable,  // a part that we need is away; the same call may succeed later
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
