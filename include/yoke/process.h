// Process-wide settings that make LibTorch run as fast as the machine allows.
#pragma once

namespace yoke {

// Call it first in `main`. Chooses BLAS kernels that fit the CPU where OpenBLAS does not know it, has malloc take huge
// pages where the kernel gives them to who asks (for either the program starts itself once more, with the right
// environment), and keeps malloc from giving large gradients back to the kernel at every step. What the user set in the
// environment stands. Says in one line on standard error what it did.
void prepare_process();

}  // namespace yoke
