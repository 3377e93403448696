// Memory in huge pages. malloc asks the kernel for them only where the environment said so when the program started.
#pragma once

#include <string>

namespace yoke::train {

// What the environment has to say for it, as GLIBC_TUNABLES.
inline constexpr char kHugePagesPlease[] = "glibc.malloc.hugetlb=1";

// Where the kernel gives huge pages to who asks, and the environment says nothing of malloc: says so there, for this
// process's children too. True: this program has to start again for it. `root` stands before /sys.
bool ask_for_huge_pages(const std::string& root = "");

// Starts this program again, with the words it was started with and the environment as it is now. Returns only when
// that cannot be done.
void start_again();

}  // namespace yoke::train
