// Memory that is lent to a plugin: from the heap, or pages of its own.
#include "block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

namespace waybill::fake_host {
namespace {

constexpr std::size_t kRoom = 64;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Block::Block(Memory memory, std::size_t size) : memory_(memory), size_(size) {
  if (memory == Memory::exact || memory == Memory::forgiving) {
    const auto whole = memory == Memory::exact ? size : size + kRoom;
    pages_ = data_ = static_cast<char*>(::operator new(whole));
    std::memset(data_, 0, whole);
    return;
  }
  const auto page = page_size();
  const auto readable = (size + kRoom + page - 1) / page * page;
  page_bytes_ = readable + page;
  void* const mapped = mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<char*>(mapped);
  data_ = memory == Memory::guarded ? pages_ + readable - size : pages_;
  if (memory == Memory::guarded) mprotect(pages_ + readable, page, PROT_NONE);
}

Block::Block(Memory memory, std::string_view bytes) : Block(memory, bytes.size()) {
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  seal();
}

Block::~Block() {
  if (page_bytes_ != 0)
    munmap(pages_, page_bytes_);
  else
    ::operator delete(pages_);
}

void Block::seal() {
  if (memory_ == Memory::guarded) mprotect(pages_, page_bytes_ - page_size(), PROT_READ);
}

void Block::swap(Block& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(pages_, other.pages_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

}  // namespace waybill::fake_host
