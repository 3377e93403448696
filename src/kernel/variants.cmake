# variants/passes.cc is compiled once for each instruction set, and variants.cc picks one when the library runs. The
# glob of yoke_layer(kernel) does not look into the folder, so its objects are added here.
#
# -ffp-contract=off keeps all variants equal bit for bit. Fusing would buy nothing once a block is larger than the
# caches, where memory is what the loops wait for, and little inside them. Vectors of 512 bits are 5 to 30 % faster than
# those of 256 inside the caches when arrays start on a cache line, and about the same outside.
set(yoke_kernel_variants baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND yoke_kernel_variants avx2 avx512)
endif()
set(yoke_kernel_baseline_flags "")
set(yoke_kernel_avx2_flags -march=x86-64-v3)
set(yoke_kernel_avx512_flags -march=x86-64-v4 -mprefer-vector-width=512)

foreach(variant ${yoke_kernel_variants})
  add_library(yoke_kernel_${variant} OBJECT src/kernel/variants/passes.cc)
  target_include_directories(yoke_kernel_${variant} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(yoke_kernel_${variant} PRIVATE yoke_flags)
  target_compile_definitions(yoke_kernel_${variant} PRIVATE YOKE_VARIANT=${variant})
  target_compile_options(yoke_kernel_${variant} PRIVATE -O3 -fopenmp-simd -ffp-contract=off -fno-math-errno
                                                        -fno-trapping-math ${yoke_kernel_${variant}_flags})
  target_sources(yoke PRIVATE $<TARGET_OBJECTS:yoke_kernel_${variant}>)
endforeach()
